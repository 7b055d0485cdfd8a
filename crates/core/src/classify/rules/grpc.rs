//! gRPC status names outside JSON, and what its clients print.

use crate::classify::rule::{Rule, connection, rule};
use crate::kind::FailureKind::{Cancelled, InvalidRequest, NetworkPermanent, NetworkTransient, ServerError, Timeout};

pub(super) const RULES: &[Rule] = &[
    rule("grpc.unavailable", ServerError)
        .hint()
        .text(&[r"statuscode\.unavailable", r"code = unavailable\b", "14 unavailable:"])
        .example("StatusCode.UNAVAILABLE"),
    connection("grpc.connect", NetworkTransient)
        .class()
        .text(&[
            r"unavailable: (?:io exception|network closed)",
            r"\bnetwork closed for unknown reason\b",
            r"\bkeepalive (?:failed|ping|watchdog)\b",
            r"\b(?:channel|subchannel) (?:is |was |has )?(?:shut ?down|in transient_failure|transient_failure)\b",
            "failed to connect to all addresses",
            "no connection established",
            "connection dropped",
            "socket closed$",
            "transport is closing",
            "transport: error while dialing",
        ])
        .example("failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:28099"),
    rule("grpc.resolve", NetworkPermanent)
        .decisive()
        .text(&[
            r"name resolver error",
            r"produced zero addresses",
            r"unable to resolve host \S{1,60}$",
            "domain name not found",
            "name resolution failure",
            "dns resolution failed",
        ])
        .example("errors resolving vertex.no-such.test:443: [field:hostname lookup error: Domain name not found]"),
    rule("grpc.http1", NetworkPermanent)
        .decisive()
        .text(&[r"trying to connect an http1\.x server"])
        .example("Failed parsing HTTP/2 (Trying to connect an http1.x server)"),
    connection("grpc.deadline", Timeout)
        .text(&[r"statuscode\.deadline_exceeded", "code = deadlineexceeded", "4 deadline_exceeded"])
        .example("status = StatusCode.DEADLINE_EXCEEDED"),
    rule("grpc.message_size", InvalidRequest)
        .decisive()
        .text(&["received message larger than max", "sent message larger than max"])
        .example("Received message larger than max (5000000 vs. 4194304)"),
    rule("grpc.cancelled", Cancelled)
        .text(&[r"code = cancell?ed\b", r"statuscode\.cancelled", "1 cancelled:"])
        .example("1 CANCELLED: x"),
    rule("grpc.invalid", InvalidRequest)
        .hint()
        .code(&["UNIMPLEMENTED"])
        .text(&[
            "code = (?:invalidargument|failedprecondition|unimplemented|outofrange)",
            r"statuscode\.(?:invalid_argument|failed_precondition|unimplemented|out_of_range)",
            "12 unimplemented:",
        ])
        .example("rpc error: code = InvalidArgument desc = x"),
    rule("grpc.internal", ServerError)
        .hint()
        .text(&[
            r"code = (?:internal|unknown|dataloss)\b",
            r"statuscode\.(?:internal|unknown|data_loss)",
            "13 internal:",
        ])
        .example("rpc error: code = Internal desc = x"),
    connection("grpc.goaway", NetworkTransient)
        .text(&["goaway received", "too_many_pings", "enhance_your_calm"])
        .example("GOAWAY received; too_many_pings"),
];
