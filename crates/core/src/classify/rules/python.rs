//! Python: requests, urllib3, httpx, aiohttp, asyncio and the standard library.

use crate::classify::rule::{Rule, connection, rule};
use crate::kind::FailureKind::{
    BadOutput, Cancelled, NetworkPermanent, NetworkTransient, ProcessDied, StreamInterrupted, Timeout, Unknown,
};

pub(super) const RULES: &[Rule] = &[
    connection("python.httpx_timeout", Timeout)
        .code(&[
            "PoolTimeout",
            "ConnectTimeout",
            "ReadTimeout",
            "WriteTimeout",
            "ServerTimeoutError",
            "SocketTimeoutError",
            "ConnectionTimeoutError",
            "ConnectTimeoutError",
            "ReadTimeoutError",
            "TimeoutExpired",
        ])
        .example("httpx.PoolTimeout: "),
    rule("python.name_resolution", NetworkPermanent)
        .code(&["NameResolutionError", "ClientConnectorDNSError"])
        .not(&["NameResolutionError: Failed to resolve 'x' ([Errno -3] Temporary failure in name resolution)"])
        .example("urllib3.exceptions.NameResolutionError"),
    connection("python.connect", NetworkTransient)
        .class()
        .code(&[
            "ConnectError",
            "NewConnectionError",
            "ClientConnectorError",
            "ClientOSError",
            "MaxRetryError",
            "ProxyError",
            "ProxyConnectionError",
        ])
        .text(&["all connection attempts failed"])
        .example("httpx.ConnectError: All connection attempts failed"),
    connection("python.read", NetworkTransient)
        .code(&[
            "ReadError",
            "WriteError",
            "RemoteDisconnected",
            "ServerDisconnectedError",
            "ClientConnectionResetError",
        ])
        .text(&["server disconnected without sending a response", "server disconnected"])
        .example("httpx.ReadError: "),
    rule("python.incomplete", StreamInterrupted)
        .code(&[
            "IncompleteRead",
            "ChunkedEncodingError",
            "ClientPayloadError",
            "TransferEncodingError",
            "ContentLengthError",
            "IncompleteReadError",
            "StreamConsumed",
        ])
        .text(&["response payload is not completed"])
        .not(&["ClientPayloadError: 400, message: Can not decode content-encoding: gzip"])
        .example("IncompleteRead(30 bytes read, 970 more expected)"),
    rule("python.content_decoding", BadOutput)
        .decisive()
        .text(&["can ?not decode content-encoding", "error -3 while decompressing", "contentdecodingerror"])
        .example("ContentDecodingError: failed to decode it"),
    rule("python.certificate", NetworkPermanent)
        .decisive()
        .code(&[
            "SSLCertVerificationError",
            "ClientConnectorCertificateError",
            "CertificateError",
            "CERTIFICATE_VERIFY_FAILED",
        ])
        .example("ssl.SSLCertVerificationError: x"),
    rule("python.tls_wrong", NetworkPermanent)
        .decisive()
        .code(&[
            "WRONG_VERSION_NUMBER",
            "UNSUPPORTED_PROTOCOL",
            "SSLV3_ALERT_HANDSHAKE_FAILURE",
            "TLSV1_ALERT_PROTOCOL_VERSION",
            "HTTP_REQUEST",
            "TLSV1_UNRECOGNIZED_NAME",
            "NO_PROTOCOLS_AVAILABLE",
            "RECORD_LAYER_FAILURE",
        ])
        .example("[SSL: WRONG_VERSION_NUMBER] (_ssl.c:1006)"),
    connection("python.tls_eof", NetworkTransient)
        .code(&["SSLEOFError", "UNEXPECTED_EOF_WHILE_READING", "SSLZeroReturnError", "SSLSyscallError"])
        .example("SSLEOFError(8, x)"),
    rule("python.url", NetworkPermanent)
        .decisive()
        .code(&[
            "UnsupportedProtocol",
            "InvalidSchema",
            "MissingSchema",
            "InvalidURL",
            "InvalidUrlClientError",
            "NonHttpUrlClientError",
            "LocationParseError",
            "InvalidProxyURL",
            "TooManyRedirects",
            "InvalidURI",
        ])
        .example("requests.exceptions.MissingSchema: api.x.test"),
    rule("python.redirects", NetworkPermanent)
        .decisive()
        .text(&[r"exceeded \d{1,3} redirects"])
        .example("Exceeded 30 redirects."),
    rule("python.not_http", NetworkPermanent)
        .decisive()
        .code(&["BadStatusLine", "BadHttpMessage", "LineTooLong", "UnknownProtocol"])
        .example("http.client.BadStatusLine: SSH"),
    connection("python.remote_protocol", NetworkTransient)
        .hint()
        .code(&["RemoteProtocolError", "LocalProtocolError", "ProtocolError"])
        .example("httpx.RemoteProtocolError: "),
    rule("python.json", BadOutput)
        .text(&[r"line \d{1,6} column \d{1,6} \(char \d{1,9}\)", r"\bjsondecodeerror\b"])
        .example("json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"),
    rule("python.mimetype", BadOutput)
        .decisive()
        .text(&["attempt to decode json with unexpected mimetype"])
        .example("ContentTypeError: 200, message='Attempt to decode JSON with unexpected mimetype: text/html'"),
    rule("python.attribute", BadOutput)
        .text(&[
            "object has no attribute '(?:choices|content|candidates|message|delta|output|usage|text)'",
            r"\b(?:choices|candidates|tool_calls|completion|response)\b.{0,200}\bnonetype' object (?:is not (?:subscriptable|iterable)|has no attribute)",
            "keyerror: '(?:choices|content|candidates|message)'",
        ])
        .example("AttributeError: 'str' object has no attribute 'choices'"),
    rule("python.memory", ProcessDied).text(&[r"\bmemoryerror\b"]).example("MemoryError"),
    rule("python.pool", ProcessDied)
        .decisive()
        .code(&["BrokenProcessPool", "WorkerLostError", "ProcessExitedException", "BrokenExecutor"])
        .text(&["terminated abruptly"])
        .example("concurrent.futures.process.BrokenProcessPool: A process was terminated abruptly"),
    rule("python.called_process", ProcessDied)
        .hint()
        .code(&["CalledProcessError"])
        .text(&["returned non-zero exit status", "died with <?signals"])
        .example("subprocess.CalledProcessError"),
    rule("python.interrupt", Cancelled).decisive().text(&[r"\bkeyboardinterrupt\b"]).example("KeyboardInterrupt"),
    rule("python.asyncio_cancelled", Cancelled)
        .text(&[r"asyncio\S{0,12}\.cancellederror"])
        .example("asyncio.exceptions.CancelledError"),
    rule("python.opening_handshake", Timeout)
        .decisive()
        .text(&["timed out during opening handshake"])
        .example("TimeoutError: timed out during opening handshake"),
    rule("python.no_module", ProcessDied)
        .class()
        .code(&["ModuleNotFoundError", "ImportError"])
        .example("ModuleNotFoundError: No module named 'openai'"),
    rule("python.sqlite_locked", Unknown)
        .decisive()
        .text(&["database is locked"])
        .example("sqlite3.OperationalError: database is locked"),
    // pip and urllib3 call every failed attempt a broken connection.
    rule("python.broken_attempt", NetworkTransient)
        .decisive()
        .text(&[r"\bconnection broken by '(?:newconnection|connecttimeout|protocol)error"])
        .example("Retrying after connection broken by 'NewConnectionError: Network is unreachable'"),
];
