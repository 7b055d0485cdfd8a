//! Rust: reqwest, hyper, rustls, tokio, serde and the standard library.

use crate::classify::rule::{Rule, connection, rule};
use crate::evidence::Surface;
use crate::kind::FailureKind::{
    BadOutput, Cancelled, NetworkPermanent, NetworkTransient, ProcessDied, StreamInterrupted, Timeout,
};

pub(super) const RULES: &[Rule] = &[
    connection("rust.refused", NetworkTransient)
        .code(&[
            "ConnectionRefused",
            "ConnectionReset",
            "ConnectionAborted",
            "NotConnected",
            "HostUnreachable",
            "NetworkUnreachable",
            "NetworkDown",
            "AddrNotAvailable",
        ])
        .example(r#"Os { code: 111, kind: ConnectionRefused, message: "x" }"#),
    connection("rust.broken_pipe", NetworkTransient)
        .on(Surface::Process, ProcessDied)
        .code(&["BrokenPipe"])
        .example("kind: BrokenPipe"),
    connection("rust.timed_out", Timeout)
        .code(&["TimedOut"])
        .text(&["deadline has elapsed", "operation timed out"])
        .example("reqwest::Error { kind: Request, source: TimedOut }"),
    connection("hyper.incomplete", NetworkTransient)
        .code(&["IncompleteMessage"])
        .text(&[
            "connection closed before message completed",
            r"hyper::error\((?:canceled|channelclosed|io|shutdown)",
            "channel closed$",
        ])
        .example("hyper::Error(IncompleteMessage)"),
    rule("hyper.body", StreamInterrupted)
        .class()
        .text(&[
            r"hyper::error\(body",
            "error reading a body from connection",
            "request or response body error",
            "error decoding response body",
        ])
        .example("hyper::Error(Body, Custom { kind: UnexpectedEof })"),
    rule("hyper.parse", NetworkPermanent)
        .decisive()
        .text(&[
            r"hyper::error\(parse",
            "invalid http (?:version|status-code|header) parsed",
            "invalid http status-code",
        ])
        .example("hyper::Error(Parse(Version))"),
    connection("reqwest.send", NetworkTransient)
        .class()
        .text(&[
            "error sending request",
            "error trying to connect",
            "tcp connect error",
            r"client error \(connect\)",
            r"client error \(sendrequest\)",
        ])
        .example("error sending request for url (http://127.0.0.1:1/)"),
    rule("reqwest.dns", NetworkPermanent)
        .decisive()
        .text(&["dns error: failed to lookup~(?:not known|no such host|nodename)"])
        .example("dns error: failed to lookup address information: Name or service not known"),
    rule("reqwest.builder", NetworkPermanent)
        .decisive()
        .text(&[
            "builder error: ",
            "builder error for url",
            "relativeurlwithoutbase",
            "url error: ",
            "error following redirect",
        ])
        .example("builder error: relative URL without a base"),
    rule("rustls.certificate", NetworkPermanent)
        .decisive()
        .code(&[
            "InvalidCertificate",
            "UnknownIssuer",
            "NotValidForName",
            "NotValidForNameContext",
            "CaUsedAsEndEntity",
            "BadSignature",
            "CertNotValidYet",
        ])
        .text(&["invalid peer certificate"])
        .example("invalid peer certificate: UnknownIssuer"),
    rule("rustls.corrupt", NetworkPermanent)
        .decisive()
        .text(&["received corrupt message", r"receivedfatalalert\(\w{1,40}\)", "received fatal alert"])
        .example("received corrupt message of type InvalidContentType"),
    connection("rustls.eof", NetworkTransient)
        .text(&["tls handshake eof", "without sending tls close_notify"])
        .example("tls handshake eof"),
    // What the panic says may name another cause.
    rule("tokio.panicked", ProcessDied)
        .text(&[r"task \S{1,12} panicked", r"thread \S{1,60} panicked at", r"panicked at \S{1,80}:\d"])
        .example(r#"task 212 panicked with message "index out of bounds""#),
    rule("tokio.cancelled", Cancelled)
        .text(&[r"task \d{1,9} was cancelled"])
        .example("task 213 was cancelled"),
    rule("serde.json", BadOutput)
        .text(&[
            r"(?:expected|missing|invalid|trailing|unknown|eof|duplicate|control|lone|key must)[^.]{0,80} at line \d{1,6} column \d{1,6}",
        ])
        .example("expected value at line 1 column 1"),
    rule("eventsource.content_type", BadOutput)
        .decisive()
        .text(&[r"invalid header value: \x22text/", "invalid content type: "])
        .example(r#"Invalid header value: "text/html""#),
    rule("eventsource.ended", StreamInterrupted)
        .class()
        .text(&[r"^(?:error: )?stream ended\.?$"])
        .example("Stream ended"),
];
