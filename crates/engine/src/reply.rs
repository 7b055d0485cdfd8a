//! What goes back to the client: answers with what happened in their headers, and final failures
//! in the shape of the client's own format.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use steadfast_core::decision::{Reason, Refused};
use steadfast_core::route::Unfit;
use steadfast_core::{Failure, FailureKind, redact};
use steadfast_dialect::{Format, Limit, Watch, error};

use crate::call::Call;
use crate::limits::put_own_names;
use crate::relay::Relay;
use crate::shape::{shape, shape_of_event};
use crate::trouble::Trouble;

/// Names the request in every answer.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-steadfast-request");
/// The model that answered.
pub(crate) const MODEL: HeaderName = HeaderName::from_static("x-steadfast-model");
/// The endpoint that answered.
pub(crate) const ENDPOINT: HeaderName = HeaderName::from_static("x-steadfast-endpoint");
/// How many attempts were made.
pub(crate) const ATTEMPTS: HeaderName = HeaderName::from_static("x-steadfast-attempts");
/// The steps that were taken, in order.
pub(crate) const STEPS: HeaderName = HeaderName::from_static("x-steadfast-steps");
/// Tells SDKs that the retries have been made.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// A response to the client.
#[derive(Debug)]
pub struct Reply {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: ReplyBody,
}

/// The body of a response to the client.
#[derive(Debug)]
pub enum ReplyBody {
    /// All of it.
    Whole(Bytes),
    /// As it comes.
    Stream(Relay),
}

/// Why a request failed for good.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) status: StatusCode,
    pub(crate) kind: FailureKind,
    /// What the last failure said, and what we say.
    pub(crate) message: String,
    /// What we say alone.
    pub(crate) told: String,
    pub(crate) retry_after: Option<Duration>,
    /// The provider's own last word, where it can be passed on as it is.
    pub(crate) said: Option<Trouble>,
    /// The client had got a part of the answer.
    pub(crate) broke_off: bool,
    /// The rate limit that refuses, where one does.
    pub(crate) limit: Option<Limit>,
}

impl Verdict {
    /// What to say when nothing is left to try.
    pub(crate) fn of(reason: Reason, told: &str, failure: Option<&Failure>, last: Option<Trouble>) -> Self {
        let kind = match reason {
            Reason::Money | Reason::PriceUnknown => FailureKind::QuotaExhausted,
            Reason::NobodyFits(Unfit::Window) => FailureKind::ContextLimit,
            Reason::NobodyFits(_) => FailureKind::InvalidRequest,
            Reason::NoEndpoint => FailureKind::ModelUnavailable,
            Reason::NoTarget { cause: Refused::SetAside, .. } => FailureKind::QuotaExhausted,
            Reason::RateLimit { .. } | Reason::NoTarget { cause: Refused::RateLimit, .. } => FailureKind::RateLimit,
            Reason::Deadline if failure.is_none() => FailureKind::Timeout,
            _ => failure.map_or(FailureKind::Overloaded, |failure| failure.kind),
        };
        let wait = match reason {
            Reason::NoTarget { wait, .. } => Some(wait),
            Reason::RateLimit { standing, .. } => Some(standing.wait),
            _ => failure.and_then(|failure| failure.retry_after),
        };
        let ours = matches!(reason, Reason::Money | Reason::PriceUnknown | Reason::NobodyFits(_) | Reason::NoEndpoint);
        let said = last
            .filter(|trouble| !ours && trouble.reached && trouble.status.is_some_and(|status| status.as_u16() >= 400));
        let status = said.as_ref().and_then(|trouble| trouble.status).unwrap_or(status_of(kind, reason));
        let message =
            match failure.map(|failure| failure.message.as_str()).filter(|message| !message.is_empty() && !ours) {
                Some(message) => format!("{} ({told})", redact::redact(message)),
                None => told.to_owned(),
            };
        let broke_off = reason == Reason::AlreadyBegun;
        Self { status, kind, message, told: told.to_owned(), retry_after: wait, said, broke_off, limit: None }
    }

