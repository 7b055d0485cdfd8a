//! What nobody has said in these words before: a thing, and what became of it, in either order and
//! in one sentence. Asked only where nothing else is known at all.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::{
    AuthError, BadOutput, Cancelled, ContentFilter, ContextLimit, InvalidRequest, ModelUnavailable, NetworkTransient,
    Overloaded, ProcessDied, QuotaExhausted, RateLimit, ServerError, StateLost, StreamInterrupted, Timeout,
};

/// A thing and its fate, and the fate before the thing.
macro_rules! said {
    ($thing:literal, $fate:literal) => {
        &[
            concat!(r"\b(?:", $thing, r")\b~\b(?:", $fate, r")\b"),
            concat!(r"\b(?:", $fate, r")\b~\b(?:", $thing, r")\b"),
        ]
    };
}

pub(in crate::classify::rules) const RULES: &[Rule] = &[
    rule("guess.safety", ContentFilter)
        .guess()
        .text(said!(
            r"content rules|guidelines|moderation|safety|guardrails?|polic(?:y|ies)|terms of (?:use|service)|censor\w{0,4}|harmful|unsafe|inappropriate|violence|violent|hate|sexual|nsfw|toxic\w{0,3}",
            r"breaks?|broke|violat\w{1,4}|blocked|flagged|refus\w{1,3}|rejected|goes against|against|denied|stopped|filtered|declined|not allowed|withheld|removed"
        ))
        .example("We will not draw this: it breaks our content rules"),
    rule("guess.quota", QuotaExhausted)
        .guess()
        .window()
        .text(said!(
            r"quota|credits?|balance|funds|wallet|allowance|allotment|subscription|billing|invoice|(?:free|paid|trial|pro|plus|premium|basic|starter)(?: plan| tier)(?:'s)?|today|(?:this|per|the) (?:day|week|month)|monthly|weekly|daily",
            r"exceed(?:s|ed)|exhausted|used up|ran out|run out|out of|depleted|insufficient|not enough|spent|none left|no (?:\S{1,14} ){0,2}left|cap|limit|reached|top up|recharge|empty|expired|overdue|unpaid|upgrade|buy|purchase"
        ))
        .example("You have no messages left today"),
    rule("guess.context", ContextLimit)
        .guess()
        .text(said!(
            r"tokens?|context|prompt|conversation|chat history|messages?|transcript|window",
            r"too (?:long|large|big|many)|exceed(?:s|ed)|above|overflow\w{0,4}|does not fit|do not fit|shorten|longer than|larger than|more than"
        ))
        .example("300000 tokens is above what this one can read"),
    rule("guess.model", ModelUnavailable)
        .guess()
        .text(said!(
            r"models?|deployment|(?:gpt|claude|gemini|gemma|llama|mistral|qwen|deepseek|grok|glm|kimi|o[134])-[\w.:-]{1,40}",
            r"not (?:available|found|supported|allowed|enabled|accessible|known|valid|offered|installed|listed)|unavailable|denied|unknown|deprecated|retired|removed|disabled|does not exist|do not have access|no access|no longer|cannot be used|unrecogni[sz]ed|ended|sunset|unsupported|not (?:downloaded|loaded|ready)"
        ))
        .example("Removed from the list: the deployment you want"),
    rule("guess.state", StateLost)
        .guess()
        .text(&[
            r"\b(?:session|thread|conversation|chat|batch(?:_\w{1,40})?|container|sandbox|checkpoint|worktree|workspace|window|pane|tab|assistant|upload|snapshot|transcript|job|project|link)\b~\b(?:no longer|not found|gone|expired|removed|deleted|lost|missing|unknown|evicted|destroyed|terminated|reset|does not exist|invalidated|vanished|disappeared|could not be (?:found|loaded|restored|opened))\b",
            // Whoever says "deleted the sandbox" did so.
            r"\b(?:no longer|not found|lost|missing|unknown|could not (?:find|load|restore|open))\b~\b(?:session|thread|conversation|chat|container|sandbox|checkpoint|worktree|workspace|snapshot|transcript)\b",
        ])
        .not(&["Deleted sandbox sbx-1234 after task completion"])
        .example("The worktree has vanished"),
    rule("guess.overloaded", Overloaded)
        .guess()
        .text(said!(
            r"capacity|load|queue|workers?|gpus?|slots?|replicas?|traffic|demand|resources",
            r"full|busy|exceed(?:s|ed)|exhausted|insufficient|not enough|no free|could not find free|high|heavy|unavailable|occupied|saturated|not available|at the moment|right now|too many|backed up|congested"
        ))
        .not(&["Loaded 3 workers"])
        .example("Demand is high, come back"),
    rule("guess.rate", RateLimit)
        .guess()
        .text(said!(
            r"requests?|calls?|tpm|rpm|qps|frequency|throughput|concurrency|rate|attempts|burst",
            r"exceed(?:s|ed)|over (?:the |your )?limit|too (?:high|many|fast|frequent|often)|limit (?:reached|hit)|limited|throttl\w{1,4}|slow down|next minute|cooldown|cool down|refill\w{0,3}"
        ))
        .not(&["token bucket refilled"])
        .example("TPM exceeded"),
    rule("guess.auth", AuthError)
        .guess()
        .text(said!(
            r"api[- ]?keys?|keys?|tokens?|credentials?|login|log ?in|sign ?in|password|signature|permissions?|access|auth|authentication|authorization|oauth|sso|organi[sz]ation|cookie|licen[sc]e",
            r"invalid|wrong|denied|expired|missing|required|rejected|refused|not (?:valid|match|allowed|set|accepted|granted|configured|a member)|did not match|for another|revoked|failed|forbidden|blocked|disabled|needed|incorrect|mismatch|pending|not approved?"
        ))
        .not(&["Refreshing OAuth token (expires in 42s)"])
        .example("The key you gave is for another environment"),
    rule("guess.output", BadOutput)
        .guess()
        .text(said!(
            r"json|reply|answer|output|tool calls?|diff|patch|hunk|completion|llm|assistant(?:'s)?|generated",
            r"empty|unparse?able|malformed|unbalanced|could not be (?:understood|parsed|read|applied|used)|does not (?:match|apply|parse)|did not (?:match|apply|parse)|failed to apply|garbage|garbled|truncated|incomplete|unusable|nonsense|missing|invalid|repeat\w{1,4} itself"
        ))
        .example("Unbalanced braces in the tool call"),
    rule("guess.request", InvalidRequest)
        .guess()
        .text(said!(
            r"parameters?|fields?|arguments?|options?|flags?|values?|schema|sequences?|tool_choice|request|body|headers?|role|config\w{0,8}|settings?|format|syntax|payload|query|propert(?:y|ies)",
            r"invalid|unsupported|malformed|unknown|not (?:supported|allowed|valid|available|permitted|recogni[sz]ed|accepted)|may not|cannot be|wrong|illegal|unexpected|too (?:few|small|short)|incompatible|conflict\w{0,4}"
        ))
        .example("request malformed"),
    rule("guess.timeout", Timeout)
        .guess()
        .text(said!(
            r"ran|took|lasted|waited|stuck|hung|hanging|no (?:answer|response|reply|progress|output)|gave up|killed|stopped|aborted|waiting|deadline|timer",
            r"(?:longer than|more than|after|for|over|within) \d{1,6} ?(?:ms|s|secs?|seconds?|m|mins?|minutes?|h|hours?)|too long|passed|ran out|elapsed|exceeded"
        ))
        .example("It lasted longer than 5 minutes"),
    rule("guess.stream", StreamInterrupted)
        .guess()
        .text(said!(
            r"stream|streaming|sse|chunks?|response|answer|generation",
            r"interrupted|cut|broken off|stopped (?:early|midway|mid\w{0,8})|dropped|disconnected|lost|ended (?:early|abruptly|prematurely|unexpectedly)"
        ))
        .example("Chunks got lost on their way"),
    rule("guess.network", NetworkTransient)
        .guess()
        .text(said!(
            r"connection|network|socket|websocket|internet|proxy|dns|wifi|vpn",
            r"lost|refused|reset|closed|dropped|failed|unreachable|down|errors?|offline|unstable|broken|interrupted|could not|unable|disconnected"
        ))
        .example("The internet is down"),
    rule("guess.cancelled", Cancelled)
        .guess()
        .text(said!(
            r"user|caller|operator",
            r"cancel\w{0,6}|abort\w{0,3}|stopp\w{2,3}|interrupt\w{0,3}|reject\w{0,3}|declin\w{1,3}|dismiss\w{0,3}"
        ))
        .example("Declined, says the operator"),
    rule("guess.process", ProcessDied)
        .guess()
        .text(said!(
            r"process|worker|container|agent|subprocess|daemon|pod|kernel|runner|program|plugin|extension|cli|server|service|sandbox|engine|app|application|browser",
            r"died|crash\w{0,3}|killed|exited|dead|could not (?:be )?start\w{0,3}|failed to (?:start|launch|run|boot|load)|not running|segfault\w{0,3}|unresponsive"
        ))
        .example("The plugin is dead"),
    rule("guess.server", ServerError)
        .guess()
        .text(said!(
            r"server|service|api|provider|upstream|backend|gateway",
            r"failed|failure|crashed|down|not available|exception|problems?|trouble|broken|unhealthy|malfunction\w{0,3}"
        ))
        .not(&["Perhaps the gateway is in trouble"])
        .example("The gateway is in trouble"),
];
