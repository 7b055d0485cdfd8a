//! curl, by exit number.

use crate::classify::rule::{Rule, connection, rule};
use crate::evidence::Surface;
use crate::kind::FailureKind::{
    AuthError, BadOutput, Cancelled, InvalidRequest, NetworkPermanent, NetworkTransient, ProcessDied, ServerError,
    StreamInterrupted, Timeout,
};

pub(super) const RULES: &[Rule] = &[
    rule("curl.resolve", NetworkPermanent)
        .text(&[r"(?:curl(?: error)?(?: code)?[:;]? ?\(|pycurl\.error: \(|curl error:? (?:code:? )?|rpc failed; curl |curl (?:return|exit) code:? |errcode: )(?:5|6)\b"])
        .code(&[
            "COULDNT_RESOLVE_HOST",
            "COULDNT_RESOLVE_PROXY",

            "CURLE_COULDNT_RESOLVE_HOST",
            "CURLE_COULDNT_RESOLVE_PROXY",
        ])
        .example("curl: (6) Could not resolve host: api.no-such.test"),
    rule("curl.url", NetworkPermanent)
        .decisive()
        .text(&[r"(?:curl(?: error)?(?: code)?[:;]? ?\(|pycurl\.error: \(|curl error:? (?:code:? )?|rpc failed; curl |curl (?:return|exit) code:? |errcode: )(?:1|3|4|8|43|49|96)\b"])
        .code(&[
            "UNSUPPORTED_PROTOCOL",
            "URL_MALFORMAT",

            "CURLE_URL_MALFORMAT",
            "CURLE_UNSUPPORTED_PROTOCOL",
        ])
        .example("curl: (3) URL using bad/illegal format or missing URL"),
    connection("curl.connect", NetworkTransient)
        .text(&[r"(?:curl(?: error)?(?: code)?[:;]? ?\(|pycurl\.error: \(|curl error:? (?:code:? )?|rpc failed; curl |curl (?:return|exit) code:? |errcode: )(?:7|45|52|55|89|95)\b"])
        .code(&[
            "COULDNT_CONNECT",
            "GOT_NOTHING",

            "CURLE_COULDNT_CONNECT",
            "CURLE_GOT_NOTHING",
            "CURLE_SEND_ERROR",
        ])
        .example("curl: (7) Failed to connect to 127.0.0.1 port 28099: Couldn't connect to server"),
    connection("curl.recv", NetworkTransient).class().text(&[r"(?:curl(?: error)?(?: code)?[:;]? ?\(|pycurl\.error: \(|curl error:? (?:code:? )?|rpc failed; curl |curl (?:return|exit) code:? |errcode: )(?:56)\b"]).code(&[
            "CURLE_RECV_ERROR",
        ])
        .example("curl: (56) Recv failure"),
    rule("curl.partial", StreamInterrupted)
        .decisive()
        .text(&[r"(?:curl(?: error)?(?: code)?[:;]? ?\(|pycurl\.error: \(|curl error:? (?:code:? )?|rpc failed; curl |curl (?:return|exit) code:? |errcode: )(?:18)\b"])
        .code(&[
            "PARTIAL_FILE",

            "CURLE_PARTIAL_FILE",
        ])
        .example("curl: (18) transfer closed with 970 bytes remaining to read"),
    rule("curl.http_error", InvalidRequest)
        .hint()
        .text(&[r"(?:curl(?: error)?(?: code)?[:;]? ?\(|pycurl\.error: \(|curl error:? (?:code:? )?|rpc failed; curl |curl (?:return|exit) code:? |errcode: )(?:22)\b"])
        .example("curl: (22) The requested URL returned error"),
    connection("curl.timeout", Timeout)
        .text(&[
            r"\boperation too slow\b",
            r"(?:curl(?: error)?(?: code)?[:;]? ?\(|pycurl\.error: \(|curl error:? (?:code:? )?|rpc failed; curl |curl (?:return|exit) code:? |errcode: )(?:28)\b"])
        .code(&[
            "OPERATION_TIMEDOUT",

            "CURLE_OPERATION_TIMEDOUT",
            "CURLE_OPERATION_TIMEOUTED",
        ])
        .example("curl: (28) Operation timed out after 1019 milliseconds with 0 bytes received"),
    connection("curl.tls", NetworkTransient).class().text(&[r"(?:curl(?: error)?(?: code)?[:;]? ?\(|pycurl\.error: \(|curl error:? (?:code:? )?|rpc failed; curl |curl (?:return|exit) code:? |errcode: )(?:35)\b"]).code(&[
            "CURLE_SSL_CONNECT_ERROR",
        ])
        .example("curl: (35) error"),
    rule("curl.redirects", NetworkPermanent)
        .decisive()
        .text(&[r"(?:curl(?: error)?(?: code)?[:;]? ?\(|pycurl\.error: \(|curl error:? (?:code:? )?|rpc failed; curl |curl (?:return|exit) code:? |errcode: )(?:47)\b"])
        .code(&[
            "CURLE_TOO_MANY_REDIRECTS",
        ])
        .example("curl: (47) Maximum (50) redirects followed"),
    rule("curl.certificate", NetworkPermanent)
        .decisive()
        .text(&[r"(?:curl(?: error)?(?: code)?[:;]? ?\(|pycurl\.error: \(|curl error:? (?:code:? )?|rpc failed; curl |curl (?:return|exit) code:? |errcode: )(?:51|58|60|66|77|80|82|83|90|91)\b"])
        .code(&[
            "PEER_FAILED_VERIFICATION",

            "CURLE_PEER_FAILED_VERIFICATION",
            "CURLE_SSL_CACERT",
            "CURLE_SSL_CERTPROBLEM",
            "CURLE_SSL_CACERT_BADFILE",
        ])
        .example("curl: (60) SSL certificate problem"),
    rule("curl.encoding", BadOutput)
        .decisive()
        .text(&[r"(?:curl(?: error)?(?: code)?[:;]? ?\(|pycurl\.error: \(|curl error:? (?:code:? )?|rpc failed; curl |curl (?:return|exit) code:? |errcode: )(?:61|23|88)\b"])
        .example("curl: (61) Error while processing content unencoding"),
    connection("curl.http2", NetworkTransient)
        .text(&[r"(?:curl(?: error)?(?: code)?[:;]? ?\(|pycurl\.error: \(|curl error:? (?:code:? )?|rpc failed; curl |curl (?:return|exit) code:? |errcode: )(?:16)\b"])
        .example("curl: (16) Error in the HTTP2 framing layer"),
    rule("curl.http2_stream", ServerError)
        .decisive()
        .on(Surface::Stream, StreamInterrupted)
        .text(&[r"(?:curl(?: error)?(?: code)?[:;]? ?\(|pycurl\.error: \(|curl error:? (?:code:? )?|rpc failed; curl |curl (?:return|exit) code:? |errcode: )(?:92)\b"])
        .example("curl: (92) HTTP/2 stream 1 was not closed cleanly: INTERNAL_ERROR (err 2)"),
    rule("curl.login", AuthError).decisive().text(&[r"(?:curl(?: error)?(?: code)?[:;]? ?\(|pycurl\.error: \(|curl error:? (?:code:? )?|rpc failed; curl |curl (?:return|exit) code:? |errcode: )(?:67|9|94)\b"]).example("curl: (67) Login denied"),
    connection("curl.proxy", NetworkTransient)
        .class()
        .text(&[r"(?:curl(?: error)?(?: code)?[:;]? ?\(|pycurl\.error: \(|curl error:? (?:code:? )?|rpc failed; curl |curl (?:return|exit) code:? |errcode: )(?:97)\b"])
        .example("curl: (97) SOCKS5 handshake failed"),
    rule("curl.aborted", Cancelled)
        .decisive()
        .text(&[r"(?:curl(?: error)?(?: code)?[:;]? ?\(|pycurl\.error: \(|curl error:? (?:code:? )?|rpc failed; curl |curl (?:return|exit) code:? |errcode: )(?:42)\b"])
        .example("curl: (42) Operation aborted by callback"),
    rule("curl.memory", ProcessDied).decisive().text(&[r"(?:curl(?: error)?(?: code)?[:;]? ?\(|pycurl\.error: \(|curl error:? (?:code:? )?|rpc failed; curl |curl (?:return|exit) code:? |errcode: )(?:2|27)\b"]).example("curl: (27) Out of memory"),
];
