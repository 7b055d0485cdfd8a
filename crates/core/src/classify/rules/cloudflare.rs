//! Cloudflare pages and bot walls of other networks.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::{AuthError, NetworkPermanent, Overloaded, QuotaExhausted, ServerError, Timeout};

pub(super) const RULES: &[Rule] = &[
    rule("cloudflare.bot_wall", AuthError)
        .decisive()
        .text(&[
            r"just a moment\.\.\.",
            "enable javascript and cookies to continue",
            r"attention required! \| cloudflare",
            "sorry, you have been blocked",
            "let them know you were blocked",
            "checking your browser",
            "verify(?:ing)? (?:that )?you are (?:a )?human",
            "cf-mitigated: challenge",
            "security check to access",
            r"\bcaptcha\b",
            "pardon our interruption",
            r"request unsuccessful\. incapsula",
            r"access denied \| \S{1,60} used cloudflare",
        ])
        .example("<!DOCTYPE html><html><title>Just a moment...</title><body>Enable JavaScript and cookies to continue</body></html>"),
    rule("cloudflare.blocked_codes", AuthError)
        .decisive()
        .text(&[r"error code: ?(?:1006|1007|1008|1009|1010|1012|1020|1106)\b"])
        .example("error code: 1020"),
    rule("cloudflare.origin_timeout", Timeout)
        .text(&[r"error code:? ?(?:522|524)\b", "a timeout occurred"])
        .example("A timeout occurred Error code 524"),
    rule("cloudflare.origin_down", ServerError)
        .class()
        .text(&[
            "web server is (?:down|returning an unknown error)",
            r"error code:? ?(?:520|521|523)\b",
            r"error code: ?(?:1000|1001|1033|1016)\b",
            "origin is unreachable",
        ])
        .example("Web server is down Error code 521"),
    rule("cloudflare.worker_limit", Overloaded)
        .text(&["worker exceeded resource limits", r"error code: ?1102\b"])
        .example("error code: 1102 Worker exceeded resource limits"),
    rule("cloudflare.ai_capacity", Overloaded)
        .text(&["capacity temporarily exceeded"])
        .example(r#"{"errors":[{"code":3040,"message":"Capacity temporarily exceeded, please try again."}]}"#),
    rule("cloudflare.ai_neurons", QuotaExhausted)
        .decisive()
        .text(&["daily free allocation of"])
        .example("you have used up your daily free allocation of 10,000 neurons"),
    // The status says more than the words: the origin's certificate or protocol does not fit.
    rule("cloudflare.origin_tls", NetworkPermanent)
        .decisive()
        .status(&[525, 526])
        .text(&[r"\bssl handshake failed\b", r"\binvalid ssl certificate\b", r"\berror code:? 52[56]\b"])
        .example("SSL handshake failed Error code 525"),
];
