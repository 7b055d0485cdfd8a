//! One attempt that somebody else decided on: a face that runs a `Recovery` of its own, such as the council.
//!
//! Nothing is retried, remembered or logged here: what came of the attempt is for the caller to report to its core.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use steadfast_core::cost::Usage;
use steadfast_core::policy::Policy;
use steadfast_core::recovery::Attempt;
use steadfast_core::route::Route;
use steadfast_core::{Failure, FailureKind, Instant};
use steadfast_dialect::{Format, Frame, Operation as Asked, Seen};

use crate::Engine;
use crate::attempt::{self, Opened};
use crate::call::Call;
use crate::operation::Operation;
use crate::trouble::Trouble;

/// After a stream's terminal event, what belongs to it comes at once.
const TAIL: std::time::Duration = std::time::Duration::from_millis(500);

/// What is to be attempted.
#[derive(Clone, Debug)]
pub struct Order {
    /// The request: one that generates.
    pub call: Call,
    /// Whose timeouts hold.
    pub policy: Arc<Policy>,
    /// Where the attempt's target has its place.
    pub route: Arc<Route>,
    /// The attempt.
    pub attempt: Attempt,
}

/// An answer on its way.
pub struct Answering {
    operation: Operation,
    attempt: Attempt,
    opened: Box<Opened>,
    last_content: Option<Instant>,
    ended: bool,
}

/// How the attempt failed.
#[derive(Debug)]
pub struct Failed {
    /// What it was, classified.
    pub failure: Failure,
    /// What it consumed all the same.
    pub usage: Usage,
}

impl Engine {
    /// Makes exactly this attempt. Dropping the future or the answer ends it at the provider too.
    pub async fn attempt(self: &Arc<Self>, order: Order) -> Result<Answering, Failed> {
        let Order { call, policy, route, attempt } = order;
        let format = match call.route.operation {
            Asked::Generate(format) => format,
            Asked::CountTokens | Asked::Embed | Asked::ListModels | Asked::Other => Format::Chat,
        };
        let call = Arc::new(call);
        let operation = Operation::lone(self, Arc::clone(&call), policy, route, attempt);
        match attempt::begin(&operation, &attempt, format, &call.body, false).await {
            Ok(opened) => Ok(Answering { operation, attempt, opened, last_content: None, ended: false }),
            Err(trouble) => Err(operation.failure_of(&attempt, trouble)),
        }
    }
}

impl Answering {
    /// The next frame, in the format of the request; `None` at the end of an answer that is whole.
    pub async fn next(&mut self) -> Result<Option<Frame>, Failed> {
        self.next_frame().await.map_err(|trouble| self.operation.failure_of(&self.attempt, trouble))
    }

    /// What it consumed: as the provider counted, or as far as can be told.
    pub fn usage(&self) -> Usage {
        self.opened.usage(&self.operation)
    }

    async fn next_frame(&mut self) -> Result<Option<Frame>, Trouble> {
        let timeouts = self.operation.policy().timeouts;
        let Self { opened, last_content, ended, .. } = self;
        // Nobody knows how long ago the last frame was taken.
        opened.came = self.operation.engine.clock.now();
        let until = match *last_content {
            _ if *ended => opened.came + TAIL,
            None => self.attempt.deadline.min(self.operation.attempt_began() + timeouts.first_token),
            // What flows is not cut off because it is long; but pings alone are no flow.
            Some(last) => last + timeouts.first_token.max(timeouts.idle),
        };
        match opened.next(&self.operation, until).await {
            Ok(Some((frame, seen))) => {
                if seen != Seen::Preamble {
                    *last_content = Some(opened.came);
                }
                *ended |= seen == Seen::End;
                Ok(Some(frame))
            }
            Ok(None) if !opened.watch.has_content() => Err(empty().with_usage(opened.usage(&self.operation))),
            Ok(None) => Ok(None),
            // What follows the terminal event cannot spoil it any more.
            Err(_) if *ended && opened.watch.has_content() => Ok(None),
            Err(trouble) => Err(trouble),
        }
    }
}

impl Operation {
    /// What kind of failure it is, without a secret in it.
    fn failure_of(&self, attempt: &Attempt, trouble: Trouble) -> Failed {
        let endpoint = self.snapshot.config.endpoint(attempt.target.endpoint);
        let provider = endpoint.map_or("", |endpoint| endpoint.dialect.vendor());
        let trouble = match endpoint {
            Some(endpoint) => trouble.without_secrets(endpoint),
            None => trouble,
        };
        let mut failure = trouble.classify(&self.snapshot.classifier, provider, self.engine.clock.wall());
        if failure.kind == FailureKind::Cancelled {
            // Nobody left here: who says "cancelled" is the provider.
            failure.kind = FailureKind::ServerError;
        }
        Failed { failure, usage: trouble.usage }
    }
}

fn empty() -> Trouble {
    let words = Bytes::from_static(b"empty response: the stream ended without any content");
    Trouble::bad_answer(StatusCode::OK, HeaderMap::new(), words)
}

impl std::fmt::Debug for Answering {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answering").field("attempt", &self.attempt).finish_non_exhaustive()
    }
}
