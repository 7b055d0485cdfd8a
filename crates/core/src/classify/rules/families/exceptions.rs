//! Names of exceptions, whoever throws them: `MongoNetworkError` is one of the network.
//!
//! A word begins at every capital, so these find the telling part inside a longer name.

use crate::classify::rule::{Rule, connection, rule};
use crate::evidence::Surface;
use crate::kind::FailureKind::{
    AuthError, BadOutput, Cancelled, ContentFilter, ContextLimit, InvalidRequest, ModelUnavailable, NetworkTransient,
    Overloaded, ProcessDied, QuotaExhausted, RateLimit, ServerError, StateLost, StreamInterrupted, Timeout,
};

pub(in crate::classify::rules) const RULES: &[Rule] = &[
    rule("exception.safety", ContentFilter)
        .hint()
        .text(&[
            "(?:content|safety|moderation|guardrail)(?:filter|policy|violation|blocked|moderation|check|tripwire){1,2}(?:ed)?(?:error|exception|violation|triggered)",
        ])
        .example("acme.AcmeSafetyCheckError"),
    rule("exception.quota", QuotaExhausted)
        .hint()
        .window()
        .text(&[
            "(?:quota|credits?|balance|budget|billing|payment|funds|usagelimit|spendlimit)(?:exceeded|exhausted|required|depleted|limit|reached|failed){0,2}(?:error|exception)",
            "insufficient(?:funds|credits?|balance|quota)",
        ])
        .example("acme.AcmeBudgetExhaustedException"),
    rule("exception.context", ContextLimit)
        .hint()
        .text(&[
            "(?:context|tokens?|prompt|input)(?:length|window|limit|size|count)?(?:exceeded|toolong|toolarge|overflow)(?:error|exception)?",
        ])
        .example("acme.AcmePromptTooLargeError"),
    rule("exception.model", ModelUnavailable)
        .hint()
        .text(&["(?:model|deployment)(?:notfound|unavailable|notavailable|deprecated|notsupported|retired|missing)"])
        .example("acme.AcmeModelRetiredError"),
    rule("exception.state", StateLost)
        .hint()
        .text(&[
            "(?:session|thread|conversation|run|sandbox|container|checkpoint|cursor|lease|batch|workspace)(?:notfound|expired|lost|gone|invalid|closed|missing)(?:error|exception)?",
        ])
        .example("acme.AcmeWorkspaceMissingError"),
    rule("exception.overloaded", Overloaded)
        .hint()
        .text(&["(?:overload(?:ed)?|busy|capacity|queuefull|backpressure)(?:exceeded)?(?:error|exception)"])
        .example("acme.AcmeBusyException"),
    rule("exception.rate", RateLimit)
        .hint()
        .text(&[
            "(?:rate_?limit(?:ed|s)?|throttl(?:ing|ed|e)|too_?many_?requests|concurrencylimit)(?:exceeded|reached)?(?:error|exception)",
        ])
        .not(&["x-ratelimit-limit-requests: 1000"])
        .example("acme.AcmeThrottleError"),
    rule("exception.auth", AuthError)
        .hint()
        .text(&[
            "(?:auth|authentication|authorization|credentials?|accessdenied|permissiondenied|unauthori[sz]ed|forbidden|login|apikey|token(?:expired|invalid|refresh))(?:required|failed|missing|expired|invalid)?(?:error|exception|failure)",
        ])
        .example("acme.AcmeLoginRequiredError"),
    rule("exception.output", BadOutput)
        .hint()
        .text(&[
            "(?:parse|parser|parsing|decode|decoding|json|yaml|xml|toml|schema|deserialization|structuredoutput|toolcall|emptyresponse|unmarshal)(?:validation|parse|decode|syntax|type|reader)?(?:error|exception|failure)",
        ])
        .example("acme.AcmeToolCallError"),
    rule("exception.request", InvalidRequest)
        .hint()
        .text(&[
            "(?:badrequest|invalid(?:request|argument|parameter|input|value|option)s?|unsupported(?:params?|parameter|feature|operation|value|type)s?|methodnotallowed|unprocessable(?:entity|content)?|payloadtoolarge)(?:error|exception)",
        ])
        .example("acme.AcmeInvalidOptionError"),
    connection("exception.timeout", Timeout)
        .hint()
        .text(&[
            r"(?:task|job|step|read|connect|write|pool|request|query|command|worker|lock|sensor|operation|response|gateway|lease|activity|workflow)timeout\b",
            "(?:timeout|timedout|deadlineexceeded|timelimit(?:exceeded)?)(?:error|exception|expired|failure)"])
        .not(&["timeout = 30", "the timeout is 30 s"])
        .example("acme.AcmeTimeLimitError"),
    rule("exception.stream", StreamInterrupted)
        .hint()
        .on(Surface::Network, NetworkTransient)
        .text(&["(?:stream|chunk|eof|incomplete|premature|endofstream)(?:closed|ended|reset|interrupted|read|body|response|end|close)?(?:error|exception)"])
        .example("acme.AcmeChunkReadError"),
    connection("exception.network", NetworkTransient)
        .hint()
        .text(&[
            "(?:network|connection|connect|socket|transport|disconnect(?:ed)?|connectivity|unreachable)(?:closed|lost|refused|reset|aborted|failed|timeout)?(?:error|exception|failure)",
        ])
        .example("acme.AcmeUnreachableError"),
    rule("exception.cancelled", Cancelled)
        .hint()
        .text(&["(?:cancel(?:led|ed|lation)?|user_?abort(?:ed)?|interrupt(?:ed)?)(?:error|exception)"])
        .example("acme.AcmeCancelException"),
    rule("exception.process", ProcessDied)
        .hint()
        .text(&["(?:process|subprocess|worker|exit|spawn|crash|oom|outofmemory|child)(?:died|exited|crashed|lost|killed|failed|terminated)?(?:error|exception)"])
        .example("acme.AcmeSpawnError"),
    rule("exception.server", ServerError)
        .hint()
        .text(&["(?:server|internal|backend|upstream|gateway|serviceunavailable|service|inference)(?:side)?(?:error|exception|failure)"])
        .example("acme.AcmeInferenceFailure"),
];
