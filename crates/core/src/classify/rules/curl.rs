//! curl, by exit number.

use crate::classify::rule::{Rule, connection, rule};
use crate::evidence::Surface;
use crate::kind::FailureKind::{
    AuthError, BadOutput, Cancelled, InvalidRequest, NetworkPermanent, NetworkTransient, ProcessDied, ServerError,
    StreamInterrupted, Timeout,
};

pub(super) const RULES: &[Rule] = &[
    rule("curl.resolve", NetworkPermanent)
        .decisive()
        .text(&[r"curl: ?\((?:5|6)\)"])
        .example("curl: (6) Could not resolve host: api.no-such.test"),
    rule("curl.url", NetworkPermanent)
        .decisive()
        .text(&[r"curl: ?\((?:1|3)\)"])
        .example("curl: (3) URL using bad/illegal format or missing URL"),
    connection("curl.connect", NetworkTransient)
        .text(&[r"curl: ?\((?:7|52|55)\)"])
        .example("curl: (7) Failed to connect to 127.0.0.1 port 28099: Couldn't connect to server"),
    connection("curl.recv", NetworkTransient).class().text(&[r"curl: ?\(56\)"]).example("curl: (56) Recv failure"),
    rule("curl.partial", StreamInterrupted)
        .decisive()
        .text(&[r"curl: ?\(18\)"])
        .example("curl: (18) transfer closed with 970 bytes remaining to read"),
    rule("curl.http_error", InvalidRequest)
        .hint()
        .text(&[r"curl: ?\(22\)"])
        .example("curl: (22) The requested URL returned error"),
    connection("curl.timeout", Timeout)
        .decisive()
        .text(&[r"curl: ?\(28\)"])
        .example("curl: (28) Operation timed out after 1019 milliseconds with 0 bytes received"),
    connection("curl.tls", NetworkTransient).class().text(&[r"curl: ?\(35\)"]).example("curl: (35) error"),
    rule("curl.redirects", NetworkPermanent)
        .decisive()
        .text(&[r"curl: ?\(47\)"])
        .example("curl: (47) Maximum (50) redirects followed"),
    rule("curl.certificate", NetworkPermanent)
        .decisive()
        .text(&[r"curl: ?\((?:51|58|60|66|77|80|82|83|90|91)\)"])
        .example("curl: (60) SSL certificate problem"),
    rule("curl.encoding", BadOutput)
        .decisive()
        .text(&[r"curl: ?\((?:61|23)\)"])
        .example("curl: (61) Error while processing content unencoding"),
    connection("curl.http2", NetworkTransient)
        .text(&[r"curl: ?\(16\)"])
        .example("curl: (16) Error in the HTTP2 framing layer"),
    rule("curl.http2_stream", ServerError)
        .decisive()
        .on(Surface::Stream, StreamInterrupted)
        .text(&[r"curl: ?\(92\)"])
        .example("curl: (92) HTTP/2 stream 1 was not closed cleanly: INTERNAL_ERROR (err 2)"),
    rule("curl.login", AuthError).decisive().text(&[r"curl: ?\((?:67|9|94)\)"]).example("curl: (67) Login denied"),
    connection("curl.proxy", NetworkTransient)
        .class()
        .text(&[r"curl: ?\(97\)"])
        .example("curl: (97) SOCKS5 handshake failed"),
    rule("curl.aborted", Cancelled)
        .decisive()
        .text(&[r"curl: ?\(42\)"])
        .example("curl: (42) Operation aborted by callback"),
    rule("curl.memory", ProcessDied).decisive().text(&[r"curl: ?\(27\)"]).example("curl: (27) Out of memory"),
];
