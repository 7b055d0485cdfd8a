//! How a final failure is told to the client that asked.
//!
//! A pure function of the client's row in the table and the verdict. The true story stays in the log
//! and in the message; the status and the names are those at which this client stops.

use std::borrow::Cow;

use http::StatusCode;
use steadfast_config::{Client, Told};
use steadfast_core::FailureKind;
use steadfast_core::policy::Trigger;
use steadfast_dialect::{Final, Limit, error};

use crate::reply::{Verdict, whole_seconds};

/// Beyond a minute clients do opposite things: some sleep for hours, some come at once.
const RETRY_AFTER_S_MAX: u64 = 60;

/// What is said where the reason would be taken for an invitation.
const BARE: &str = "Steadfast gave up on this request. Ask `steadfast why` what happened.";

/// A final failure as it is told.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shape<'a> {
    pub(crate) status: StatusCode,
    pub(crate) kind: FailureKind,
    pub(crate) message: Cow<'a, str>,
    /// Whole seconds.
    pub(crate) retry_after_s: Option<u64>,
    /// The provider's own words go on as they are.
    pub(crate) as_said: bool,
    /// The rate limit that refuses, where one does.
    pub(crate) limit: Option<&'a Limit>,
}

impl Shape<'_> {
    /// The same for the client's format.
    pub(crate) fn words<'a>(&'a self, request_id: &'a str) -> Final<'a> {
        let (status, kind) = (self.status.as_u16(), self.kind.as_str());
        let (retry_after_s, limit) = (self.retry_after_s, self.limit);
        Final { status, kind, message: &self.message, retry_after_s, request_id, limit }
    }
}

/// How this client is told of this verdict.
pub(crate) fn shape<'a>(client: &Client, verdict: &'a Verdict) -> Shape<'a> {
    with(told(client, verdict), client, verdict)
}

/// How it is told inside of a stream. After a break half way only the client can ask again, and it
/// should: its session then goes elsewhere. So it is not told in the words it stops at.
pub(crate) fn shape_of_event<'a>(client: &Client, verdict: &'a Verdict) -> Shape<'a> {
    let told = if verdict.broke_off { Told::default() } else { told(client, verdict) };
    with(told, client, verdict)
}

fn with<'a>(told: Told, client: &Client, verdict: &'a Verdict) -> Shape<'a> {
    let status = told.status.and_then(|status| StatusCode::from_u16(status).ok()).unwrap_or(verdict.status);
    // What is wrong with a request, its sender must be told in the provider's own words.
    let its_own = matches!(verdict.kind, FailureKind::ContextLimit | FailureKind::InvalidRequest);
    let misleads = |text: &str| !its_own && !is_untouched(verdict.status) && error::looks_like_overflow(text);
    let said = verdict.said.as_ref().filter(|said| !misleads(&String::from_utf8_lossy(&said.body)));
    let mut message = Cow::Borrowed(verdict.message.as_str());
    if misleads(&message) {
        message = Cow::Owned(format!("{} ({})", verdict.kind.as_str().replace('_', " "), verdict.told));
    }
    if status != verdict.status {
        message = match client.says_why {
            true => Cow::Owned(format!("{message} [status {}]", verdict.status.as_u16())),
            false => Cow::Borrowed(BARE),
        };
    }
    Shape {
        status,
        kind: told.kind.unwrap_or(verdict.kind),
        message,
        retry_after_s: verdict
            .retry_after
            .filter(|_| client.retry_after)
            .map(|wait| whole_seconds(wait).min(RETRY_AFTER_S_MAX)),
        as_said: told == Told::default() && said.is_some(),
        limit: verdict.limit.as_ref(),
    }
}

/// What the client's row says, the most specific first.
fn told(client: &Client, verdict: &Verdict) -> Told {
    let status = verdict.status;
    if is_untouched(status) {
        return Told::default();
    }
    let exact =
        [Trigger::Status(status.as_u16()), Trigger::Kind(verdict.kind), Trigger::Category(verdict.kind.category())];
    let exact = exact.iter().find_map(|trigger| client.finals.get(trigger));
    let rest = || client.finals.get(&Trigger::Default).filter(|_| seems_temporary(status));
    exact.or_else(rest).copied().unwrap_or_default()
}

/// Clients negotiate with these: Claude Code leaves one thing out after the other.
pub(crate) fn is_untouched(status: StatusCode) -> bool {
    matches!(status.as_u16(), 400 | 422)
}

