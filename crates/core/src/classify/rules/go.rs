//! Go: net/http and its friends.

use crate::classify::rule::{Rule, connection, rule};
use crate::kind::FailureKind::{
    BadOutput, Cancelled, NetworkPermanent, NetworkTransient, ProcessDied, StreamInterrupted, Timeout,
};

pub(super) const RULES: &[Rule] = &[
    rule("go.no_such_host", NetworkPermanent)
        .decisive()
        .text(&[r"no such host\b"])
        .example("dial tcp: lookup api.x.test on 10.0.0.2:53: no such host"),
    rule("go.dns_misbehaving", NetworkTransient)
        .decisive()
        .text(&["server misbehaving", r"lookup \S{1,80}~i/o timeout"])
        .example("dial tcp: lookup api.x.test on 10.0.0.2:53: server misbehaving"),
    connection("go.dial", NetworkTransient)
        .text(&[r"dial tcp \S{1,60}: connect: connection refused"])
        .example("dial tcp 127.0.0.1:443: connect: connection refused"),
    connection("go.io_timeout", Timeout)
        .text(&[
            "i/o timeout",
            r"client\.timeout (?:or context cancellation )?(?:exceeded )?while",
            "tls handshake timeout",
            "timeout awaiting response headers",
        ])
        .example("read tcp 10.0.0.1:5->10.0.0.2:443: i/o timeout"),
    connection("go.deadline", Timeout)
        .text(&["context deadline exceeded"])
        .example(r#"Post "https://x": context deadline exceeded"#),
    rule("go.canceled", Cancelled).text(&["context canceled"]).example(r#"Post "https://x": context canceled"#),
    rule("go.x509", NetworkPermanent)
        .decisive()
        .text(&["x509: "])
        .example("x509: certificate signed by unknown authority"),
    rule("go.http_to_https", NetworkPermanent)
        .decisive()
        .text(&["server gave http response to https client"])
        .example("http: server gave HTTP response to HTTPS client"),
    rule("go.scheme", NetworkPermanent)
        .decisive()
        .text(&[
            r"missing '\]' in host",
            r"first path segment in url cannot contain colon",
            r"invalid control character in url",
            r"no host in request url",
            r"invalid character .{1,6} in host name",
            "unsupported protocol scheme",
            r"stopped after \d{1,3} redirects",
            "no host in request url",
            "first path segment in url cannot contain colon",
        ])
        .example(r#"unsupported protocol scheme "htps""#),
    rule("go.malformed", NetworkPermanent)
        .decisive()
        .text(&["malformed http (?:response|status)"])
        .example(r#"malformed HTTP response "SSH-2.0-OpenSSH""#),
    rule("go.unexpected_eof", StreamInterrupted)
        .text(&[
            r"unexpected eof reading\b",
            r"(?:body|stream|chunk|read\w{0,4})[^.]{0,30}: unexpected eof",
            "^unexpected eof$",
            "unexpected eof while (?:decoding|parsing|streaming|reading (?:the )?(?:body|response|stream|chunk))",
        ])
        .example("reading body: unexpected EOF"),
    connection("go.eof", NetworkTransient)
        .class()
        .text(&[r"(?:post|get) \x22?\S{1,120}\x22?: eof\b", "eof$"])
        .example(r#"Post "https://api.x.test/v1": EOF"#),
    rule("go.http2_stream", StreamInterrupted)
        .text(&[r"stream error: stream id \d", "http2: server sent goaway~(?:stream|while)", "rst_stream"])
        .example("stream error: stream ID 1; INTERNAL_ERROR"),
    connection("go.http2_goaway", NetworkTransient)
        .decisive()
        .text(&[
            "server sent goaway",
            "http2: (?:client connection (?:lost|force closed)|transport received)",
            "use of closed network connection",
            "transport connection broken",
        ])
        .example("http2: server sent GOAWAY and closed the connection"),
    rule("go.json", BadOutput)
        .text(&[
            "invalid character .{1,8} (?:looking for|after|in string)",
            "json: cannot unmarshal",
            "unexpected end of json input",
        ])
        .not(&["json: bad"])
        .example("invalid character '<' looking for beginning of value"),
    rule("go.exec", ProcessDied)
        .text(&[
            "executable file not found in",
            r"fork/exec \S{1,80}:",
            r"exit status \d{1,3}$",
            "signal: (?:killed|terminated|aborted|segmentation fault)",
        ])
        .example("exec: codex: executable file not found in $PATH"),
    rule("go.panic", ProcessDied)
        .text(&[
            "panic: runtime error",
            r"goroutine \d{1,9} \[running\]",
            "fatal error: (?:all goroutines|runtime|concurrent|stack overflow)",
        ])
        .example("panic: runtime error: invalid memory address or nil pointer dereference"),
    rule("go.scanner", StreamInterrupted)
        .decisive()
        .text(&[
            r"\bbufio\.scanner: token too long\b",
            r"stream error: stream id \d{1,10}; \w{4,24}; received from peer",
        ])
        .example("bufio.Scanner: token too long"),
];
