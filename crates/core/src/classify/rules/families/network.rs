//! The other side could not be reached: words that every network stack shares.

use crate::classify::rule::{Rule, connection, rule};
use crate::evidence::Surface;
use crate::kind::FailureKind::{NetworkPermanent, NetworkTransient, ProcessDied};

pub(in crate::classify::rules) const RULES: &[Rule] = &[
    connection("network.refused", NetworkTransient)
        .text(&[
            r"\bconnection (?:was |has been |is )?refused\b",
            r"\b(?:actively )?refused (?:it|the connection)\b",
            r"\bconnection attempt failed\b",
            r"\bconnect call failed\b",
        ])
        .example("dial: connection refused"),
    connection("network.reset", NetworkTransient)
        .text(&[
            r"\bconnection (?:was |has been |is |got |being )?(?:forcibly )?(?:reset|aborted|dropped|lost|terminated|died|severed)\b",
            r"\breset by peer\b",
            r"\bforcibly closed by\b",
            r"\bsocket (?:hang up|closed|disconnected|connection (?:was )?closed|was closed|ended)\b",
            r"\b(?:remote end|server|peer|other side|upstream|remote host|far end|host) (?:unexpectedly )?(?:closed|disconnected|hung up|dropped|reset)\b",
            r"\bconnection (?:was |has been |is |got )?(?:unexpectedly |prematurely |suddenly )?(?:closed|ended)\b",
            r"\bempty reply from server\b",
            r"\bunexpected eof\b",
            r"\bunexpected end of file\b",
            r"\beof occurred in violation\b",
            r"\bserver closed idle connection\b",
            r"\bwithout (?:sending )?(?:a |any )?response\b",
        ])
        .example("read: connection reset by peer"),
    connection("network.broken_pipe", NetworkTransient)
        .text(&[r"\bbroken pipe\b"])
        .on(Surface::Process, ProcessDied)
        .example("write: broken pipe"),
    rule("network.unreachable", NetworkTransient)
        .text(&[
            r"\b(?:network|host|destination|server|service|endpoint|address) (?:is |was |currently )?(?:unreachable|not reachable)\b",
            r"\bno route to host\b",
            r"\bnetwork (?:is )?(?:down|changed|connection (?:was )?(?:lost|interrupted)|disconnected|failure|problem|issue)\b",
            r"\b(?:no|lost|check your|without) (?:internet|network)(?: connection| access)?\b",
            r"\bappears to be offline\b|\byou are offline\b|\binternet disconnected\b",
            r"\bcan(?:not|'t) assign requested address\b",
        ])
        .example("connect: network is unreachable"),
    rule("network.dns_temporary", NetworkTransient)
        .decisive()
        .text(&[
            r"\bdns server\b~\b(?:error|offline|fail)",
            r"\btemporary failure in name resolution\b",
            r"\bdns\b~\b(?:timed out|timeout|temporar|servfail|server failure|try again|server misbehaving)",
            r"\bservfail\b",
            r"\btemporary failure resolving\b",
            r"\bname resolution\b~\b(?:temporar|try again)",
        ])
        .example("getaddrinfo: Temporary failure in name resolution"),
    rule("network.dns_missing", NetworkPermanent)
        .decisive()
        .text(&[
            r"\bgetaddrinfo failed\b",
            r"\bname or service not known\b",
            r"\bnodename nor servname provided\b",
            r"\bno such host\b",
            r"\b(?:could not|couldn't|cannot|can't|unable to|failed to) (?:be )?(?:resolve|look ?up)d? (?:the )?(?:host|hostname|host name|name|proxy|domain|address|dns|remote name)",
            r"\b(?:host|hostname|host name|domain|domain name|dns name|dns address|remote name|server ip address)\b~\b(?:not found|not resolve|could not be (?:found|resolved)|does not exist|not known|unknown|nxdomain)\b",
            r"\bunknown host\b",
            r"\bnxdomain\b",
            r"\bno address associated with (?:hostname|name)\b",
            r"\bno such host is known\b",
            r"\bdns (?:lookup|resolution|error|name)\b~(?:failed|not found|does not exist|error|no (?:record|address))",
            r"\bfailed to lookup address information\b",
            r"\bno dns record",
        ])
        .not(&["getaddrinfo: Temporary failure in name resolution"])
        .example("No address associated with hostname"),
    rule("network.certificate", NetworkPermanent)
        .decisive()
        .text(&[
            r"\bcertificate\b~\b(?:verify failed|verification failed|has expired|expired|not trusted|untrusted|invalid|not valid|problem|unknown|self[- ]signed|mismatch|required|revoked|rejected|error|signed by unknown|validation failed|does not match|detected)\b",
            r"\bself[- ]signed certificate\b",
            r"\b(?:unable to|cannot|could not) (?:get|verify|find) (?:the )?(?:local issuer|first|issuer|leaf|valid) (?:certificate|signature|certification)",
            r"\b(?:invalid|untrusted|expired|bad|unknown|unrecognized|peer|invalid peer) (?:\S{1,12} )?certificate\b",
            r"\bno alternative certificate subject name\b",
            r"\bcertificate[_ ]verify[_ ]failed\b",
            r"\bunable to find valid certification path\b",
            r"\bpkix path\b",
            r"\bhostname(?:/ip)? (?:does not match|mismatch|doesn't match)",
            r"\bunknown ?(?:issuer|ca)\b",
        ])
        .example("SSL certificate problem: certificate has expired"),
    rule("network.tls_mismatch", NetworkPermanent)
        .decisive()
        .text(&[
            r"\bunexpected tls packet\b",
            r"\bunexpected message\b~\b(?:tls|ssl)\b",
            r"\bwrong[_ ]version[_ ]number\b",
            r"\b(?:http|plain http) request (?:was )?sent to (?:an )?https (?:port|server)\b",
            r"\bserver gave http response to https client\b",
            r"\bfirst record does not look like a tls handshake\b",
            r"\b(?:unsupported|no shared|no common) (?:protocol|cipher|ssl|tls)\b",
            r"\b(?:unsupported|unknown|wrong|bad) (?:ssl|tls) (?:protocol|version)\b",
            r"\balert (?:protocol version|handshake failure|unrecognized name|unknown ca|bad certificate|internal error)\b",
            r"\b(?:corrupt message of type|received corrupt message|invalidcontenttype)\b",
            r"\bunrecognized ssl message\b",
            r"\bpacket length too long\b",
            r"\bnot an ssl/tls record\b",
            r"\bhandshake[_ ]failure\b",
            r"\bdh key too small\b",
        ])
        .example("error:0A00010B:SSL routines::wrong version number"),
    connection("network.tls_cut", NetworkTransient)
        .text(&[
            r"\bbad record mac\b",
            r"\bdecryption failed\b",
            r"\b(?:ssl|tls)\b~\b(?:handshake (?:failed|error|eof|was (?:cut|aborted)|terminated)|connection (?:was )?(?:reset|closed)|eof|syscall|connect error)\b",
            r"\bbefore secure (?:tls|ssl) connection was established\b",
            r"\bssl_error_syscall\b",
            r"\bhandshake (?:eof|aborted|interrupted)\b",
        ])
        .example("TLS: handshake eof"),
    rule("network.address", NetworkPermanent)
        .decisive()
        .text(&[
            r"\bunsupported (?:protocol|scheme|url scheme|url)\b",
            r"\b(?:url|uri)\b~\b(?:scheme (?:is )?(?:not supported|missing|isn't|must be)|not supported|is malformed|missing (?:scheme|host|protocol)|isn't a valid|bad/illegal)",
            r"\b(?:scheme|protocol) ['\x22]?\S{0,20}['\x22]? ?(?:is )?(?:not supported|not allowed|isn't|missing|unknown)\b",
            r"\b(?:invalid|malformed|bad|illegal|missing|relative) (?:request |target |base |proxy )?(?:url|uri)\b",
            r"\bno scheme supplied\b",
            r"\bunknown url type\b",
            r"\bmissing (?:an )?'?https?://",
            r"\bno connection adapters were found\b",
            r"\bfailed to parse url\b",
            r"\bonly absolute urls\b|\bonly http\(s\) protocols\b",
            r"\brelative url without a base\b",
            r"\bempty host\b",
            r"\bno host (?:specified|supplied|in request url)",
        ])
        .not(&["invalid image_url: must be base64"])
        .example("Invalid URL: no host given"),
    rule("network.redirects", NetworkPermanent)
        .decisive()
        .text(&[
            r"\bredirected \d{1,3} times\b",
            r"\btoo many redirects\b",
            r"\b(?:maximum|max|exceeded|stopped after)\b~\bredirects?\b",
            r"\bredirect (?:loop|count exceeded|limit)\b",
            r"\bredirected you too many times\b",
        ])
        .example("ERROR: redirect loop detected"),
    rule("network.not_http", NetworkPermanent)
        .decisive()
        .text(&[
            r"\bbad ?status ?line\b",
            r"\bhttp/0\.9\b",
            r"\bdid not receive a valid http response\b",
            r"\bmalformed http (?:response|status|version)\b",
            r"\b(?:invalid|illegal|bad) (?:http|status) (?:status )?(?:line|version|response|header) ?(?:parsed|received|read)?\b~(?:received|line|parse|not|$)",
            r"\bexpected http/",
            r"\bfailed parsing http/2\b",
            r"\bexpected settings frame\b",
            r"\bnot a valid http\b",
            r"\bparse error: expected http\b",
            r"\binvalid http version\b",
            r"\bunexpected response from (?:the )?(?:websocket )?server\b~not http",
        ])
        .example("Expected HTTP/, got SSH"),
    connection("network.connect", NetworkTransient)
        .class()
        .text(&[
            r"\bconnect failed\b",
            r"\bconnection to \S{1,80} (?:was |has been )?(?:lost|closed|dropped|failed|refused)\b",
            r"\b(?:failed|unable|could not|couldn't|cannot|can't) (?:to )?(?:connect|reach|establish|open|communicate|contact)\b",
            r"\b(?:error|failure|failed|trouble|problem) (?:while |when )?(?:connecting|establishing|sending request|opening connection|communicating)\b",
            r"\bfetch failed\b",
            r"\bfailed to fetch\b",
            r"\berror sending\b",
            r"\bnetworkerror when attempting\b",
            r"\bnetwork request failed\b",
            r"\bload failed\b$",
            r"\bnot connected\b",
            r"\bunable to connect\b",
            r"\bconnection failure\b",
            r"\bconnection (?:attempt )?failed\b",
            r"\btoken refresh failed\b",
        ])
        .not(&["Failed to connect: self-signed certificate in chain"])
        .example("Failed to establish a new connection"),
    connection("network.wrapper", NetworkTransient)
        .hint()
        .text(&[
            r"\bconnection error\b",
            r"\bconnect error\b",
            r"\bmax retries exceeded with url\b",
            r"\bconnection aborted\b",
            r"\bnetwork error\b",
        ])
        .code(&[
            "connection_error",
            "ConnectionError",
            "APIConnectionError",
            "network_error",
            "NetworkError",
            "connect_error",
            "api_connection_error",
        ])
        .example("openai.APIConnectionError: Connection error."),
];
