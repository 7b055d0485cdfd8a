//! The fixed list of failure kinds and the six categories they belong to.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::breaker::Outcome;

/// What kind of failure ended an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The other side could not be reached or kept before a response began; it may work in a moment.
    NetworkTransient,
    /// The other side cannot be reached as configured.
    NetworkPermanent,
    /// A time limit passed.
    Timeout,
    /// Too many requests or tokens in a short window.
    RateLimit,
    /// Money, credits, plan or an allowance of a day or more is used up.
    QuotaExhausted,
    /// The model or server has no capacity for anyone right now.
    Overloaded,
    /// The other side failed in itself.
    ServerError,
    /// This model does not exist here, is retired, or is not enabled for the caller.
    ModelUnavailable,
    /// The request holds more tokens than the model or one call may hold.
    ContextLimit,
    /// Prompt or answer was blocked by a safety check.
    ContentFilter,
    /// Credentials or permission.
    AuthError,
    /// The request is wrong in itself and would fail again.
    InvalidRequest,
    /// An id the caller holds is no longer known to the other side.
    StateLost,
    /// The response had begun and then broke off.
    StreamInterrupted,
    /// A local process ended, was killed, or could not be started.
    ProcessDied,
    /// An answer arrived but is unusable.
    BadOutput,
    /// The caller or a user stopped it.
    Cancelled,
    /// No failure at all, or one whose cause cannot be told.
    Unknown,
}

/// The coarse grouping of kinds that policies may address as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Category {
    /// Likely to pass by itself; the same target is worth another attempt.
    NetworkTransient,
    /// A connection that cannot work as configured.
    NetworkPermanent,
    /// The provider asks for less.
    ProviderRateLimit,
    /// The provider or model failed; another model may serve.
    ProviderError,
    /// The request or its outcome is wrong; repeating it unchanged does not help.
    LogicError,
    /// Too many tokens for the model.
    ContextLength,
}

/// A name that is neither a kind nor a category.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown name `{0}`")]
pub struct UnknownName(pub String);

impl FailureKind {
    /// Every kind, in the order of the specification.
    pub const ALL: [Self; 18] = [
        Self::NetworkTransient,
        Self::NetworkPermanent,
        Self::Timeout,
        Self::RateLimit,
        Self::QuotaExhausted,
        Self::Overloaded,
        Self::ServerError,
        Self::ModelUnavailable,
        Self::ContextLimit,
        Self::ContentFilter,
        Self::AuthError,
        Self::InvalidRequest,
        Self::StateLost,
        Self::StreamInterrupted,
        Self::ProcessDied,
        Self::BadOutput,
        Self::Cancelled,
        Self::Unknown,
    ];

    /// The name used in config, logs and APIs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NetworkTransient => "network_transient",
            Self::NetworkPermanent => "network_permanent",
            Self::Timeout => "timeout",
            Self::RateLimit => "rate_limit",
            Self::QuotaExhausted => "quota_exhausted",
            Self::Overloaded => "overloaded",
            Self::ServerError => "server_error",
            Self::ModelUnavailable => "model_unavailable",
            Self::ContextLimit => "context_limit",
            Self::ContentFilter => "content_filter",
            Self::AuthError => "auth_error",
            Self::InvalidRequest => "invalid_request",
            Self::StateLost => "state_lost",
            Self::StreamInterrupted => "stream_interrupted",
            Self::ProcessDied => "process_died",
            Self::BadOutput => "bad_output",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }

    /// Whether the same request at the same target may fare better the next time.
    pub const fn may_pass(self) -> bool {
        match self {
            Self::NetworkPermanent
            | Self::QuotaExhausted
            | Self::ModelUnavailable
            | Self::ContextLimit
            | Self::AuthError
            | Self::InvalidRequest
            | Self::StateLost
            | Self::Cancelled => false,
            Self::NetworkTransient
            | Self::Timeout
            | Self::RateLimit
            | Self::Overloaded
            | Self::ServerError
            | Self::ContentFilter
            | Self::StreamInterrupted
            | Self::ProcessDied
            | Self::BadOutput
            | Self::Unknown => true,
        }
    }

    /// What this kind says about the health of the endpoint that showed it.
    pub const fn endpoint_outcome(self) -> Outcome {
        match self {
            Self::NetworkTransient
            | Self::NetworkPermanent
            | Self::Timeout
            | Self::ServerError
            | Self::StreamInterrupted => Outcome::Failure,
            // Alive, but asking for less; and where nobody knows, half a vote.
            Self::RateLimit | Self::Overloaded | Self::Unknown => Outcome::Degraded,
            // The request, the caller's key or the model's answer: other callers fare well.
            Self::QuotaExhausted
            | Self::ModelUnavailable
            | Self::ContextLimit
            | Self::ContentFilter
            | Self::AuthError
            | Self::InvalidRequest
            | Self::StateLost
            | Self::ProcessDied
            | Self::BadOutput
            | Self::Cancelled => Outcome::Neutral,
        }
    }

    /// The category this kind belongs to.
    pub const fn category(self) -> Category {
        match self {
            // A cut stream, a passed time limit and a dead process all mean that a connection to
            // a worker was lost while nothing spoke against the request itself.
            Self::NetworkTransient | Self::Timeout | Self::StreamInterrupted | Self::ProcessDied => {
                Category::NetworkTransient
            }
            Self::NetworkPermanent => Category::NetworkPermanent,
            Self::RateLimit | Self::QuotaExhausted => Category::ProviderRateLimit,
            Self::Overloaded | Self::ServerError | Self::ModelUnavailable | Self::AuthError => Category::ProviderError,
            Self::ContextLimit => Category::ContextLength,
            Self::ContentFilter
            | Self::InvalidRequest
            | Self::StateLost
            | Self::BadOutput
            | Self::Cancelled
            | Self::Unknown => Category::LogicError,
        }
    }
}

impl Category {
    /// Every category.
    pub const ALL: [Self; 6] = [
        Self::NetworkTransient,
        Self::NetworkPermanent,
        Self::ProviderRateLimit,
        Self::ProviderError,
        Self::LogicError,
        Self::ContextLength,
    ];

    /// The name used in config, logs and APIs: the spelling tells a category from a kind.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NetworkTransient => "NetworkTransient",
            Self::NetworkPermanent => "NetworkPermanent",
            Self::ProviderRateLimit => "ProviderRateLimit",
            Self::ProviderError => "ProviderError",
            Self::LogicError => "LogicError",
            Self::ContextLength => "ContextLength",
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for FailureKind {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let known = Self::ALL.into_iter().find(|kind| kind.as_str() == name);
        known.ok_or_else(|| UnknownName(name.to_owned()))
    }
}

impl FromStr for Category {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let known = Self::ALL.into_iter().find(|category| category.as_str() == name);
        known.ok_or_else(|| UnknownName(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_and_kinds_never_collide_with_categories() {
        for kind in FailureKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
            assert!(kind.as_str().parse::<Category>().is_err());
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
        for category in Category::ALL {
            assert_eq!(category.as_str().parse(), Ok(category));
            assert!(category.as_str().parse::<FailureKind>().is_err());
            assert_eq!(serde_json::to_value(category).unwrap(), category.as_str());
        }
    }
}
