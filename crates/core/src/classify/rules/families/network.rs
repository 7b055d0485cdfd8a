//! The other side could not be reached: words that every network stack shares.

use crate::classify::rule::{Rule, connection, rule};
use crate::evidence::Surface;
use crate::kind::FailureKind::{NetworkPermanent, NetworkTransient, ProcessDied};

pub(in crate::classify::rules) const RULES: &[Rule] = &[
    connection("network.refused", NetworkTransient)
        .text(&[
            r"\bconnections? (?:\S{1,60} ){1,6}(?:was|were|is|been) refused\b",
            r"\bno(?:thing|body|-one) (?:is |was )?listening\b",

            r"\bconnection (?:was |has been |is )?refused\b",
            r"\b(?:actively )?refused (?:it|the connection)\b",
            r"\bconnection attempt failed\b",
            r"\bconnect call failed\b",
        ])
        .example("dial: connection refused"),
    connection("network.reset", NetworkTransient)
        .text(&[
            r"\bpending stream has been cancell?ed\b",
            r"\bhttp 599: (?:stream|connection) closed\b",
            r"\bconnection (?:was |has been |is |got |being )?(?:forcibly |unexpectedly |prematurely |suddenly |abruptly )?(?:reset|aborted|dropped|lost|terminated|died|severed|closed|ended)\b",
            r"\breset by peer\b",
            r"\bforcibly closed by\b",
            r"\bsocket (?:hang up|closed|disconnected|connection (?:was )?closed|was closed|ended)\b",
            r"\b(?:remote end|server|peer|other side|upstream|remote host|far end|host) (?:unexpectedly )?(?:closed|disconnected|hung up|dropped|reset)\b",
            r"\bempty reply from server\b",
            r"\bunexpected eof\b",
            r"\bunexpected end of file\b",
            r"\beof occurred in violation\b",
            r"\bserver closed idle connection\b",
            r"\bwithout (?:sending )?(?:a |any )?response\b",
        ])
        .example("read: connection reset by peer"),
    // Words of a cut, but nothing had come yet.
    connection("network.before_response", NetworkTransient)
        .decisive()
        .text(&[
            r"\b(?:closed|reset|dropped|ended|lost|terminated|aborted|disconnected|broken|died|eof|close|hung up|went away) (?:\S{1,20} ){0,3}?before (?:any |a |an |the |sending |receiving |reading |getting ){0,2}(?:first |http |initial )?(?:(?:response|reply|answer|headers?|byte|status line)(?: (?:headers?|line|data))?(?: was| were| is| had been| could be| has been)? (?:received|sent|begun|began|started|arrived|returned|read|available|written)\b|(?:response|reply|answer|first byte|status line)(?:[.!] |[,;)]|: |[.!]?$))",
            r"\b(?:closed|reset|dropped|ended|lost|terminated|aborted|disconnected|broken|died|eof|close) (?:\S{1,20} ){0,2}?before (?:the |a |any )?(?:send operation|request (?:was|could be|had been) (?:fully |completely )?(?:sent|written|processed|delivered))\b",
            r"\b(?:closed|reset|dropped|ended|lost|terminated|aborted|disconnected|sent|received) before (?:the |a )?(?:\S{1,12} )?(?:connection|handshake|upgrade|session)(?:$|[.,;:]| (?:is|was|could be|had been|has been)? ?(?:established|complete[d]?|opened|finished|made|done)\b)",
            r"\b(?:closed|reset|dropped|lost|terminated|disconnected|eof|close|ended) (?:\S{1,20} ){0,2}?while (?:waiting for|awaiting) (?:the |a |any )?(?:first |http |initial )?(?:response|reply|answer|headers?|byte|status line)\b",
        ])
        .not(&["Connection prematurely closed DURING response", "stream closed before response completed", "stream closed before response.completed", "upstream connect error or disconnect/reset before headers. reset reason: overflow"])
        .example("peer went away before any reply was received"),
    // What clients made by the OpenAPI generator say when `fetch` threw.
    connection("network.interceptors", NetworkTransient)
        .decisive()
        .text(&[r"\binterceptors did not return an alternative response\b"])
        .example("FetchError: The request failed and the interceptors did not return an alternative response"),
    // A gateway that lost its upstream before that had answered.
    rule("network.gateway_lost_upstream", NetworkTransient)
        .decisive()
        .status(&[500, 502, 503])
        .text(&[
            r"\b(?:upstream|backend|origin)(?: server| host| service)? (?:unexpectedly |prematurely |abruptly )(?:closed|reset|dropped|aborted|terminated|hung up)\b",
            r"\b(?:while|when) (?:reading response headers?|connecting|sending request|talking) (?:from|to) (?:the )?(?:upstream|backend|origin)\b",
        ])
        .not(&["upstream connect error or disconnect/reset before headers. reset reason: overflow"])
        .example("HTTP 502: upstream prematurely closed the link"),
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
            r"\btemporary failure\b",
            r"\btemporary dns\b",
            r"\b(?:dns|host|name|stub|address|system) resolver\b~\b(?:timed out|timeout|refused|temporar\w{1,4}|try again)\b",
            r"\bhost not found, try again\b",
            r"\bdns (?:query|request|server) (?:timed out|refused|failed)\b",
            r"\bconnection timed out; no servers could be reached\b",
            r"\bgetaddrinfo: try again\b",

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
            r"\bnon-?existing domain\b",
            r"\bnon-?existent domain\b",
            r"\bhost not found\b",
            r"\bname does not resolve\b",
            r"\bno data record\b",
            r"\bname not resolved\b",

            r"\bgetaddrinfo failed\b",
            r"\bname or service not known\b",
            r"\bnodename nor servname provided\b",
            r"\bno such host\b",
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
    rule("network.dns_unresolved", NetworkPermanent)
        .code(&["ServerNotFoundError", "HostNotFoundError", "HostNotFound", "NameNotResolved", "DNSLookupError", "DnsNameResolverException", "NS_ERROR_UNKNOWN_HOST", "NS_ERROR_UNKNOWN_PROXY_HOST"])
        .text(&[
            r"\b& (?:find|locate) (?:the |a |any )?(?:remote |specified |target )?(?:host|hostname|host name|domain|dns name|ip address|(?:server|address) (?:at|for|of|with|named)|server (?:ip|name|dns|address))\b",
            r"\b& (?:be )?(?:resolve|look ?up)d? (?:the )?(?:host|hostname|host name|name|proxy|domain|address|dns|remote name|server|ip)",
            r"\b(?:error|failure|failed) (?:while |when |in |during )?(?:resolving|looking up)\b",
            r"\b(?:name|host|hostname|address) (?:resolution|lookup) (?:failed|failure|error)\b",
            r"\bincorrect host\b",
            r"\b& resolve ['\x22`][\w-]{1,60}\.(?:[\w-]{1,60}\.){0,4}(?:com|org|net|io|ai|dev|co|cn|cloud|app|local|internal|invalid|test|example)\.?['\x22`]",
            r"\b(?:host|hostname|name|domain|address|dns|server|endpoint|url|proxy)\b~\bcould not be resolved\b",
        ])
        .not(&["unable to resolve host address 'mirror.local': Temporary failure in name resolution"])
        .example("Could not resolve host: api.no-such.test"),
    rule("network.certificate", NetworkPermanent)
        .decisive()
        .text(&[
            r"\b(?:ssl|tls) (?:server )?(?:certificate )?verification failed\b",
            r"\btrust anchor\b~\bnot found\b",

            r"\btls_alert\b~\b(?:unknown_ca|bad_certificate|handshake_failure|certificate_\w{4,12}|hostname_check_failed)\b",
            r"\bhostname_check_failed\b",
            r"\bcannot validate certificate\b",
            r"\bcertificate (?:chain )?(?:is |was )?(?:issued by an authority|not signed|not issued)\b",

            r"\bcertificates?\b~\b(?:is valid for|not verified|not yet valid|common name)\b",
            r"\bhostname\b~\bnot verified\b",
            r"\bcleartext\b~\bnot permitted\b",

            r"\bcertificate\b~\b(?:verify failed|verification failed|has expired|expired|not trusted|untrusted|invalid|not valid|problem|unknown|self[- ]signed|mismatch|required|revoked|rejected|error|signed by unknown|validation failed|does not match|detected)\b",
            r"\bself[- ]signed certificate\b",
            r"\b& (?:get|verify|find) (?:the )?(?:local issuer|first|issuer|leaf|valid) (?:certificate|signature|certification)",
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
            r"\bunsupported or unrecognized ssl message\b",

            r"\b(?:do not|don't) (?:possess|share|have) a common (?:algorithm|cipher|protocol)",
            r"\bno (?:common|shared|mutual) (?:algorithm|cipher|protocol|encryption)",
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
            r"\b(?:localhost|127\.0\.0\.1|0\.0\.0\.0|loopback)\b~\b(?:cannot|can't|can not|is not|isn't|won't be|not) (?:be )?(?:reached|reachable|accessed|accessible|allowed|used)\b",
            r"\bbad port number\b|\bport number (?:is )?(?:out of range|invalid|bad|ended with|too (?:large|big|high))\b",
            r"\bexpected (?:url|uri) scheme\b",
            r"\bno (?:scheme|protocol|hostname) (?:was |is )?(?:found|given|specified|provided|present)\b",

            r"\bunsupported (?:protocol|scheme|url scheme|url)\b",
            r"\b(?:url|uri)\b~\b(?:scheme (?:is )?(?:not supported|missing|isn't|must be)|not supported|is malformed|missing (?:scheme|host|protocol)|isn't a valid|bad/illegal)",
            r"\b(?:scheme|protocol) ['\x22]?\S{0,20}['\x22]? ?(?:is )?(?:not supported|not allowed|isn't|missing|unknown)\b",
            r"\b(?:invalid|malformed|bad|illegal|missing|relative) (?:request |target |base |proxy )?(?:url|uri)\b",
            r"\bno scheme supplied\b",
            r"\bunknown url type\b",
            r"\bmissing (?:an )?'?https?://",
            r"\bno connection adapters were found\b",
            r"\b& parse url\b",
            r"\bonly absolute urls\b|\bonly http\(s\) protocols\b",
            r"\brelative url without a base\b",
            r"\bempty host\b",
            r"\bno host (?:specified|supplied|in request url)",
            r"\b(?:missing port|too many colons) in address\b|\blookup tcp/\S{1,30}: unknown port\b",
        ])
        .not(&["invalid image_url: must be base64"])
        .example("Invalid URL: no host given"),
    // What an address must look like, said about the address of the other side.
    rule("network.address_form", NetworkPermanent)
        .text(&[
            r"\b(?:scheme|protocol|host|hostname) (?:is |was |part )?(?:required|missing|needed|absent|not (?:specified|given|set))\b~\b(?:url|uri)\b",
            r"\b(?:url|uri)(?:'s)? (?:protocol|scheme)s?\b~\b(?:must|should|has to|needs to|expected|is not|not one of|only)\b",
            r"\b(?:base|api|request|endpoint|server|target|websocket|proxy|connection|api_base|base_url|baseurl)[ _]?(?:url|uri|address)?s? (?:must|should|has to|needs to) (?:start|begin|be prefixed|include|contain|have|be) (?:with )?(?:\S{1,12} ){0,3}?['\x22`]?(?:https?\b|wss?\b|absolute\b|scheme|protocol|valid (?:absolute |http |https )?ur[li])",
            r"\b(?:only|expected|expecting) (?:absolute |the )?['\x22`]?(?:https?|wss?)\S{0,4} (?:(?:and|or|,|/) ['\x22`]?(?:https?|wss?)\S{0,4} )?(?:urls?|uris?|schemes?|protocols?)\b",
            r"\b(?:url|uri) (?:must|should|has to|needs to) be (?:an )?absolute\b|\b(?:url|uri) is not absolute\b",
        ])
        .not(&["messages.0.content.1.image_url must start with https"])
        .example("The URI scheme should be either http or https"),
    rule("network.redirects", NetworkPermanent)
        .decisive()
        .code(&[
            "RedirectionTooDeep",
            "TooManyRedirects",
            "RedirectLimit",
            "RedirectLimitExceeded",
            "TooManyRedirectsError",
            "TooManyRedirectsException",
            "RedirectError",
            "RedirectLoopError",
            "RedirectMissingLocation",
        ])
        .text(&[
            r"\bredirects too deep\b",
            r"\bnot follow more than \d{1,3} redirects?\b",
            r"\bredirect(?:s|ions?|ed|ing)? (?:\S{1,14} ){0,3}(?:more times|more than|again and again|to itself|forever|in a (?:cycle|circle|loop))\b",
            r"\bredirect(?:s|ions?)?[ _-](?:limit|count|cycle|depth)\b~\b(?:allows|exceeded|reached|hit|over|exhausted|detected)\b",
            r"\bredirect(?:s|ions?|ed)?\b~\b(?:without|missing|no|lacks?) (?:a |the |an )?['\x22`]?location\b",
            r"\btoo many (?:redirections?|follow-?up requests|http redirects)\b",
            r"\bredirect\w{0,5} too many\b",
            r"\binfinite redirect\b",
            r"\b(?:circular|cyclic|endless) redirect\w{0,5}\b",
            r"\bredirect(?:s|ions?)? (?:exceeded|detected|exhausted)\b",
            r"\bredirect(?:s|ions?|ed)?\b~\b(?:loop|maximum|max_redirects|too many)\b",

            r"\bredirected \d{1,3} times\b",
            r"\btoo many redirects\b",
            r"\b(?:maximum|max|exceeded|stopped after)\b~\bredirects?\b",
            r"\bredirect (?:loop|count exceeded|limit)\b",
            r"\bredirected you too many times\b",
        ])
        .example("ERROR: redirect loop detected"),
    connection("network.not_http", NetworkPermanent)
        .decisive()
        .text(&[
            r"\bmalformed[_ ](?:http[_ ](?:response|reply|message)|reply from|status|packet|frame|header)\b|\bmalformed_(?:response|reply|message)\b",
            r"\bunexpected server response: ?[123]\d\d\b",
            r"\bhandshake status [23]\d\d\b",

            r"\b(?:bad|wrong|unexpected|illegal|malformed|invalid|garbled)[ _-]?(?:http[ _-])?status[ _-]?line\b",
            r"\b(?:bad|wrong|unexpected|illegal|malformed|invalid) (?:http |mime )?header line\b",
            r"\bcould_not_parse_as_http\b|\bhttpbadresponse\b|\bhttpheadersyntaxerror\b|\binvalidlineseparatorexception\b|\bunsupportedhttpversionexception\b",
            r"\b(?:respond|reply|answer)(?:ed)? with (?:a )?valid http response\b|\bunsupported version: http/",
            r"\bnot valid: is this a git repository\b",
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
    // What the parser of Node calls it. Behind the head of a response it is a chunk that was cut.
    connection("network.http_parser", NetworkPermanent)
        .decisive()
        .code(&["HPE_INVALID_HEADER_TOKEN", "HPE_UNEXPECTED_CONTENT_LENGTH", "HPE_STRICT"])
        .text(&[
            r"\bdoes not match the http/[\d.]{1,3} protocol\b",
            r"\bparse error: (?:invalid|missing|unexpected|expected|response|duplicate|content-length) (?:\S{1,16} )?(?:header|content-length|transfer-encoding|status|version|lf|cr|http|overflow)\b",
        ])
        .not(&["Parse Error: Invalid character in chunk size"])
        .example("Parse Error: Missing expected CR after header value"),
    connection("network.connect", NetworkTransient)
        .class()
        .text(&[
            r"\bfail(?:ed|ure)? (?:in |while |when )?connecting to\b",

            r"\bconnect failed\b",
            r"\bconnection to \S{1,80} (?:was |has been )?(?:lost|closed|dropped|failed|refused)\b",
            r"\b& (?:connect|reach|establish|communicate|contact|open (?:an? |the )?(?:\S{1,14} )?(?:connection|socket|channel|tunnel|websocket|port|transport|link))\b",
            r"\b(?:error|failure|failed|trouble|problem) (?:while |when )?(?:connecting|establishing|sending request|opening connection|communicating)\b",
            r"\bfetch failed\b",
            r"\bfailed to fetch\b",
            r"\berror sending (?:the |your |a |an )?(?:\S{1,12} )?(?:request|data|query|command|packet|bytes|body)\b|\berror sending$",
            r"\bnetworkerror when attempting\b",
            r"\bnetwork request failed\b",
            r"\bload failed\b$",
            r"\bnot connected\b",
            r"\b& connect\b",
            r"\bconnection failure\b",
            r"\bconnection (?:attempt )?failed\b",
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
            "NoBrokersAvailable",
            "NoNodesAvailable",
            "NoHostsAvailable",
            "ServerSelectionError",
            "ServerUnavailable",

            "MongoNetworkError",
            "ConnectionForced",
            "AMQPConnectionError",
            "OperationalError",
            "CannotConnectNow",
            "NodeNotReady",
            "BrokerNotAvailable",

            "SocketError",
            "TransportError",
            "HttpRequestException",
            "SocketException",
            "WebException",
            "RequestException",
            "ClientConnectionError",
            "ConnectionFailed",
            "TransportException",
            "RequestError",
            "NetworkException",
            "ConnectionException",

            "connection_error",
            "ConnectionError",
            "APIConnectionError",
            "network_error",
            "NetworkError",
            "connect_error",
            "api_connection_error",
        ])
        .example("openai.APIConnectionError: Connection error."),
    connection("network.general", NetworkTransient)
        .class()
        .text(&[
            r"\b(?:socket|tcp connection) (?:was |is |has been |got )?(?:refused|reset|lost|dropped|aborted|interrupted)\b",
            r"\bconnection (?:was |is |has been |got )?interrupted\b",
            r"\binstance (?:could not|cannot|can't) be reached\b",
            r"\bcould not be reached or is not responding\b",
            r"\bconnection to node \S{1,60}(?: \(\S{1,60}\))? could not be established\b",
            r"\berror reading ssh protocol banner\b",
            r"\bno servers available for connection\b",
            r"\brequest has been terminated\b",
            r"\bendpoint \S{1,80} is offline\b",
            r"\bin state connectionstate\.closed\b",
            r"\bconnection to server (?:on socket|at) .{1,80}? failed\b",
            r"\bnothing (?:answered|answers|is answering|responded|responds)\b",
            r"\b(?:is|are) (?:it|ollama|the (?:server|service|daemon|proxy|gateway)) (?:up|running|started|online)\?",

            r"\bclosed before (?:the )?(?:connection|handshake) (?:is|was|could be) (?:established|completed?|opened)\b",
            r"\bconnection (?:\S{1,30} ){0,4}closed\b",
            r"\bheartbeats? (?:\S{1,20} ){0,2}(?:missed|lost|failed|timeout)\b",
            r"\bmissed heartbeats?\b",

            r"\brefus(?:ed|ing) (?:to connect|connections?|our connection|incoming)\b",
            r"\b(?:all|every) (?:\S{1,20} ){0,3}attempts? to connect\b",
            r"\ball connection attempts? failed\b",
            r"\b(?:no(?:thing|body|-one| one| process| server| service)|nothing) (?:is |was |seems to be )?listening\b",
            r"\be(?:connrefused|connreset|connaborted|hostunreach|netunreach|netdown|hostdown|addrnotavail)\b",
            r"\b& connect\b~\b(?:running|listening|accessible)\b",
            r"\bconnections? (?:\S{1,60} ){1,6}(?:was|were|is|been|got) (?:unexpectedly |prematurely |abruptly |forcibly )?(?:closed|dropped|reset|lost|aborted|terminated|severed|cut|broken)\b",
            r"\b(?:closed|dropped|reset|severed|terminated|lost) (?:the |our |its |this |your )(?:tcp |http |underlying |network |server )?(?:connection|socket)\b",
            r"\bconnection (?:was |has been |is |got )?(?:abruptly |remotely |silently )(?:closed|ended|terminated|dropped)\b",
            r"\bfailed to respond\b",
            r"\b(?:lost|losing) connection\b",
            r"\bclosed by (?:the )?(?:remote|peer|server|foreign|other|far|upstream)\b",
            r"\bhung up\b",
            r"\bsocket (?:is|was|has been) (?:not connected|closed|dead|broken|destroyed)\b",
            r"\btransport (?:error|closed|failure|endpoint is not connected|was closed)\b",
            r"\bbefore (?:any |a |the )?(?:response|reply|answer|headers?)(?: headers?)? (?:was |were |could be |had been )?(?:received|sent|arrived|begun|started)\b",
            r"\breason: :(?:closed|econnrefused|econnreset|ehostunreach|enetunreach)\b",
            r"\bchannel (?:is |was |has been )?(?:closed|inactive)\b",
        ])
        .example("The proxy dropped the underlying connection"),
    connection("network.general_hint", NetworkTransient)
        .hint()
        .text(&[
            r"\b(?:network|internet) connectivity\b",
            r"\brelated to network\b",
            r"\bconnection (?:was )?forced\b",
            r"\blost (?:the |its |our )?(?:connection|link|contact)\b",
            r"\b(?:link|network|connection|line) (?:went|is|was) down\b",

            r"\bhost unreachable\b",
            r"\b(?:unreachable|not reachable)\b",
            r"\b(?:is|are|was|be) (?:unreachable|not reachable)\b",
            r"\binternet connection\b~\b(?:offline|lost|down|not available|unavailable|interrupted)\b",
            r"\b(?:offline|not connected to the internet|no longer connected)\b",
            r"\bsocket is not connected\b",
            r"\b(?:connection|connect) & be (?:established|made|opened)\b",
            r"\bno connection (?:to|could|available|is|established)\b",
            r"\b(?:error|problem|trouble|failure|issue) (?:in |with |of )?(?:the |your )?(?:network|connection|connectivity)\b",
            r"\bconnectivity (?:error|issue|problem|lost|failure)\b",
            r"\brequest to \S{1,200} failed\b",
            r"\berror (?:fetching|contacting|reaching)\b",
            r"\bunable to (?:access|reach|contact|connect|open)\b",
            r"\bconnect(?:ion)? (?:to \S{1,80} )?(?:unsuccessful|failed)\b",
            r"\btunnel(?:ing)? (?:socket |connection )?(?:could not|failed)\b",
            r"\bcan(?:'t|not) connect\b",
            r"\bdisconnected\b",
            r"\breconnect(?:ing|ion)?\b~\bfail",
            r"\bnetwork (?:exception|i/o|is unavailable)\b",
            r"\bsocket (?:error|exception)\b",
        ])
        .example("There is an issue with the network"),
    rule("network.permanent_general", NetworkPermanent)
        .class()
        .text(&[
            r"\bdnsmismatch\b",
            r"\bgot \x22?\S{1,3}\x22? as reply type\b",
            r"\bno protocols available\b",
            r"\bapp transport security\b",
            r"\bunsupporteduri\w{0,8}\b",
            r"\bunsupported (?:uri|url)(?: scheme)?\b",
            r"\bsslhandshake failed\b",
            r"\b(?:tls|ssl) (?:sessions?|protocol|connections?) (?:are|is) not supported\b",
            r"\b(?:tls|ssl)\S{0,12} (?:handshake )?failed \(-?\d",

            r"\bno peer certificates?\b",
            r"\b(?:ca md|ee key|ca key|dh key|ee certificate key) too (?:weak|small)\b",
            r"\balpn\b(?: \S{1,14}){0,3} (?:failed|mismatch|unsupported)\b",

            r"\b(?:ssl|tls) error\b~\bsecure connection\b",
            r"\bsecure connection\b~\b(?:cannot|could not|failed|can't)\b",

            r"\bcertificates?\b~\b(?:is valid for|not verified|not yet valid|common name|authority|chain|trust|failure|pinn\w{1,4}|issuer|bad|unable|could not)\b",
            r"\bcertificate_(?:expired|unknown|revoked|required)\b",
            r"\bnot trusted by\b",
            r"\buntrusted root\b",
            r"\bcert(?:ificate)? (?:is |has )?(?:expired|invalid|untrusted|revoked)\b",
            r"\bno required ssl certificate\b",
            r"\bsec_error_\w{3,40}\b",
            r"\bmozilla_pkix_\w{3,40}\b",
            r"\berr_cert_\w{3,40}\b",
            r"\b(?:tlsv1\S{0,3}|sslv3|tls|ssl) alert\b",
            r"\bssl_error_(?:rx_record_too_long|no_cypher_overlap|unsupported_version|bad_cert\w{0,10})\b",
            r"\bunknown protocol\b",
            r"\bno appropriate protocol\b",
            r"\bnon-?(?:tls|ssl) (?:data|record|message|response|bytes)\b",
            r"\b(?:plain|clear) ?text (?:\S{1,12} ){0,4}(?:tls|ssl|https) (?:port|server|listener|socket|endpoint)\b",
            r"\bhttps?\b~\b(?:to|on|from|against) (?:an? )?(?:https|plain|tls|ssl)[- ](?:port|client|server|endpoint)\b",
            r"\boversized record received\b",
            r"\bunexpected server name\b",
            r"\bversion negotiation\b",
            r"\bno protocol:",
            r"\binvalid (?:port|host|hostname|host name|domain|ip address|ipv6 url|authority|scheme|address)\b",
            r"\bport\b~\b(?:out of range|could not be cast|not a number|nonnumeric)\b",
            r"\bnonnumeric port\b",
            r"\b(?:url|uri) (?:can't|cannot|can not|could not|may not|must not)\b",
            r"\bformat of the uri\b",
            r"\bmissing (?:scheme|protocol|host|hostname)\b",
            r"\bunknown (?:url )?(?:scheme|protocol)\b",
            r"\bno host\b~\b(?:url|uri|given|specified)\b",
            r"\b(?:url|uri) (?:is )?(?:empty|missing|not valid|invalid|malformed)\b",
            r"\bunsupportedurl\b|\bbadurl\b",
            r"\b(?:not a valid|isn't a valid|not an absolute) (?:url|uri|hostname|address)\b",
            r"\bunexpected (?:http )?status\b~\b(?:upgrade|websocket|101)\b",
            r"\b(?:expected|expecting|instead of|wanted) (?:http )?(?:status )?(?:code )?101\b",
            r"\binvalid (?:upgrade|sec-websocket\S{0,10}|connection|http)[- ](?:header|response|status|version|line|message|reply|request line)\b",
            r"\bmissing (?:upgrade|sec-websocket\S{0,10}|connection) header\b",
            r"\b(?:does not|doesn't|not|did not|didn't) speak (?:http|tls|the)\b",
            r"\bnot a(?:n)? (?:websocket|http|grpc|redis|postgres\w{0,5}|ssh|tls|mcp) (?:server|endpoint|service|response)\b",
            r"\b(?:invalid|unexpected|bad|unknown|wrong|incompatible) protocol\b",
            r"\bprotocol (?:mismatch|not supported|negotiation failed|wrong type)\b",
            r"\breceived http/[\d.]{1,3} when not allowed\b",
            r"\bunsupported http version\b",
            r"\binvalid status ?line\b",
            r"\bunsolicited response\b",
            r"\bframe with size\b|\bframe size error\b|\bframe too large\b",
            r"\bunexpected preface\b|\bbogus greeting\b|\bpreface\b~\b(?:invalid|unexpected|missing)\b",
            r"\bh2c\b~\b(?:not supported|failed)\b",
            r"\bno overlap between\b~protocol",
        ])
        .code(&[
            "VerificationError",
        ])
        .example("The other side does not speak HTTP"),
    // Words of TLS libraries that show one side refusing what the other presents.
    rule("network.tls_refused", NetworkPermanent)
        .decisive()
        .code(&["UNRECOGNIZED_NAME", "ERR_SSL_UNRECOGNIZED_NAME_ALERT", "ERR_BAD_SSL_CLIENT_AUTH_CERT"])
        .text(&[
            r"\b(?:tlsv1|tls|ssl)\b~\bunrecognized[ _]name\b",
            r"\bno subject alternative (?:dns |ip )?names?\b",
            r"\bnot trust the (?:proxy|server|peer|root)'?s? ?(?:certificate|ca)\b",
            r"\bpeer sent no certificates\b|\bno peer certificate\b",
            r"\bexpecting server hello, got alert\b",
            r"\bblocked by cors policy\b",
            r"\bhost key verification failed\b|\bremote host identification has changed\b",
            r"\bcaptive portal\b",
        ])
        .example("tlsv1 unrecognized name"),
    connection("network.brokers", NetworkTransient)
        .text(&[
            r"\b(?:run|ran) out of available brokers\b|\bno ?brokers ?available\b",
            r"\btunnel (?:was |is |has been )?(?:closed|lost|dropped|disconnected)\b",
            r"\bdial unix \S{1,90}: connect: (?:no such file|connection refused|permission)",
        ])
        .example("kafka: client has run out of available brokers to talk to"),
    connection("network.before_data", NetworkTransient)
        .decisive()
        .text(&[r"\b(?:closed|reset|dropped|ended|lost|terminated|aborted|disconnected) (?:\S{1,20} ){0,2}?before (?:any |the |a )?(?:data|bytes?|anything|content|payload|full header|headers?) (?:was|were|is|had been|could be|has been)? ?(?:received|sent|read|arrived|returned)\b"])
        .example("Connection was closed before any data was received"),
    rule("network.secure_channel", NetworkPermanent)
        .decisive()
        .text(&[r"\b& (?:create|establish|negotiate|set up) (?:an? |the )?(?:ssl/tls|ssl|tls|secure) (?:secure )?(?:channel|context)\b"])
        .example("The request was aborted: Could not create SSL/TLS secure channel."),
    // Something had to be fetched first, and that could not be reached.
    rule("network.step_before", NetworkTransient)
        .text(&[r"\b(?:refresh|exchange|login|sign-in|discovery|handshake) (?:request )?(?:failed|failure|error)\b~\b(?:error sending|connection (?:error|failed)|fetch failed|network error)"])
        .example("HTTP 500: token refresh failed: error sending the request"),
    // One side ends the handshake with an alert: the next one would end the same way.
    rule("network.tls_alert", NetworkPermanent)
        .decisive()
        .code(&[
            "WRONG_SSL_VERSION",
            "UNSUPPORTED_PROTOCOL",
            "NO_PROTOCOLS_AVAILABLE",
            "NO_CIPHERS_AVAILABLE",
            "NO_SHARED_CIPHER",
            "WRONG_SIGNATURE_TYPE",
            "DH_KEY_TOO_SMALL",
            "EE_KEY_TOO_SMALL",
            "CA_MD_TOO_WEAK",
            "UNSAFE_LEGACY_RENEGOTIATION_DISABLED",
            "TLSV1_UNRECOGNIZED_NAME",
            "HTTPS_PROXY_REQUEST",
            "SEC_E_INVALID_TOKEN",
            "SEC_E_ALGORITHM_MISMATCH",
            "SEC_E_UNSUPPORTED_FUNCTION",
            "CRYPT_E_REVOKED",
            "CRYPT_E_NO_REVOCATION_CHECK",
            "CRYPT_E_REVOCATION_OFFLINE",
        ])
        .text(&[
            r"\b(?:tlsv1|tlsv13|sslv3)[ _]alert[ _](?:handshake|protocol|bad[ _]?cert|unknown|unsupported|certificate|unrecognized|unrecognised|insufficient|access|illegal|decode|internal[ _]?error|decrypt[ _]?error|no[ _]?(?:application|certificate|renegotiation)|missing|inappropriate|unexpected)\w{0,40}",
            r"\b(?:fatal alert|remote error: tls|tls alert|ssl alert)[:,]? (?:\S{1,12} )?(?:handshake|protocol|bad[ _]?cert|unknown|unsupported|certificate|unrecognized|unrecognised|insufficient|access|illegal|decode|internal[ _]?error|decrypt[ _]?error|no[ _]?(?:application|certificate|renegotiation)|missing|inappropriate|unexpected)\w{0,40}",
            r"\ba tls fatal alert has been received\b",
            r"\bssl: (?:unexpected_message|record_layer_failure|http_request)\b",
            r"\bssl routines:\S{0,40}:(?:http request|unexpected message|record layer failure|https proxy request|no protocols available)\b",
            r"\bgnutls_handshake\(\) failed: handshake failed\b|\btls: no supported versions\b",
            r"\bunacceptable (?:tls |ssl )?certificate\b",
            r"\bfailed to enable crypto\b",
            r"\bcannot determine the frame size\b|\bcorrupted frame was received\b",
            r"\b(?:initializesecuritycontext|acquirecredentialshandle)\w? failed\b",
            r"\b(?:ee certificate|certificate|ca|dh|rsa|ec) (?:public )?key (?:is )?too (?:weak|small|short)\b|\bdigest algorithm too weak\b|\bmd too weak\b",
            r"\bunsafe legacy renegotiation\b",
            r"\bno supported cipher suites?\b|\bno cipher suites? in common\b|\bcipher suites? (?:\S{1,12} )?not supported\b",
            r"\bpacket with illegal or unsupported version\b",
            r"\b(?:do|does) not conform to algorithm constraints\b|\btrustanchors parameter must be non-empty\b",
            r"\bno (?:trusted certificate|name matching \S{1,80}) found\b|\bpath does not chain with any of the trust anchors\b",
            r"\b(?:crl|ocsp response) (?:has )?expired\b",
            r"\bdoes not match target host name\b",
        ])
        .not(&["error:0A0003FC:SSL routines::sslv3 alert bad record mac"])
        .example("remote error: tls: insufficient security level"),
];
