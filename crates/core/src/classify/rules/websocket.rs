//! WebSocket close codes and handshakes.

use crate::classify::rule::{Rule, connection, rule};
use crate::kind::FailureKind::{
    AuthError, InvalidRequest, NetworkPermanent, NetworkTransient, Overloaded, RateLimit, ServerError,
    StreamInterrupted, Unknown,
};

pub(super) const RULES: &[Rule] = &[
    rule("websocket.abnormal", StreamInterrupted)
        .text(&[
            r"\b(?:received|sent|code|closed|close)[ :=(]{1,3}10(?:00|01|05|06|12|14|15)\b[^0-9]{0,2}\(?(?:ok|going away|abnormal|service restart|bad gateway|no status|unexpected|keepalive|tls)",
            r"\bservice restart\b",

            "websocketconnectionclosedexception",
            "connection to remote host was lost",
            r"websocket\b~\b(?:1006|1001|1012|1005)\b",
            "no close frame received",
            "closed without (?:a )?close frame",
            "without (?:the )?closing handshake",
            "websocket (?:connection )?(?:was |is |has been )?(?:closed|disconnected|lost)",
        ])
        .example("WebSocket closed 1006 Connection ended"),
    rule("websocket.normal", Unknown)
        .decisive()
        .text(&[r"\bwasclean[=:] ?true\b", r"\bconnection (?:was )?closed successfully\b"])
        .example("code=1000 reason= wasClean=true"),
    rule("websocket.busy", Overloaded)
        .text(&[r"\b1013\b~try again later"])
        .example("websocket closed: 1013 (try again later)"),
    rule("websocket.policy", AuthError)
        .decisive()
        .text(&[r"\b1008\b~policy violation"])
        .example("websocket closed with 1008 (policy violation)"),
    rule("websocket.too_big", InvalidRequest)
        .decisive()
        .text(&[r"\b1009\b~(?:message )?too big"])
        .example("websocket closed: 1009 (message too big)"),
    rule("websocket.internal", ServerError)
        .class()
        .text(&[r"\b1011\b~internal error"])
        .example("received 1011 (internal error)"),
    connection("websocket.handshake", NetworkTransient)
        .class()
        .text(&["handshake not finished", r"websocket\b~handshake~(?:failed|error)", "websocket connection~failed"])
        .example("WebSocket connection to ws://x failed"),
    // The handshake was answered with a status.
    rule("websocket.refused_server", ServerError)
        .text(&[
            r"\bexpected 101\b[^0-9]{1,30}(?:500|502|503)\b",
            r"\b(?:bad handshake|handshake status|unexpected server response)\b[^0-9]{1,12}(?:500|502|503)\b",
        ])
        .example("Expected 101 status code: 503"),
    rule("websocket.refused_auth", AuthError)
        .decisive()
        .text(&[
            r"\bexpected 101\b[^0-9]{1,30}(?:401|403)\b",
            r"\b(?:bad handshake|handshake status|unexpected server response)\b[^0-9]{1,12}(?:401|403)\b",
        ])
        .example("Unexpected server response: 403"),
    rule("websocket.refused_rate", RateLimit)
        .decisive()
        .text(&[
            r"\bexpected 101\b[^0-9]{1,30}429\b",
            r"\b(?:bad handshake|handshake status|unexpected server response)\b[^0-9]{1,12}429\b",
        ])
        .example("Unexpected server response: 429"),
    rule("websocket.refused_path", InvalidRequest)
        .decisive()
        .text(&[
            r"\bexpected 101\b[^0-9]{1,30}(?:400|404|426)\b",
            r"\b(?:bad handshake|handshake status|unexpected server response)\b[^0-9]{1,12}(?:400|404|426)\b",
        ])
        .example("Unexpected server response: 404"),
    rule("websocket.not_http", NetworkPermanent)
        .decisive()
        .text(&[
            r"\binvalid sec-websocket-accept\b",
            "did not receive a valid http",
            "unsupported url scheme",
            "scheme isn't ws or wss",
            "url scheme not supported",
        ])
        .example("did not receive a valid HTTP response"),
];
