//! OpenAI: chat completions, responses, images; also ChatGPT behind Codex.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::{
    AuthError, ContentFilter, ContextLimit, InvalidRequest, ModelUnavailable, QuotaExhausted, RateLimit, ServerError,
    StateLost,
};

pub(super) const RULES: &[Rule] = &[
    rule("openai.request_too_large", ContextLimit)
        .decisive()
        .text(&[r"request too large for [\w.:/-]{1,80} in organization"])
        .example(r#"{"error":{"message":"Request too large for gpt-4o in organization org-1 on requests: Limit 1, Requested 2","type":"tokens"}}"#),
    rule("openai.organization_unverified", AuthError)
        .decisive()
        .text(&["organization must be verified to"])
        .example("Your organization must be verified to stream this model. Click on Verify Organization."),
    rule("openai.missing_credentials", AuthError)
        .decisive()
        .text(&[r"missing credentials\. please pass", "the openai_api_key environment variable is (?:missing|not set)"])
        .example("openai.OpenAIError: Missing credentials. Please pass an `api_key`"),
    rule("openai.engine_failed", ServerError)
        .text(&["server experienced an error while processing your request"])
        .example("The server experienced an error while processing your request. Sorry about that!"),
    rule("openai.bad_previous_response", StateLost)
        .decisive()
        .text(&[
            r"previous response with id ['`]?[\w-]{1,80}['`]? not found",
            r"\b(?:invalid|unknown|expired|unrecognized) ['\x22`]?previous[_ ]response[_ ]id\b",
            r"\bprevious response (?:is |was |has )?(?:unavailable|not available|gone|expired|missing|no longer)\b",
        ])
        .example("Previous response with id 'resp_1' not found."),
    rule("openai.no_such_thing", StateLost)
        .decisive()
        .text(&[
            r"no such (?:batch|file object|fine[- ]?tun\w{1,8}(?: job)?|thread|run|assistant|vector store|upload|container|response)\b",
        ])
        .example("No such batch: batch_abc123"),
    rule("openai.item_missing", StateLost)
        .decisive()
        .text(&[r"item with id ['`]?[\w-]{1,80}['`]? not found"])
        .not(&["Item 'rs_1' of type 'reasoning' was provided without its required following item."])
        .example("Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."),
    rule("openai.cyber_policy", ContentFilter)
        .decisive()
        .text(&[r"flagged for possible \w{3,30} risk", "your request was flagged"])
        .example("This content was flagged for possible cybersecurity risk."),
    rule("openai.rejected_by_safety", ContentFilter)
        .decisive()
        .text(&["as a result of our safety system"])
        .example("Your request was rejected as a result of our safety system."),
    rule("openai.unsupported_parameter", InvalidRequest)
        .decisive()
        .text(&["unsupported (?:parameter|value): ['`]"])
        .example("Unsupported parameter: 'max_tokens' is not supported with this model."),
    rule("openai.slow_down", RateLimit)
        .class()
        .text(&[r"\bramp up\b", "reduce your request rate"])
        .example("Slow Down: please reduce your request rate and ramp up"),
    rule("openai.current_quota", QuotaExhausted)
        .text(&["plan and billing details"])
        .example("Please check your plan and billing details."),
    rule("openai.usage_not_included", QuotaExhausted)
        .window()
        .text(&["hit your (?:chatgpt |codex |team |plus )?usage limit"])
        .example("You've hit your usage limit. Upgrade to Pro or try again later."),
    rule("openai.no_access_to_engine", ModelUnavailable)
        .decisive()
        .text(&["not allowed to sample from this model", "you must be a member of an organization to use"])
        .example("You are not allowed to sample from this model"),
];
