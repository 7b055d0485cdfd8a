//! Error codes of Baidu, iFlytek, Tencent, SiliconFlow and the gateways of the one-api kind.
//!
//! Sources: cloud.tencent.com/document/api/1729/101847, the error pages of Qianfan and Spark, and
//! `types/error.go` of new-api. Seen 2026-11.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::{
    AuthError, BadOutput, ContentFilter, ContextLimit, InvalidRequest, ModelUnavailable, NetworkTransient, Overloaded,
    QuotaExhausted, RateLimit, ServerError, Timeout,
};

pub(super) const RULES: &[Rule] = &[
    rule("baidu.codes_rate", RateLimit)
        .code(&["336501", "336502", "336503", "336504", "336505", "rpm_rate_limit_exceeded", "tpm_rate_limit_exceeded"])
        .text(&[r"error_?code\S{0,3} ?(?:18|4)\b", r"\bqps (?:request )?limit\b", r"\bover qps\b"])
        .not(&[r#"{"error_code":17,"error_msg":"Open api daily request limit reached"}"#])
        .example(r#"{"error_code":336502,"error_msg":"x"}"#),
    rule("baidu.codes_quota", QuotaExhausted)
        .decisive()
        .text(&[r"error_?code\S{0,3} ?(?:17|19)\b", r"\bopen api (?:daily|total|monthly)\b~\blimit\b"])
        .example(r#"{"error_code":19,"error_msg":"Open api total request limit reached"}"#),
    rule("baidu.codes_busy", Overloaded)
        .code(&["336100"])
        .text(&[r"error_?code\S{0,3} ?2\b"])
        .example(r#"{"error_code":336100,"error_msg":"x"}"#),
    rule("baidu.codes_auth", AuthError)
        .class()
        .code(&["no_parameter_permission", "336101", "216100"])
        .text(&[r"error_?code\S{0,3} ?(?:6|13|14|15|110|111)\b"])
        .example(r#"{"error_code":111,"error_msg":"x"}"#),
    rule("baidu.codes_request", InvalidRequest)
        .class()
        .code(&[
            "336001",
            "336002",
            "336003",
            "336004",
            "336005",
            "336006",
            "336105",
            "336106",
            "336117",
            "malformed_json",
        ])
        .text(&[r"error_?code\S{0,3} ?(?:3|100)\b", r"\bcode\S{0,3} ?3362\d\d\b"])
        .example(r#"{"error_code":336003,"error_msg":"x"}"#),
    rule("baidu.codes_context", ContextLimit)
        .decisive()
        .code(&["336103", "336007", "characters_too_long", "tokens_too_long"])
        .text(&[r"\bthe max input (?:characters|tokens) (?:is|are)\b"])
        .example(r#"{"error":{"code":"characters_too_long","message":"x"}}"#),
    rule("iflytek.codes_rate", RateLimit)
        .code(&["10007", "11202", "11203", "AppIdQpsOverFlowError"])
        .text(&[r"\blicc limit: (?:over|qps|second|conc)"])
        .example(r#"{"header":{"code":11202,"message":"x"}}"#),
    rule("iflytek.codes_quota", QuotaExhausted)
        .decisive()
        .code(&["11201"])
        .text(&[r"\blicc (?:limit: daily|failed|fail)\b", r"\bdaily flow\b"])
        .example(r#"{"header":{"code":11201,"message":"x"}}"#),
    rule("iflytek.codes_busy", Overloaded)
        .code(&["10008", "10010", "10110"])
        .example(r#"{"header":{"code":10008,"message":"x"}}"#),
    rule("iflytek.codes_auth", AuthError)
        .code(&["10313", "10005", "11200", "10314", "10315", "10316", "AppIdNoAuthError"])
        .text(&[r"\bapp_?id (?:mismatch|no auth|is (?:invalid|empty)|not (?:found|exist))", r"\bhmac signature\b"])
        .example(r#"{"header":{"code":10313,"message":"x"}}"#),
    rule("iflytek.codes_safety", ContentFilter)
        .decisive()
        .code(&["10013", "10014", "10019"])
        .example(r#"{"header":{"code":10013,"message":"x"}}"#),
    rule("iflytek.codes_context", ContextLimit)
        .decisive()
        .code(&["10907"])
        .example(r#"{"header":{"code":10907,"message":"x"}}"#),
    rule("tencent.codes_quota", QuotaExhausted)
        .decisive()
        .code(&[
            "FreeResourcePackExhausted",
            "ResourcePackExhausted",
            "ServiceStopArrears",
            "SetPayModeExceed",
            "BalanceInsufficient",
            "ResourcePackageExhausted",
        ])
        .example(r#"{"Error":{"Code":"FailedOperation.FreeResourcePackExhausted","Message":"x"}}"#),
    rule("tencent.codes_rate", RateLimit)
        .code(&[
            "UinLimitExceeded",
            "IPLimitExceeded",
            "GlobalRegionUinLimitExceeded",
            "EngineServerLimitExceeded",
            "JobNumExceed",
        ])
        .example(r#"{"Error":{"Code":"FailedOperation.EngineServerLimitExceeded","Message":"x"}}"#),
    rule("tencent.codes_auth", AuthError)
        .class()
        .code(&[
            "InvalidSecretId",
            "MFAFailure",
            "SecretIdNotFound",
            "SignatureExpire",
            "SignatureFailure",
            "TokenFailure",
            "UnauthorizedOperation",
            "IpInBlacklist",
            "IpNotInWhitelist",
            "UserUnAuthError",
            "ServiceNotActivated",
        ])
        .example(r#"{"Error":{"Code":"AuthFailure.SignatureFailure","Message":"x"}}"#),
    rule("tencent.codes_safety", ContentFilter)
        .decisive()
        .code(&["TextIllegalDetected", "ImageIllegalDetected", "TextModerationFailed", "IllegalContent"])
        .example(r#"{"Error":{"Code":"OperationDenied.TextIllegalDetected","Message":"x"}}"#),
    rule("tencent.codes_server", ServerError)
        .class()
        .code(&["EngineServerError", "ServiceStop", "ResourceUnavailable"])
        .example(r#"{"Error":{"Code":"FailedOperation.EngineServerError","Message":"x"}}"#),
    rule("tencent.codes_timeout", Timeout)
        .code(&["EngineRequestTimeout", "RequestTimeOut"])
        .example(r#"{"Error":{"Code":"FailedOperation.EngineRequestTimeout","Message":"x"}}"#),
    rule("tencent.codes_request", InvalidRequest)
        .class()
        .code(&["InvalidAction", "NoSuchVersion", "NoSuchProduct", "RequestSizeLimitExceeded", "UnsupportedProtocol"])
        .example(r#"{"Error":{"Code":"NoSuchVersion","Message":"x"}}"#),
    rule("siliconflow.codes_quota", QuotaExhausted)
        .decisive()
        .code(&["30001", "30011"])
        .example(r#"{"code":30001,"message":"x"}"#),
    rule("siliconflow.codes_model", ModelUnavailable)
        .decisive()
        .code(&["20012", "30003"])
        .example(r#"{"code":20012,"message":"x"}"#),
    rule("siliconflow.codes_busy", Overloaded)
        .code(&["50505", "50603", "50609"])
        .example(r#"{"code":50505,"message":"x"}"#),
    rule("newapi.codes_quota", QuotaExhausted)
        .decisive()
        .code(&[
            "pre_consume_token_quota_failed",
            "err_insufficient_balance",
            "asset_quantity_not_enough",
            "ai_free_limit",
        ])
        .example(r#"{"error":{"code":"pre_consume_token_quota_failed"}}"#),
    rule("newapi.codes_safety", ContentFilter)
        .decisive()
        .code(&["sensitive_words_detected", "prompt_blocked", "err_safety_breach", "violation_fee_grok_csam"])
        .example(r#"{"error":{"code":"sensitive_words_detected"}}"#),
    rule("newapi.codes_model", ModelUnavailable)
        .code(&["no_available_key", "model_mapped_error", "model_price_error"])
        .example(r#"{"error":{"code":"channel:no_available_key"}}"#),
    rule("newapi.codes_timeout", Timeout)
        .code(&["response_time_exceeded"])
        .example(r#"{"error":{"code":"channel:response_time_exceeded"}}"#),
    rule("newapi.codes_context", ContextLimit)
        .decisive()
        .code(&["err_prompt_exceeded", "err_token_exceeded"])
        .example(r#"{"error":{"error_type":"err_token_exceeded"}}"#),
    rule("newapi.codes_rate", RateLimit)
        .code(&["err_rate_limited", "api_rate_limit"])
        .example(r#"{"error":{"error_type":"err_rate_limited"}}"#),
    rule("newapi.codes_auth", AuthError)
        .code(&["err_auth_failed"])
        .example(r#"{"error":{"error_type":"err_auth_failed"}}"#),
    rule("newapi.codes_request", InvalidRequest)
        .class()
        .code(&[
            "bad_request_body",
            "read_request_body_failed",
            "convert_request_failed",
            "invalid_api_type",
            "err_invalid_params",
        ])
        .example(r#"{"error":{"code":"convert_request_failed"}}"#),
    rule("newapi.codes_output", BadOutput)
        .code(&["bad_response_body", "read_response_body_failed"])
        .example(r#"{"error":{"code":"bad_response_body"}}"#),
    rule("newapi.codes_upstream", NetworkTransient)
        .hint()
        .code(&["do_request_failed"])
        .example(r#"{"error":{"code":"do_request_failed"}}"#),
];
