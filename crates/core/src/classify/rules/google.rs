//! Google: Gemini API, Vertex AI and Code Assist, with the reasons of google.rpc.ErrorInfo.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::{
    AuthError, ContentFilter, ContextLimit, ModelUnavailable, Overloaded, QuotaExhausted, RateLimit, StateLost,
    StreamInterrupted, Timeout,
};

pub(super) const RULES: &[Rule] = &[
    rule("google.reason_capacity", Overloaded)
        .decisive()
        .code(&["MODEL_CAPACITY_EXHAUSTED", "RESOURCE_POOL_EXHAUSTED"])
        .example(r#"{"error":{"code":429,"details":[{"reason":"MODEL_CAPACITY_EXHAUSTED"}]}}"#),
    rule("google.reason_quota", QuotaExhausted)
        .window()
        .code(&["QUOTA_EXHAUSTED", "dailyLimitExceeded", "DAILY_LIMIT_EXCEEDED", "limitExceeded"])
        .example(r#"{"error":{"code":429,"details":[{"reason":"QUOTA_EXHAUSTED"}]}}"#),
    rule("google.reason_money", QuotaExhausted)
        .decisive()
        .code(&["INSUFFICIENT_G1_CREDITS_BALANCE", "BILLING_DISABLED", "ACCOUNT_DELINQUENT", "billingNotEnabled"])
        .example(r#"{"error":{"code":429,"details":[{"reason":"INSUFFICIENT_G1_CREDITS_BALANCE"}]}}"#),
    rule("google.reason_rate", RateLimit)
        .class()
        .code(&["RESOURCE_EXHAUSTED", "userRateLimitExceeded", "quotaExceeded", "concurrentLimitExceeded"])
        .example(r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}"#),
    rule("google.quota_per_day", QuotaExhausted)
        .decisive()
        .text(&[
            r"and limit \S{0,2}[\w .-]{0,60}per (?:day|month)",
            r"quota exceeded for (?:quota )?metric:? ?\S{0,4}[\w ./-]{0,80}per (?:day|month)",
            r"quota_limit\S{0,4} ?\S{0,60}per(?:day|month)",
            r"quotaid\S{0,4} ?\S{0,60}per(?:day|month)",
        ])
        .example("Quota exceeded for quota metric 'Gemini 2.5 Pro Requests' and limit 'Requests per day per user'"),
    rule("google.quota_metric", RateLimit)
        .decisive()
        .text(&[
            r"quota exceeded for (?:quota )?metric:? ?\S{0,4}[\w./ -]{0,100}",
            "generate_content_free_tier",
            r"resource has been exhausted \(e\.g\. check quota\)",
            r"resource exhausted\. please try again later",
        ])
        .not(&["Quota exceeded for quota metric 'Requests' and limit 'Requests per day per user'"])
        .example("Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 2"),
    rule("google.quota_per_minute", RateLimit)
        .decisive()
        .text(&[
            r"quota exceeded for \S{1,80}online_prediction_\S{1,60}per_base_model",
r"quota exceeded for \S{1,140}per_(?:minute|second)"])
        .example("Quota exceeded for aiplatform.googleapis.com/online_prediction_requests_per_minute_per_base_model"),
    rule("google.capacity_message", RateLimit)
        .decisive()
        .text(&["exhausted your capacity on this model"])
        .example("You have exhausted your capacity on this model. Your quota will reset after 0s."),
    rule("google.no_capacity", Overloaded)
        .decisive()
        .text(&["no capacity available for model"])
        .example("No capacity available for model gemini-3-pro on the server"),
    rule("google.location", AuthError)
        .decisive()
        .text(&["user location is not supported"])
        .example("User location is not supported for the API use."),
    rule("google.key_reasons", AuthError)
        .code(&[
            "API_KEY_INVALID",
            "API_KEY_SERVICE_BLOCKED",
            "API_KEY_HTTP_REFERRER_BLOCKED",
            "API_KEY_IP_ADDRESS_BLOCKED",
            "ACCESS_TOKEN_EXPIRED",
            "ACCESS_TOKEN_SCOPE_INSUFFICIENT",
            "ACCESS_TOKEN_TYPE_UNSUPPORTED",
            "CREDENTIALS_MISSING",
            "SERVICE_DISABLED",
            "CONSUMER_INVALID",
            "CONSUMER_SUSPENDED",
            "IAM_PERMISSION_DENIED",
            "USER_PROJECT_DENIED",
            "SECURITY_POLICY_VIOLATED",
            "ACCOUNT_STATE_INVALID",
            "accessNotConfigured",
            "authError",
            "RefreshError",
            "DefaultCredentialsError",
        ])
        .example(r#"{"error":{"status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}"#),
    rule("google.service_disabled", AuthError)
        .decisive()
        .text(&[
            "has not been used in project",
            "reported as leaked",
            "default credentials were not found",
            "requests to this api~are blocked",
        ])
        .example("Generative Language API has not been used in project 1 before or it is disabled."),
    rule("google.grpc_permission", AuthError)
        .class()
        .code(&["PERMISSION_DENIED", "UNAUTHENTICATED"])
        .example(r#"{"error":{"status":"PERMISSION_DENIED","message":"The caller cannot"}}"#),
    rule("google.model_missing", ModelUnavailable)
        .decisive()
        .text(&[
            "is not found for api version",
            r"publisher model \S{1,200} (?:was )?not found",
            r"\bcall listmodels\b",
        ])
        .example("models/gemini-1.5-pro is not found for API version v1beta, or is not supported for generateContent."),
    rule("google.blocked_prompt", ContentFilter)
        .decisive()
        .text(&[
            r"blockreason\x22: ?\x22(?:safety|other|blocklist|prohibited_content|image_safety|model_armor|jailbreak)\x22",
            "candidate was blocked due to",
            r"check the .?response\.prompt_feedback",
        ])
        .not(&[r#"{"blockReason":"BLOCK_REASON_UNSPECIFIED""#])
        .example(r#"{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}"#),
    rule("google.finish_reason", ContentFilter)
        .decisive()
        .text(&[
            r"finish_?reason\x22?: ?\x22?(?:finishreason\.)?(?:safety|recitation|blocklist|prohibited_content|spii|image_safety|language)\b",
        ])
        .example(r#"{"candidates":[{"finishReason":"SAFETY"}]}"#),
    rule("google.token_count", ContextLimit)
        .decisive()
        .text(&["input token count~exceeds the maximum"])
        .example("The input token count (1200000) exceeds the maximum number of tokens allowed (1048575)."),
    rule("google.cached_content", StateLost)
        .decisive()
        .text(&["cachedcontent not found"])
        .example("CachedContent not found (or permission denied)"),
    rule("google.grpc_deadline", Timeout)
        .text(&["deadline expired before operation could complete", r"deadline_exceeded\x22"])
        .example(r#"{"error":{"code":504,"status":"DEADLINE_EXCEEDED"}}"#),
    rule("google.unavailable", Overloaded)
        .text(&["spikes in demand", r"model is overloaded\. please try again later"])
        .example("The service is currently unavailable due to high demand. Spikes in demand are usually temporary."),
    rule("google.account_step", AuthError)
        .decisive()
        .code(&["VALIDATION_REQUIRED", "TOS_VIOLATION", "RESTRICTED_AGE", "UNSUPPORTED_LOCATION", "INELIGIBLE_ACCOUNT"])
        .example("Please verify your account to continue using Gemini Code Assist. VALIDATION_REQUIRED"),
    rule("google.json_segment", StreamInterrupted)
        .decisive()
        .text(&["incomplete json segment"])
        .example("Error: Incomplete JSON segment at the end"),
];