    /// The provider's own response with everything it said about retries: they are the client's.
    pub(crate) fn pass_on(&self, call: &Call, mut headers: HeaderMap) -> Reply {
        let Some(trouble) = &self.said else { return self.reply(call, headers) };
        let advice = |name: &HeaderName| matches!(name.as_str(), "retry-after" | "retry-after-ms" | "x-should-retry");
        for (name, value) in trouble.headers.iter().filter(|(name, _)| passes_back(name) || advice(name)) {
            headers.append(name, value.clone());
        }
        Reply { status: self.status, headers, body: ReplyBody::Whole(trouble.body.clone()) }
    }

    /// The response, in the format of the client that asked and in words it stops at.
    pub(crate) fn reply(&self, call: &Call, mut headers: HeaderMap) -> Reply {
        let shape = shape(&call.client, self);
        headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        if let Some(seconds) = shape.retry_after_s {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        let body = match self.said.as_ref().filter(|_| shape.as_said) {
            Some(trouble) => {
                for (name, value) in trouble.headers.iter().filter(|(name, _)| passes_back(name)) {
                    if !headers.contains_key(name) {
                        headers.append(name, value.clone());
                    }
                }
                trouble.body.clone()
            }
            None => {
                if let Some(limit) = &self.limit {
                    put_own_names(&mut headers, call.route.family, limit);
                }
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                error::body(call.route.family, &shape.words(&call.id)).into()
            }
        };
        Reply { status: shape.status, headers, body: ReplyBody::Whole(body) }
    }

    /// The same as the last words of a stream whose head is out.
    pub(crate) fn event(&self, call: &Call, format: Format, open: &Watch) -> Bytes {
        let shape = shape_of_event(&call.client, self);
        error::event(format, call.envelope.framing, &shape.words(&call.id), open).into()
    }
}

/// Whole seconds, upwards: a client that comes a fraction too early comes twice.
pub(crate) fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

/// Which headers of a provider's response go on to the client: all but those of the connection,
/// the length of bytes that may have changed, what binds a browser to the provider's host, and
/// advice that is ours to give.
pub(crate) fn passes_back(name: &HeaderName) -> bool {
    let name = name.as_str();
    let refused = matches!(
        name,
        "connection"
            | "keep-alive"
            | "proxy-authenticate"
            | "proxy-connection"
            | "te"
            | "trailer"
            | "transfer-encoding"
            | "upgrade"
            | "content-length"
            | "retry-after"
            | "retry-after-ms"
            | "x-should-retry"
            | "alt-svc"
            | "strict-transport-security"
            | "set-cookie"
            | "nel"
            | "report-to"
    );
    !refused && !name.starts_with("x-steadfast-")
}

/// The status that says a kind best, where no provider said one.
fn status_of(kind: FailureKind, reason: Reason) -> StatusCode {
    match (kind, reason) {
        (_, Reason::Money | Reason::PriceUnknown) => StatusCode::PAYMENT_REQUIRED,
        (_, Reason::Deadline) | (FailureKind::Timeout, _) => StatusCode::GATEWAY_TIMEOUT,
        (FailureKind::RateLimit | FailureKind::QuotaExhausted, _) => StatusCode::TOO_MANY_REQUESTS,
        (FailureKind::Overloaded, _) => StatusCode::SERVICE_UNAVAILABLE,
        (FailureKind::ModelUnavailable | FailureKind::StateLost, _) => StatusCode::NOT_FOUND,
        (FailureKind::ContextLimit | FailureKind::ContentFilter | FailureKind::InvalidRequest, _) => {
            StatusCode::BAD_REQUEST
        }
        (FailureKind::AuthError, _) => StatusCode::UNAUTHORIZED,
        _ => StatusCode::BAD_GATEWAY,
    }
}
