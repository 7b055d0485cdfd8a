//! Blocked by a safety, policy, recitation or moderation check.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::ContentFilter;

pub(in crate::classify::rules) const RULES: &[Rule] = &[
    rule("safety.code", ContentFilter)
        .decisive()
        .code(&[
            "content_filter",
            "content_filtered",
            "content_filter_error",
            "content_policy_violation",
            "ContentPolicyViolationError",
            "content_moderation",
            "content_blocked",
            "content_flagged",
            "ResponsibleAIPolicyViolation",
            "moderation_blocked",
            "moderation_failed",
            "moderation_error",
            "policy_violation",
            "safety_violation",
            "safety_error",
            "prompt_blocked",
            "prompt_injection_detected",
            "invalid_prompt",
            "image_content_policy_violation",
            "sensitive_content",
            "data_inspection_failed",
            "DataInspectionFailed",
            "guardrail_intervened",
            "guardrail_violation",
            "refusal",
            "SAFETY",
            "RECITATION",
            "PROHIBITED_CONTENT",
            "BLOCKLIST",
            "SPII",
            "IMAGE_SAFETY",
            "IMAGE_PROHIBITED_CONTENT",
            "cyber_policy_violation",
            "harmful_content",
            "unsafe_content",
        ])
        .not(&["finish_reason: stop", "Open the safety menu"])
        .example(r#"{"choices":[{"finish_reason":"content_filter"}]}"#),
    rule("safety.words", ContentFilter)
        .decisive()
        .text(&[
            r"\bcontent[- ](?:filter(?:ing|ed|s)?|moderation)\b~(?:policy|polic|trigger|block|reject|violat|result|flag|stopped|refus)",
            r"\b(?:triggered|triggering|blocked|rejected|flagged|stopped|filtered|refused)\b~\b(?:content[- ](?:filter|moderation|management|policy|guidelines)|safety|moderation|recitation|responsible ai|guardrails?|prohibited|usage polic|content polic)",
            r"\b(?:safety system|safety checks?|safety filters?|safety settings|safety reasons|safety policy|safety guidelines)\b~(?:block|reject|reason|violat|flag|result|trigger|not allowed|refus)",
            r"\b(?:due to|because of|for|by|of) (?:our )?(?:safety (?:system|reasons|filters?|settings|concerns)|recitation|content policy|content filtering)\b",
            r"\bviolat\w{1,6}\b~\b(?:usage|content|safety|community|acceptable use|our|ai|openai'?s?|service|microsoft'?s?)?~?\b(?:polic(?:y|ies)|guidelines|guardrails|standards|content rules)\b",
            r"\b(?:usage guidelines?|content polic(?:y|ies)|usage polic(?:y|ies)|content guidelines) violat",
            r"\bflagged (?:as|by|for|due)\b",
            r"\b(?:prompt|response|candidate|output|input|completion|generation) (?:was |is |has been |were |got )?(?:blocked|flagged|filtered)(?: due| because| for| by (?:our|the|azure|safety|content|a|openai)|[.,!]|$)",
            r"\bfailed check: safety",
            r"\bblock_?reason\b['\x22]?[:=] ?['\x22]?(?:safety|other|prohibited|blocklist|image_safety)",
            r"\b(?:harmful|unsafe|inappropriate|prohibited|offensive|sexual|sensitive|disallowed|objectionable|copyrighted) (?:or \S{1,20} )?(?:content|material|words|information|text|language)\b",
            r"\bjailbreak\b~(?:detected|attempt|true)",
            r"\bi(?:'m| am) (?:sorry|unable|not able),? (?:but )?i can(?:'t|not) (?:assist|help|comply|fulfill|provide|create|generate)",
            r"\bi can(?:'t|not) (?:assist|help) with that\b",
            r"\bmoderation (?:check|filter|endpoint|system)~(?:fail|block|reject|flag)",
        ])
        .not(&["Please review our Terms of Service", "The list was filtered by status code"])
        .example("Output blocked by content filtering policy"),
];
