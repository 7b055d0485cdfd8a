//! Node: undici, node-fetch, axios, got, and net errors of Chromium and Electron.

use crate::classify::rule::{Rule, connection, rule};
use crate::evidence::Surface;
use crate::kind::FailureKind::{
    BadOutput, Cancelled, NetworkPermanent, NetworkTransient, ProcessDied, StreamInterrupted, Timeout, Unknown,
};

pub(super) const RULES: &[Rule] = &[
    connection("undici.connect_timeout", Timeout)
        .code(&[
            "UND_ERR_CONNECT_TIMEOUT",
            "UND_ERR_HEADERS_TIMEOUT",
            "UND_ERR_BODY_TIMEOUT",
            "HeadersTimeoutError",
            "BodyTimeoutError",
            "ERR_SOCKET_CONNECTION_TIMEOUT",
            "ERR_HTTP2_SESSION_TIMEOUT",
        ])
        .example("cause: ConnectTimeoutError: UND_ERR_CONNECT_TIMEOUT"),
    connection("undici.socket", NetworkTransient)
        .code(&[
            "UND_ERR_SOCKET",
            "UND_ERR_CLOSED",
            "UND_ERR_DESTROYED",
            "ERR_SOCKET_CLOSED",
            "ERR_HTTP2_GOAWAY_SESSION",
            "ERR_HTTP2_INVALID_SESSION",
            "ERR_SOCKET_BAD_PORT",
            "ERR_SOCKET_CLOSED_BEFORE_CONNECTION",
            "ERR_SOCKET_CONNECTION_CLOSED",
        ])
        .example("SocketError: UND_ERR_SOCKET"),
    rule("undici.terminated", StreamInterrupted)
        .text(&[r"\bterminated\b~\bund_err_socket\b", r"typeerror: terminated\b", r"error \(terminated\)"])
        .example("TypeError: terminated"),
    rule("node.premature_close", StreamInterrupted)
        .on(Surface::Network, NetworkTransient)
        .code(&[
            "ERR_STREAM_PREMATURE_CLOSE",
            "ERR_HTTP2_STREAM_CANCEL",
            "ERR_HTTP2_STREAM_ERROR",
            "ERR_STREAM_DESTROYED",
            "ERR_INCOMPLETE_CHUNKED_ENCODING",
            "ERR_CONTENT_LENGTH_MISMATCH",
            "HPE_INVALID_CHUNK_SIZE",
            "HPE_INVALID_EOF_STATE",
            "ERR_HTTP_CONTENT_LENGTH_MISMATCH",
            "UND_ERR_RES_CONTENT_LENGTH_MISMATCH",
            "UND_ERR_REQ_CONTENT_LENGTH_MISMATCH",
        ])
        .example("Error [ERR_STREAM_PREMATURE_CLOSE]: the stream ended"),
    connection("node.hang_up", NetworkTransient)
        .text(&["socket hang up"])
        .example("FetchError: request to http://127.0.0.1/ failed, reason: socket hang up"),
    connection("node.fetch_timeout", Timeout)
        .text(&["network timeout at:", "response timeout while trying to fetch", r"timeout of \w{1,12} exceeded"])
        .example("FetchError: network timeout at: http://127.0.0.1:28003/"),
    rule("node.certificate", NetworkPermanent)
        .decisive()
        .code(&[
            "SELF_SIGNED_CERT_IN_CHAIN",
            "DEPTH_ZERO_SELF_SIGNED_CERT",
            "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
            "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
            "UNABLE_TO_GET_ISSUER_CERT",
            "CERT_HAS_EXPIRED",
            "CERT_NOT_YET_VALID",
            "CERT_UNTRUSTED",
            "CERT_REVOKED",
            "ERR_TLS_CERT_ALTNAME_INVALID",
            "HOSTNAME_MISMATCH",
            "ERR_SSL_WRONG_VERSION_NUMBER",
            "ERR_SSL_UNSUPPORTED_PROTOCOL",
            "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION",
            "ERR_TLS_HANDSHAKE_FAILED",
        ])
        .example("SELF_SIGNED_CERT_IN_CHAIN"),
    rule("node.url", NetworkPermanent)
        .decisive()
        .code(&[
            "MaxRedirectsError",
            "ERR_INVALID_URL",
            "ERR_INVALID_PROTOCOL",
            "ERR_UNSUPPORTED_PROTOCOL",
            "ERR_UNSUPPORTED_ESM_URL_SCHEME",
            "ERR_FR_TOO_MANY_REDIRECTS",
            "HPE_INVALID_CONSTANT",
            "HPE_INVALID_VERSION",
            "HPE_INVALID_STATUS",
            "UND_ERR_INVALID_ARG",
            "ERR_TOO_MANY_REDIRECTS",
        ])
        .example("TypeError [ERR_INVALID_URL]: x"),
    rule("node.header_overflow", BadOutput)
        .code(&["HPE_HEADER_OVERFLOW", "UND_ERR_HEADERS_OVERFLOW"])
        .example("HPE_HEADER_OVERFLOW"),
    connection("node.fetch_failed", NetworkTransient)
        .class()
        .text(&[r"\bfetch failed\b", r"typeerror: failed to fetch\b", "typeerror: network request failed"])
        .example("TypeError: fetch failed"),
    rule("node.heap", ProcessDied)
        .decisive()
        .text(&["heap out of memory", "reached heap limit", "allocation failed - "])
        .example("FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory"),
    rule("node.ipc", ProcessDied)
        .decisive()
        .code(&[
            "ERR_IPC_CHANNEL_CLOSED",
            "ERR_CHILD_PROCESS_STDIO_MAXBUFFER",
            "ERR_WORKER_OUT_OF_MEMORY",
            "ERR_CHILD_CLOSED_BEFORE_REPLY",
        ])
        .example("Error [ERR_IPC_CHANNEL_CLOSED]: Channel closed"),
    connection("chromium.transient", NetworkTransient)
        .code(&[
            "ERR_CONNECTION_RESET",
            "ERR_CONNECTION_REFUSED",
            "ERR_CONNECTION_CLOSED",
            "ERR_CONNECTION_ABORTED",
            "ERR_CONNECTION_FAILED",
            "ERR_EMPTY_RESPONSE",
            "ERR_NETWORK_CHANGED",
            "ERR_INTERNET_DISCONNECTED",
            "ERR_ADDRESS_UNREACHABLE",
            "ERR_NETWORK",
            "ERR_NETWORK_IO_SUSPENDED",
            "ERR_SOCKET_NOT_CONNECTED",
            "ERR_PROXY_CONNECTION_FAILED",
            "ERR_TUNNEL_CONNECTION_FAILED",
            "ERR_QUIC_PROTOCOL_ERROR",
            "ERR_HTTP2_PROTOCOL_ERROR",
            "ERR_HTTP2_PING_FAILED",
            "ERR_HTTP2_SERVER_REFUSED_STREAM",
            "ERR_SSL_HANDSHAKE_NOT_COMPLETED",
        ])
        .example("net::ERR_CONNECTION_RESET"),
    rule("chromium.permanent", NetworkPermanent)
        .decisive()
        .code(&[
            "ERR_NAME_NOT_RESOLVED",
            "ERR_CERT_AUTHORITY_INVALID",
            "ERR_CERT_COMMON_NAME_INVALID",
            "ERR_CERT_DATE_INVALID",
            "ERR_CERT_INVALID",
            "ERR_CERT_REVOKED",
            "ERR_SSL_PROTOCOL_ERROR",
            "ERR_SSL_VERSION_OR_CIPHER_MISMATCH",
            "ERR_UNKNOWN_URL_SCHEME",
            "ERR_INVALID_HTTP_RESPONSE",
            "ERR_BAD_SSL_CLIENT_AUTH_CERT",
            "ERR_ICANN_NAME_COLLISION",
            "ERR_DISALLOWED_URL_SCHEME",
            "ERR_UNSAFE_PORT",
            "ERR_INVALID_REDIRECT",
        ])
        .example("net::ERR_NAME_NOT_RESOLVED"),
    connection("chromium.timeout", Timeout)
        .code(&["ERR_TIMED_OUT", "ERR_CONNECTION_TIMED_OUT"])
        .example("net::ERR_TIMED_OUT"),
    connection("axios.timeout", Timeout)
        .decisive()
        .text(&[r"timeout of \d{1,9} ?ms exceeded"])
        .example("AxiosError: timeout of 5000ms exceeded"),
    connection("axios.network", NetworkTransient)
        .class()
        .text(&["axioserror: network error"])
        .example("AxiosError: Network Error"),
    rule("axios.bad_response", Unknown)
        .hint()
        .code(&["ERR_BAD_RESPONSE", "ERR_BAD_REQUEST"])
        .example("ERR_BAD_RESPONSE"),
    connection("apple.transient", NetworkTransient)
        .code(&["NSURLErrorNetworkConnectionLost", "NSURLErrorNotConnectedToInternet", "NSURLErrorCannotConnectToHost"])
        .text(&[r"nsurlerrordomain~-(?:1004|1005|1009|1018|1020)\b"])
        .example(r#"NSURLErrorDomain Code=-1005 "The network connection was lost.""#),
    rule("apple.permanent", NetworkPermanent)
        .decisive()
        .code(&[
            "NSURLErrorCannotFindHost",
            "NSURLErrorSecureConnectionFailed",
            "NSURLErrorServerCertificateUntrusted",
            "NSURLErrorBadURL",
            "NSURLErrorUnsupportedURL",
        ])
        .text(&[r"nsurlerrordomain~-(?:1000|1002|1003|1007|1022|120[0-6])\b"])
        .example("NSURLErrorDomain Code=-1003"),
    connection("apple.timeout", Timeout)
        .code(&["NSURLErrorTimedOut"])
        .text(&[r"nsurlerrordomain~-1001\b"])
        .example("NSURLErrorDomain Code=-1001"),
    rule("apple.cancelled", Cancelled)
        .code(&["NSURLErrorCancelled"])
        .text(&[r"nsurlerrordomain~-999\b"])
        .example("NSURLErrorDomain Code=-999"),
    rule("node.cut", StreamInterrupted)
        .code(&[
            "HPE_CR_EXPECTED",
            "HPE_LF_EXPECTED",
            "HPE_INVALID_CHUNK_SIZE",
            "HPE_CLOSED_CONNECTION",
            "HPE_INVALID_EOF_STATE",
            "connResetException",
        ])
        .example("Error: aborted at connResetException (node:internal/errors:720:14)"),
    rule("chromium.aborted", Cancelled).class().code(&["ERR_ABORTED"]).example("net::ERR_ABORTED"),
    // What Node says when a response broke off: the socket's code tells it from a caller who gave up.
    connection("node.aborted_socket", NetworkTransient)
        .decisive()
        .text(&[r"\baborted\b~\bcode: ?['\x22]econnreset\b"])
        .example("Error: aborted { code: 'ECONNRESET' }"),
];
