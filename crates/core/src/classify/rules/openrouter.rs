//! OpenRouter.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::{AuthError, ContentFilter, ModelUnavailable, QuotaExhausted, RateLimit};

pub(super) const RULES: &[Rule] = &[
    rule("openrouter.affordable", QuotaExhausted)
        .decisive()
        .text(&["requires more credits, or fewer max_tokens", "never purchased credits"])
        .example("This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only afford 0."),
    rule("openrouter.key_limit", QuotaExhausted)
        .decisive()
        .text(&["key limit exceeded", "create a key with a higher (?:total|monthly|daily|weekly) limit"])
        .not(&["Rate limit key exceeded"])
        .example("Key limit exceeded (total limit). Manage it using https://openrouter.ai/settings/keys"),
    rule("openrouter.free_per_day", QuotaExhausted)
        .decisive()
        .text(&["free-models-per-day"])
        .example("Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day"),
    rule("openrouter.free_per_min", RateLimit)
        .text(&["free-models-per-min"])
        .example("Rate limit exceeded: free-models-per-min."),
    rule("openrouter.prompt_tokens", QuotaExhausted)
        .decisive()
        .text(&[r"prompt tokens limit exceeded: \d{1,9} > \d{1,9}\. to increase, visit"])
        .example("Prompt tokens limit exceeded: 230799 > 91442. To increase, visit https://openrouter.ai/settings/keys"),
    rule("openrouter.upstream_rate", RateLimit)
        .text(&["temporarily rate-limited upstream"])
        .example("z-ai/glm-5 is temporarily rate-limited upstream. Please retry shortly."),
    rule("openrouter.no_endpoints", ModelUnavailable)
        .decisive()
        .text(&["no endpoints (?:available|found)"])
        .example("No endpoints found that support tool use."),
    rule("openrouter.no_allowed_providers", ModelUnavailable)
        .decisive()
        .text(&["no allowed providers are available"])
        .example("No allowed providers are available for the selected model."),
    rule("openrouter.invalid_model", ModelUnavailable)
        .decisive()
        .text(&["is not a valid model id"])
        .example("foo/bar is not a valid model ID"),
    rule("openrouter.user_not_found", AuthError)
        .status(&[401])
        .text(&[r"\buser not found\b", "no auth credentials found"])
        .example(r#"{"error":{"message":"User not found.","code":401}}"#),
    rule("openrouter.moderation", ContentFilter)
        .decisive()
        .text(&["requires moderation", "your input was flagged"])
        .example(r#"{"error":{"code":403,"message":"anthropic/claude requires moderation. Your input was flagged for x"}}"#),
    rule("openrouter.cloudflare_rate", RateLimit)
        .text(&[r"error code: ?1015\b", "you are being rate limited"])
        .example("{'raw': 'error code: 1015', 'provider_name': 'x'}"),
];
