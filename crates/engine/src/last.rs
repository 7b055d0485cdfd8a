//! What a session remembers of a request that failed for good: the truth, whatever words its client was told.

use std::borrow::Cow;
use std::sync::Arc;

use steadfast_core::decision::Reason;
use steadfast_core::record::Place;
use steadfast_core::world::{LastFailure, Session};
use steadfast_core::{Failure, FailureKind};
use steadfast_dialect::Operation as Asked;

use crate::Engine;
use crate::call::Call;
use crate::reply::Verdict;

/// The rule of a failure that is no provider's: the session's or project's money is spent.
pub const OUT_OF_MONEY: &str = "steadfast.budget";

/// The rule of a failure that is nobody's in particular.
const GAVE_UP: &str = "steadfast.gave_up";

/// Takes note of a turn that failed for good; `failure` is the last one that was seen.
pub(crate) fn note(
    session: &Session,
    call: &Call,
    verdict: &Verdict,
    reason: Reason,
    failure: Option<&Failure>,
    place: Option<&Place>,
) {
    let (Asked::Generate(_), Some(_)) = (call.route.operation, &call.session) else { return };
    let rule = match reason {
        Reason::Money | Reason::PriceUnknown => Cow::Borrowed(OUT_OF_MONEY),
        _ => failure.filter(|failure| failure.kind == verdict.kind).map_or(GAVE_UP.into(), |last| last.rule.clone()),
    };
    session.failed_for_good(LastFailure {
        request: Arc::clone(&call.id),
        asked: call.envelope.model.as_deref().unwrap_or_default().into(),
        place: place.map(|place| format!("{}@{}", place.model, place.endpoint)).unwrap_or_default(),
        failure: Failure {
            retry_after: verdict.retry_after,
            rule,
            status: Some(verdict.status.as_u16()),
            message: verdict.message.clone(),
            retried: may_not_be_retried(reason, verdict.kind),
            ..Failure::new(verdict.kind, GAVE_UP)
        },
    });
}

/// Whether retries of it were made here, or would be of no use. An answer that broke off half way and a request that was
/// refused before it went anywhere were not retried.
const fn may_not_be_retried(reason: Reason, kind: FailureKind) -> bool {
    match reason {
        Reason::AlreadyBegun | Reason::RateLimit { .. } => false,
        _ => !matches!(kind, FailureKind::Cancelled),
    }
}

impl Engine {
    /// A turn that failed came again and got the same answer.
    pub(crate) fn note_repeat(&self, call: &Call) {
        if let Some(session) = call.session.as_deref().and_then(|id| self.sessions.known(&call.project, id)) {
            session.failed_again();
        }
    }

    /// A turn was refused before it went anywhere.
    pub(crate) fn note_refusal(&self, call: &Call, verdict: &Verdict, reason: Reason) {
        if let Some(session) = call.session.as_deref().and_then(|id| self.open_session(&call.project, id)) {
            note(&session, call, verdict, reason, None, None);
        }
    }
}
