//! Too many requests or tokens in a short window.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::RateLimit;

pub(in crate::classify::rules) const RULES: &[Rule] = &[
    rule("rate.code", RateLimit)
        .class()
        .code(&[
            "RequestLimitError",
            "rate_limit_hit",
            "RateLimitReached",
            "request_rate_limited",
            "rate_limit_exceeded",
            "rate_limit_error",
            "rate_limit_reached",
            "rate_limit_exceeded_error",
            "rate_limited",
            "rate_limit",
            "ratelimited",
            "user_rate_limit_exceeded",
            "model_rate_limit_exceeded",
            "too_many_requests",
            "too_many_requests_error",
            "too_many_requests_exception",
            "TooManyRequestsException",
            "request_limit_exceeded",
            "throttled",
            "throttling",
            "throttling_error",
            "request_throttled",
            "engine_overloaded_rate_limit",
            "concurrency_limit_exceeded",
            "tokens_per_minute_exceeded",
            "slow_down",
            "RPM",
            "TPM",
        ])
        .example(r#"{"error":{"code":"rate_limit_reached"}}"#),
    rule("rate.limit", RateLimit)
        .class()
        .text(&[
            r"\breset(?:s)? hourly\b",
            r"\brequests? limit (?:has been |was |is )?(?:reached|exceeded)",
            r"\btraffic from your\b",
            r"\bunusual traffic\b",
            r"\bwould exceed (?:the|your) (?:\S{1,24} ){0,3}rate limit",
            r"\brate[- ]?limit(?:s|ed|ing)?\b(?: \S{1,30}){0,2} (?:exceeded|reached|hit|error|triggered|violated)",
            r"\b(?:exceed|exceeds|exceeded|exceeding|reached|hit|hitting|over|exhausted)\b~\brate[- ]?limit",
            r"\b(?:being |been |was |is |are |temporarily |got )rate[- ]?limited\b",
            r"\brate[- ]limited\b",
            r"\brate limit reached\b",
            r"\bratelimit\b~exceeded",
            r"\brequest rate (?:is |has been )?(?:too high|restricted|limited|increased too)",
        ])
        .example("Rate limit exceeded for this endpoint"),
    rule("rate.too_many_requests", RateLimit)
        .class()
        .text(&[
            r"\btoo many (?:api |concurrent |simultaneous |parallel |active |recent |inference |open |in-flight )?(?:requests|calls|connections|messages|attempts|generations|sessions)\b",
            r"\brequests? (?:are |is )?(?:being )?(?:too (?:fast|frequent|often|quickly)|sent too)",
            r"\b(?:calls|requests) too frequent",
            r"\bslow down\b",
            r"\b(?:request|requests|has been|been|being|was|is|are|api|getting) throttled\b",
            r"\bthrottl(?:ed|ing)(?: error|exception|:| by| due)",
        ])
        .example("Too many concurrent requests, please slow your client")
        .not(&["the retry counter stays below too many tests"]),
    rule("rate.per_minute", RateLimit)
        .text(&[
            r"\b(?:tokens|requests|images|queries|messages|input tokens|output tokens)[- _]per[- _](?:min|minute|second|sec|hour)\b",
            r"\b(?:rpm|tpm|rps|itpm|otpm)\)",
            r"\b(?:rpm|tpm|qps|rps) (?:limit|quota)",
            r"\bconcurren(?:cy|t)[- ](?:request |requests )?(?:limit|quota)\b~(?:exceed|reach|hit)",
            r"\b(?:exceed|reach|hit)(?:s|ed)?~\bconcurren(?:cy|t)[- ](?:request |requests )?(?:limit|quota)\b",
            r"\btoo many tokens\b~(?:wait|minute|processed|try again|per)",
            r"per[- _]?(?:minute|second)(?:per|_|-|\b)~(?:limit|quota|exceed)",
        ])
        .example("Limit of 20000 tokens per minute exceeded"),
];