/// Whether clients take this status for one that passes by itself.
fn seems_temporary(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 409 | 425 | 429) || status.is_server_error()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use http::HeaderMap;
    use steadfast_config::{Config, Sources};

    use super::*;
    use crate::trouble::Trouble;

    fn config() -> Config {
        let no_secret = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
        let sources = Sources { file: None, environment: Vec::new(), settings: Vec::new(), read_secret: &no_secret };
        steadfast_config::load(sources).unwrap().config
    }

    fn verdict(status: u16, kind: FailureKind, said: Option<&'static str>) -> Verdict {
        let status = StatusCode::from_u16(status).unwrap();
        let told = "Steadfast made 3 attempts: no step of the policy is left";
        Verdict {
            status,
            kind,
            message: format!("{} ({told})", said.unwrap_or("no answer")),
            told: told.to_owned(),
            retry_after: Some(Duration::from_millis(90_500)),
            said: said.map(|said| Trouble::response(status, HeaderMap::new(), Bytes::from_static(said.as_bytes()))),
            broke_off: false,
            limit: None,
        }
    }

    /// `status kind retry-after words`, for one client.
    fn line(client: &Client, verdict: &Verdict) -> String {
        let shape = shape(client, verdict);
        let after = shape.retry_after_s.map_or_else(|| "-".to_owned(), |seconds| seconds.to_string());
        let words = if shape.as_said { "said" } else { "own" };
        format!("{} {} {after} {words}", shape.status.as_u16(), shape.kind)
    }

    #[test]
    fn each_client_is_told_in_the_words_it_stops_at() {
        use FailureKind::{
            AuthError, InvalidRequest, NetworkTransient, Overloaded, QuotaExhausted, RateLimit, ServerError,
        };
        let said = Some("provider's words");
        // 529 overloaded, 500, 429 rate limit, 429 quota, 502 nothing said, 401, 400.
        let verdicts = [
            verdict(529, Overloaded, said),
            verdict(500, ServerError, said),
            verdict(429, RateLimit, said),
            verdict(429, QuotaExhausted, said),
            verdict(502, NetworkTransient, None),
            verdict(401, AuthError, said),
            verdict(400, InvalidRequest, said),
        ];
        let plain = [
            "400 overloaded 60 own",
            "400 server_error 60 own",
            "400 rate_limit 60 own",
            "400 quota_exhausted 60 own",
            "400 network_transient 60 own",
            "401 auth_error 60 said",
            "400 invalid_request 60 said",
        ];
        let bare = plain.map(|line| match line.ends_with("own") {
            true => "400 invalid_request 60 own",
            false => line,
        });
        let as_it_is = [
            "529 overloaded 60 said",
            "500 server_error 60 said",
            "429 rate_limit 60 said",
            "429 quota_exhausted 60 said",
            "502 network_transient 60 own",
            "401 auth_error 60 said",
            "400 invalid_request 60 said",
        ];
        let claude_code = ["500 server_error 60 own"].into_iter().chain(as_it_is.into_iter().skip(1));
        let codex = [
            "429 overloaded - own",
            "429 overloaded - own",
            "429 overloaded - own",
            "429 quota_exhausted - said",
            "429 overloaded - own",
            "401 auth_error - said",
            "400 invalid_request - said",
        ];
        let gemini_cli = [
            "429 quota_exhausted - own",
            "429 quota_exhausted - own",
            "429 quota_exhausted - own",
            "429 quota_exhausted - own",
            "429 quota_exhausted - own",
            "401 auth_error - said",
            "400 invalid_request - said",
        ];
        for client in &config().clients {
            let expected: Vec<&str> = match &*client.name {
                "claude-code" => claude_code.clone().collect(),
                "codex" => codex.to_vec(),
                "gemini-cli" => gemini_cli.to_vec(),
                "opencode" => bare.to_vec(),
                "qwen-code" | "openclaw" | "ai-sdk" => plain.to_vec(),
                _ => as_it_is.to_vec(),
            };
            let lines: Vec<String> = verdicts.iter().map(|verdict| line(client, verdict)).collect();
            assert_eq!(lines, expected, "{}", client.name);
        }
    }

    #[test]
    fn another_status_is_said_in_the_message() {
        let config = config();
        let overloaded = verdict(529, FailureKind::Overloaded, Some("Overloaded"));
        let told = shape(config.client("ai-sdk").unwrap(), &overloaded);
        assert!(told.message.starts_with("Overloaded (") && told.message.ends_with("is left) [status 529]"));
        assert!(!shape(config.client("unknown").unwrap(), &overloaded).message.contains("[status"));
        let bare = shape(config.client("opencode").unwrap(), &overloaded);
        assert_eq!(bare.message, BARE, "it asks again at words such as `overloaded`");
    }

    #[test]
    fn only_a_full_context_is_told_as_one() {
        let config = config();
        let client = config.client("unknown").unwrap();
        let words = Some("Too many tokens per minute: request too large for your organization");
        let limited = verdict(429, FailureKind::RateLimit, words);
        let told = shape(client, &limited);
        assert!(!told.as_said && told.message.starts_with("rate limit (Steadfast made"), "{told:?}");
        assert!(shape(client, &verdict(400, FailureKind::ContextLimit, words)).as_said);
        assert!(shape(client, &verdict(422, FailureKind::Unknown, words)).as_said, "422 is never touched");
    }
}
