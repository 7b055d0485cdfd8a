//! Anthropic: messages, and Claude subscriptions.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::{
    AuthError, ContentFilter, ContextLimit, InvalidRequest, QuotaExhausted, RateLimit, StateLost,
};

pub(super) const RULES: &[Rule] = &[
    rule("anthropic.usage_limit", QuotaExhausted)
        .window()
        .text(&[
            "claude (?:ai |code )?(?:usage|pro|max) ?(?:usage )?limit reached",
            r"\b(?:opus|sonnet|session|weekly|5-hour) limit reached",
        ])
        .example("Claude AI usage limit reached|1749924000"),
    rule("anthropic.credit_balance", QuotaExhausted)
        .decisive()
        .text(&["credit balance (?:is )?too low"])
        .example("Credit balance too low · Add funds: https://console.anthropic.com"),
    rule("anthropic.api_usage_limits", QuotaExhausted)
        .decisive()
        .text(&["reached your specified api usage limits"])
        .example("You have reached your specified API usage limits. You will regain access on 2026-01-01."),
    rule("anthropic.out_of_extra_usage", QuotaExhausted)
        .window()
        .text(&["out of extra usage"])
        .example("You're out of extra usage · resets 3am"),
    rule("anthropic.long_context_beta", QuotaExhausted)
        .decisive()
        .text(&["extra usage is required"])
        .example("Extra usage is required for long context requests."),
    rule("anthropic.acceleration", RateLimit)
        .class()
        .text(&["maximum usage increase rate", "would exceed your (?:account|organization)'s rate limit"])
        .example("This request would exceed your organization's rate limit"),
    rule("anthropic.input_and_output", ContextLimit)
        .decisive()
        .text(&[r"input length and [`\x27]?max_tokens[`\x27]? exceed context limit"])
        .example("input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000"),
    rule("anthropic.oauth_unsupported", AuthError)
        .decisive()
        .text(&[
            "oauth authentication is (?:currently )?not (?:supported|allowed)",
            "oauth token has (?:expired|been revoked)",
        ])
        .example("OAuth authentication is currently not supported."),
    rule("anthropic.web_session", AuthError)
        .text(&["authentication is not sufficient"])
        .example("API key authentication is not sufficient. Please run /login to authenticate"),
    rule("anthropic.key_scope", AuthError)
        .decisive()
        .text(&["api key does not have permission", "only authorized for use with claude code"])
        .example("Your API key does not have permission to use the Message Batches API"),
    rule("anthropic.thinking_history", InvalidRequest)
        .decisive()
        .text(&[r"redacted_thinking\S{0,3} blocks", r"expected [`\x27]?thinking[`\x27]? or"])
        .example("messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified"),
    rule("anthropic.tool_use_ids", InvalidRequest)
        .decisive()
        .text(&[
            r"tool_use\S{0,2} ids were found without",
            r"unexpected [`\x27]?tool_use_id",
            r"tool_use\S{0,2} ids must be unique",
        ])
        .example("messages.22: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1"),
    rule("anthropic.refused", ContentFilter)
        .decisive()
        .text(&["unable to respond to this request, which appears to violate"])
        .example("API Error: Claude Code is unable to respond to this request, which appears to violate our Usage Policy"),
    rule("anthropic.request_size", InvalidRequest)
        .decisive()
        .text(&["maximum allowed number of bytes"])
        .example("request_too_large: Request exceeds the maximum allowed number of bytes"),
    rule("anthropic.files", StateLost)
        .decisive()
        .text(&[r"file not found: file_\w"])
        .example("File not found: file_011CNha8"),
    rule("anthropic.long_requests", InvalidRequest)
        .decisive()
        .text(&["streaming is (?:strongly recommended|required) for operations"])
        .example("Streaming is required for operations that may take longer than 10 minutes"),
];
