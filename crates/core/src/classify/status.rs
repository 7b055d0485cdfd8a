//! HTTP statuses: what each means by itself, and when a number in a text is one.
//!
//! Numbers prove nothing alone: 429 may be a port, a byte count, a line or a token count. A
//! number in a text is a status only in a shape that says so: after a word such as `status
//! code`, before its own reason phrase, or as the opening of an error message.

use crate::kind::FailureKind;
use crate::kind::FailureKind::{
    AuthError, Cancelled, ContentFilter, InvalidRequest, NetworkPermanent, NetworkTransient, Overloaded,
    QuotaExhausted, RateLimit, ServerError, StateLost, Timeout,
};

/// What a status means where nothing better is known.
pub struct Status {
    /// The number.
    pub code: u16,
    /// Its kind.
    pub kind: FailureKind,
    /// The rule's name.
    pub rule: &'static str,
    /// The reason phrases that mark the number as a status, in lower case.
    pub reasons: &'static [&'static str],
}

const fn status(code: u16, kind: FailureKind, rule: &'static str, reasons: &'static [&'static str]) -> Status {
    Status { code, kind, rule, reasons }
}

/// Every status with a meaning of its own.
pub const STATUSES: &[Status] = &[
    status(400, InvalidRequest, "status.400", &["bad request", "client error"]),
    status(
        401,
        AuthError,
        "status.401",
        &["unauthorized", "unauthenticated", "client error", "authorization required"],
    ),
    status(402, QuotaExhausted, "status.402", &["payment required"]),
    status(403, AuthError, "status.403", &["forbidden", "client error", "access denied", "permission denied"]),
    status(404, InvalidRequest, "status.404", &["not found", "client error", "page not found"]),
    status(405, InvalidRequest, "status.405", &["method not allowed", "not allowed"]),
    status(406, InvalidRequest, "status.406", &["not acceptable"]),
    status(407, AuthError, "status.407", &["proxy authentication required"]),
    status(408, Timeout, "status.408", &["request timeout", "request time-out"]),
    status(409, InvalidRequest, "status.409", &["conflict"]),
    status(410, StateLost, "status.410", &["gone"]),
    status(411, InvalidRequest, "status.411", &["length required"]),
    // Most servers mean bytes; where tokens are meant, the message says so.
    status(
        413,
        InvalidRequest,
        "status.413",
        &["payload too large", "request entity too large", "content too large", "request too large"],
    ),
    status(414, InvalidRequest, "status.414", &["uri too long", "request-uri too"]),
    status(415, InvalidRequest, "status.415", &["unsupported media type"]),
    // Twitter's old word for 429.
    status(420, RateLimit, "status.420", &["enhance your calm"]),
    status(421, NetworkPermanent, "status.421", &["misdirected request"]),
    status(422, InvalidRequest, "status.422", &["unprocessable entity", "unprocessable content"]),
    status(424, ServerError, "status.424", &["failed dependency"]),
    status(425, NetworkTransient, "status.425", &["too early"]),
    status(426, InvalidRequest, "status.426", &["upgrade required"]),
    status(429, RateLimit, "status.429", &["too many requests", "rate limit", "client error", "throttl"]),
    status(431, InvalidRequest, "status.431", &["request header fields too large"]),
    // Portkey's, for what a guardrail denied.
    status(446, ContentFilter, "status.446", &["guardrail"]),
    // nginx closed the connection without an answer.
    status(444, NetworkTransient, "status.444", &["no response", "connection closed without response"]),
    status(451, AuthError, "status.451", &["unavailable for legal reasons"]),
    status(498, AuthError, "status.498", &["invalid token"]),
    status(499, Cancelled, "status.499", &["client closed request"]),
    status(500, ServerError, "status.500", &["internal server error", "server error", "internal error"]),
    status(501, InvalidRequest, "status.501", &["not implemented"]),
    status(502, ServerError, "status.502", &["bad gateway", "server error", "proxy error"]),
    status(503, ServerError, "status.503", &["service unavailable", "service temporarily unavailable", "server error"]),
    status(504, Timeout, "status.504", &["gateway timeout", "gateway time-out", "gateway timed out", "server error"]),
    status(505, InvalidRequest, "status.505", &["http version not supported"]),
    status(507, ServerError, "status.507", &["insufficient storage"]),
    status(508, NetworkPermanent, "status.508", &["loop detected"]),
    status(509, QuotaExhausted, "status.509", &["bandwidth limit exceeded"]),
    status(511, AuthError, "status.511", &["network authentication required"]),
    status(520, ServerError, "status.520", &["web server is returning an unknown error", "web server returned"]),
    status(521, ServerError, "status.521", &["web server is down"]),
    status(522, Timeout, "status.522", &["connection timed out"]),
    status(523, NetworkTransient, "status.523", &["origin is unreachable"]),
    status(524, Timeout, "status.524", &["a timeout occurred"]),
    status(525, NetworkPermanent, "status.525", &["ssl handshake failed"]),
    status(526, NetworkPermanent, "status.526", &["invalid ssl certificate"]),
    status(529, Overloaded, "status.529", &["overloaded", "site is overloaded", "too many requests"]),
    status(530, ServerError, "status.530", &["origin dns error", "site is frozen"]),
    status(598, Timeout, "status.598", &["network read timeout"]),
    status(599, Timeout, "status.599", &["network connect timeout"]),
];

/// What stands before a number that is a status; blanks and punctuation between them are skipped.
const BEFORE: &[&str] = &[
    "status code",
    "status_code",
    "statuscode",
    "status-code",
    "httpstatus",
    "http status",
    "http_status",
    "httpcode",
    "http code",
    "http_code",
    "status",
    "http",
    "http/1.0",
    "http/1.1",
    "http/2",
    "http/2.0",
    "http/3",
    "http error",
    "api error",
    "apierror",
    "api_error",
    "api call error",
    "error code",
    "error_code",
    "errorcode",
    "error",
    "code",
    "response",
    "response code",
    "returned error",
    "returned",
    "returned a",
    "but was",
    "got status",
    "status code of",
    "status of",
    "status code is",
    "status was",
    "with status",
    "with code",
    "with status code",
    "ended in",
    "answered with",
    "answered",
    "responded with",
    "respond with",
    "responded",
    "replied with",
    "failed with",
    "rejected with",
    "failed",
    "request failed",
    "received",
    "got",
    "exception",
    "upstream",
    "upstream error",
    "server error",
    "client error",
    "状态码",
    "错误码",
    "错误",
];

/// Words of a message that may end in its status.
const FAILED: &[&str] = &["failed", "failure", "error", "unable", "could not", "couldn't", "cannot"];

/// A word that turns "response 500" into something else when it follows the number.
const UNITS: &[&str] = &[
    "ms",
    "bytes",
    "tokens",
    "token",
    "lines",
    "files",
    "items",
    "rows",
    "times",
    "seconds",
    "characters",
    "chars",
    "requests",
    "messages",
    "kb",
    "mb",
    "ok",
    "errors",
    "tests",
    "results",
    "words",
    "usd",
    "credits",
];

/// What `code` means by itself; `None` for a success.
pub(super) fn meaning(code: u16) -> Option<(FailureKind, &'static str)> {
    if let Some(status) = STATUSES.iter().find(|status| status.code == code) {
        return Some((status.kind, status.rule));
    }
    match code {
        300..=399 if code != 304 => Some((NetworkPermanent, "status.3xx")),
        400..=499 => Some((InvalidRequest, "status.4xx")),
        500..=599 => Some((ServerError, "status.5xx")),
        _ => None,
    }
}

/// The innermost status of a failure that a text states, and where it stands. One that is put in words lies
/// deeper than the value of a field around it: `{"message":"failed with status code 429","code":500}`.
pub(super) fn stated(lower: &[u8]) -> Option<(u16, usize)> {
    let mut field = None;
    // The innermost stands last, and few bytes can begin one.
    memchr::memrchr2_iter(b'4', b'5', lower)
        .find_map(|at| {
            let (before, number) = lower.split_at(at);
            let [first, second, third, after @ ..] = number else { return None };
            let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
            let stands_alone = !is_digit(before.last()) && !is_digit(after.first());
            if !stands_alone || !second.is_ascii_digit() || !third.is_ascii_digit() {
                return None;
            }
            let code = [first, second, third].iter().fold(0, |code, digit| code * 10 + u16::from(**digit - b'0'));
            let stated = is_status(code, before, after).then_some((code, at))?;
            if is_field(before) {
                field.get_or_insert(stated);
                return None;
            }
            Some(stated)
        })
        .or(field)
}

/// Whether a number here is the value of a field: `"code":500`.
fn is_field(before: &[u8]) -> bool {
    matches!(before, [.., b'"' | b'\'', b':'] | [.., b'"' | b'\'', b':', b' '] | [.., b'"' | b'\'', b':', b'"'])
}

fn is_status(code: u16, before: &[u8], after: &[u8]) -> bool {
    // Part of a version, an amount, a duration, an address or a word, unless it is a field's value.
    let goes_on = after.first().is_some_and(|next| next.is_ascii_alphanumeric() || b"_%".contains(next))
        || matches!(after, [b'.' | b':' | b'/', digit, ..] if digit.is_ascii_digit());
    let is_value = matches!(before.last(), Some(b':' | b'=' | b'#'));
    let is_tail = before.last().is_some_and(|last| last.is_ascii_alphanumeric() || b"_.$-/@".contains(last));
    if is_tail || goes_on && (!is_value || after[0].is_ascii_alphanumeric()) {
        return false;
    }
    let rest = trim_start(after);
    if starts(rest, "status code") {
        return true;
    }
    if STATUSES.iter().any(|known| known.code == code && known.reasons.iter().any(|reason| starts(rest, reason))) {
        return true;
    }
    if UNITS.iter().any(|unit| {
        starts(rest, unit) && !rest.get(unit.len()).is_some_and(|next| next.is_ascii_alphanumeric() || *next == b'=')
    }) {
        return false;
    }
    // A column of a log: "| 500 |".
    if before.ends_with(b"| ") && after.starts_with(b" |") {
        return true;
    }
    let ends_text = after.iter().all(|byte| b" .!)".contains(byte));
    let last_words = &before[before.len().saturating_sub(60)..];
    // "Failed to fetch image: 402"
    if ends_text
        && before.ends_with(b": ")
        && FAILED.iter().any(|word| memchr::memmem::find(last_words, word.as_bytes()).is_some())
    {
        return true;
    }
    let before = trim_end(before);
    if before.is_empty() {
        // A message that opens with its status: "503 no healthy upstream", "429 {".
        let shaped = matches!(after, [b' ', b'{' | b'-' | b'<' | b'[', ..] | [b':' | b' ', b' ' | b'"', ..] | []);
        return shaped || STATUSES.iter().any(|known| known.code == code) && after.first() == Some(&b' ');
    }
    BEFORE.iter().any(|word| ends(before, word))
}

fn starts(bytes: &[u8], prefix: &str) -> bool {
    bytes.starts_with(prefix.as_bytes())
}

/// Whether `bytes` ends in the whole word or words `suffix`.
fn ends(bytes: &[u8], suffix: &str) -> bool {
    let Some(before) = bytes.strip_suffix(suffix.as_bytes()) else { return false };
    // "RequestFailedException: Status: 401", "HTTPError: 502": a class name may end in the word.
    !before.last().is_some_and(|last| last.is_ascii_digit() || *last == b'-')
}

fn trim_end(bytes: &[u8]) -> &[u8] {
    let kept = bytes.iter().rposition(|byte| !b" :=(\"'[`-,#".contains(byte)).map_or(0, |last| last + 1);
    &bytes[..kept]
}

fn trim_start(bytes: &[u8]) -> &[u8] {
    let dropped = bytes.iter().position(|byte| !b" :=)\"'-,.(".contains(byte)).unwrap_or(bytes.len());
    &bytes[dropped..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_a_status_only_in_a_shape_that_says_so() {
        let table = [
            ("429 too many requests", Some(429)),
            ("status code: 503", Some(503)),
            ("server rejected websocket connection: http 502", Some(502)),
            ("error code: 429 - {'error': 1}", Some(429)),
            ("api error: 529 overloaded", Some(529)),
            ("the requested url returned error: 404", Some(404)),
            (r#"{"error":{"code":503}}"#, Some(503)),
            ("invalid status code 400 bad request", Some(400)),
            ("status=500 error", Some(500)),
            ("httperror: 502 bad gateway", Some(502)),
            ("badrequesterror: 400 status code (no body)", Some(400)),
            ("expected status code 200 but was 400", Some(400)),
            ("failed to fetch image: 402", Some(402)),
            (r#"{"message":"failed with status code 429","code":500}"#, Some(429)),
            (r#"{"message":"failed","status":"502","code":503}"#, Some(503)),
            ("the response has a status code of 503", Some(503)),
            ("code=h11 status=503 bytes=", Some(503)),
            ("[gin] 2024/04/25 | 500 | 570.2us | post", Some(500)),
            ("failed to read line: 402 of main.rs", None),
            ("items: 402", None),
            ("serving http on 127.0.0.1 port 28429", None),
            ("listening on port 500", None),
            ("error at line 429", None),
            ("took 500ms", None),
            ("got 500 lines", None),
            (r#"{"usage":{"output_tokens":429}}"#, None),
            ("retries on 408, 409, 429 and 500 errors.", None),
            ("version 4.500.2", None),
            ("commit 429a5dc4308", None),
            ("response 200 in 503 ms", None),
        ];
        for (text, expected) in table {
            assert_eq!(stated(text.as_bytes()).map(|(code, _)| code), expected, "{text}");
        }
    }
}
