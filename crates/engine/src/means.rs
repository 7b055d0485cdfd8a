//! What a request may do: its policy, how long it may take, and what it asks of a model.

use std::sync::Arc;
use std::time::Duration;

use steadfast_core::policy::{Policy, StepTable, StreamMode};
use steadfast_core::route::{Abilities, Needs, Route};
use steadfast_dialect::Operation as Asked;

use crate::call::Call;

/// The most output tokens reserved for a request that does not say.
const OUTPUT_TOKENS_DEFAULT: u32 = 4096;

/// One attempt, whatever comes of it.
pub(crate) fn plain_policy(policy: &Policy) -> Arc<Policy> {
    Arc::new(Policy { attempts_max: 1, on: StepTable::default(), stream: StreamMode::Fast, ..policy.clone() })
}

/// The model asked for at its first endpoint, and nowhere else.
pub(crate) fn only_first(route: &Route) -> Route {
    let mut model = route.primary().clone();
    model.endpoints.truncate(1);
    Route::single(model)
}

/// The project's policy with what this request wishes for itself.
pub(crate) fn effective_policy(policy: &Arc<Policy>, call: &Call) -> Arc<Policy> {
    let wishes = &call.wishes;
    if wishes.stream.is_none() && wishes.deadline.is_none() && wishes.park.is_none() {
        return Arc::clone(policy);
    }
    let mut own = Policy::clone(policy);
    own.stream = wishes.stream.unwrap_or(own.stream);
    own.park = wishes.park.unwrap_or(own.park);
    own.deadline = wishes.deadline.unwrap_or(own.deadline);
    Arc::new(own)
}

/// How long the client waits for a response to begin: what it says itself, or what is known of it.
pub(crate) fn client_waits(call: &Call) -> Option<Duration> {
    call.wishes.client_waits.or(call.client.waits)
}

/// The client's own patience, less what an answer needs to reach it in time.
pub(crate) fn with_margin(wait: Duration) -> Duration {
    wait.saturating_sub((wait / 20).max(Duration::from_secs(1))).max(wait / 2)
}

/// What the request asks of a model. Token counts are estimates, so the window is checked only
/// against what is certain to be too much.
pub(crate) fn needs(call: &Call) -> Needs {
    let envelope = &call.envelope;
    match call.route.operation {
        Asked::Generate(_) => {}
        Asked::Embed => return Needs { input_tokens: envelope.input_tokens, ..Needs::default() },
        Asked::CountTokens | Asked::ListModels => return Needs { free: true, ..Needs::default() },
        // Nobody looks into these; one that names no model generates nothing.
        Asked::Other => {
            let (input_tokens, free) = (envelope.input_tokens, envelope.model.is_none());
            return Needs { input_tokens, free, ..Needs::default() };
        }
    }
    Needs {
        tokens: envelope.input_tokens / 4 * 3,
        input_tokens: envelope.input_tokens,
        output_tokens: envelope.output_tokens_max.unwrap_or(OUTPUT_TOKENS_DEFAULT),
        abilities: Abilities { tools: envelope.tools, images: envelope.images, thinking: envelope.thinking },
        free: false,
    }
}

/// Whether a request generates nothing: agents ask such questions in bursts, and nobody limits them.
pub(crate) fn is_side_question(call: &Call) -> bool {
    needs(call).free
}
