//! Blocked by a safety, policy, recitation or moderation check.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::ContentFilter;

pub(in crate::classify::rules) const RULES: &[Rule] = &[
    rule("safety.code", ContentFilter)
        .decisive()
        .code(&[
            "unsafe_generation",
            "censorship_blocked",
            "PROMPT_THREAT_DETECTED",
            "NSFW",
            "nsfw_content",
            "nsfw_detected",
            "content_violation",
            "ContentFilterError",
            "ContentFilterFinishReasonError",
            "ContentModerationError",
            "SafetyError",
            "GuardrailTripwireTriggered",
            "InputGuardrailTripwireTriggered",
            "OutputGuardrailTripwireTriggered",
            "moderation_flagged",
            "flagged_content",
            "content_policy",
            "safety_check_failed",
            "StopCandidateException",
            "BlockedPromptException",
            "ResponseBlocked",
            "PromptBlocked",
            "sensitive_words_detected",
            "prompt_violation",
            "image_generation_user_error",
            "content_not_allowed",

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
            r"\bi'm sorry, i can't respond to that\b",
            r"\bactivated (?:\S{1,12} ){0,3}(?:safety|content) filters?\b",
            r"\braimediafiltered\w{5,8}\b",
            r"\bsafety filters?\b~\b(?:prohibit\w{0,3}|threshold|disallow\w{0,2})\b",
            r"\b(?:request|content|prompt|output|input) moderated\b",
            r"\bmoderators?\b~\b(?:against|violat\w{1,4}|standards|blocked|flagged)\b",
            r"\bagainst (?:our|the|community) (?:community )?(?:standards|guidelines|rules)\b",

            r"\bcontent is sensitive\b",
            r"\bconsidered (?:as |to be )?high[- ]risk\b",
            r"\b(?:prompt|jailbreak) (?:attack|injection)s?\b~\b(?:detected|blocked|found|identified)\b",
            r"\bjailbreak (?:attempt|detected|risk)\b",
            r"\b(?:blocked|banned|forbidden|prohibited|sensitive|bad|filtered) (?:words?|terms?|keywords?|phrases?|topics?)\b~\b(?:detected|found|in|contain\w{0,3})\b",
            r"\bcontains? (?:\S{1,12} )?(?:blocked|banned|forbidden|prohibited|sensitive) (?:words?|terms?|keywords?|phrases?|content|topics?|information)\b",

            r"\bnsfw\b~\b(?:detect|content|filter|block|flag)",
            r"\bguardrails?\b~\b(?:intervened|blocked|triggered|violation|rejected|tripped|failed)\b",
            r"\b(?:tripwire|guardrail) (?:triggered|tripped)\b",

            r"\bcontent[- ](?:filter(?:ing|ed|s)?|moderation)\b~(?:policy|polic|trigger|block|reject|violat|result|flag|stopped|refus)",
            r"\b(?:triggered|triggering|blocked|rejected|flagged|stopped|filtered|refused)\b~\b(?:content[- ](?:filter|moderation|management|policy|guidelines)|safety|moderation|recitation|responsible ai|guardrails?|prohibited|usage polic|content polic)",
            r"\b(?:safety system|safety checks?|safety filters?|safety settings|safety reasons|safety policy|safety guidelines)\b~(?:block|reject|reason|violat|flag|result|trigger|not allowed|refus)",
            r"\b(?:due to|because of|for|by|of) (?:our )?(?:safety (?:system|reasons|filters?|settings|concerns)|recitation|content policy|content filtering)\b",
            r"\bviolat\w{1,6}\b[^.;]{0,90}?\b(?:polic(?:y|ies)|guidelines|guardrails|standards|content rules)\b",
            r"\b(?:usage guidelines?|content polic(?:y|ies)|usage polic(?:y|ies)|content guidelines) violat",
            r"\bflagged (?:as|by|for|due)\b",
            r"\b(?:prompt|response|candidate|output|input|completion|generation) (?:was |is |has been |were |got )?(?:blocked|flagged|filtered)(?: due| because| for| by (?:our|the|azure|safety|content|a|openai)|[.,!]|$)",
            r"\bfailed check: safety",
            r"\bblock(?:ed)?_?reason['\x22]?[:=] ?['\x22<]?(?:block(?:ed)?_?reason\.)?(?:safety|other|prohibited|blocklist|image_safety|jailbreak|model_armor)",
            // As enums write it: `BlockedReasonProhibitedContent`, `FinishReasonSafety`.
            r"\b(?:block(?:ed)?|finish|stop)_?reason[._]?(?:image_?)?(?:safety|recitation|prohibited_?content|blocklist|spii|jailbreak|refusal|content_?filter(?:ed)?)\b",
            r"\b(?:harmful|unsafe|inappropriate|prohibited|offensive|sexual|sensitive|disallowed|objectionable|copyrighted) (?:or \S{1,20} )?(?:content|material|words|text|language)\b",
            r"\bjailbreak\b~(?:detected|attempt|true)",
            r"\bi(?:'m| am) (?:sorry|unable|not able),? (?:but )?i can(?:'t|not) (?:assist|help|comply|fulfill|provide|create|generate)",
            r"\bi can(?:'t|not) (?:assist|help) with that\b",
            r"\bmoderation (?:check|filter|endpoint|system)~(?:fail|block|reject|flag)",
        ])
        .not(&["Please review our Terms of Service", "The list was filtered by status code"])
        .example("Output blocked by content filtering policy"),
    rule("safety.general", ContentFilter)
        .class()
        .text(&[
            r"\bmoderation (?:has |was |check )?failed\b",
            r"\b(?:not allowed|rejected|refused|denied|blocked)(?: \S{1,14}){0,3} (?:by|during|in|because|after) (?:\S{1,14} ){0,2}moderation\b",
            r"\bcontent moderation filters?\b",
            r"\b(?:pass|passed|by|of) (?:the |our )?risk control\b",
            r"\bfail(?:ed|s)? (?:the |our |a |to pass (?:the |our )?)?(?:safety|moderation) (?:checks?|review|filters?|screening)\b",
            r"\b(?:did not|didn't|does not|doesn't|failed to) pass (?:the |our |content )?(?:moderation|safety|review)\b",
            r"^content (?:was |is )?(?:filtered|blocked)\b",
            r"^(?:content )?safety violation\b",
            r"\bmoderation flagged\b",
            r"^recitation$",
            r"\bcontent (?:\S{1,12} ){1,6}is blocked\b",
            r"\bprompt threat\b",
            r"\b(?:generation|prompt|image|answer|response|completion) (?:was |is |has been |were )?(?:refused|declined)\b",
            r"\bresembl(?:es?|ing|ed) (?:\S{1,14} )?(?:protected|copyrighted|licensed|existing) (?:material|content|code|work)\b|\bprotected material\b",
            r"\billegal(?: \S{1,14}){0,2} (?:content|material|text|image|prompt|request|input|output|language|words|topic)s?(?:[.,;:)\x22']|$| (?:was|were|is|are|has|have|detected|found|in|and|or|that|by)\b)",
            r"\b(?:content|prompt|query|request|response|output|message|input|text|image|question) (?:was |is |has been )?(?:blocked|refused|withheld|suppressed|rejected|declined)\b~\b(?:violence|violent|sexual|hate|self-harm|policy|policies|harm\w{0,4}|unsafe|safety|sensitive)\b",

            r"\b(?:prompt|response|output|image|answer|text|request|message|content|input)\b~\b(?:withheld|suppressed|redacted|censored|filtered out|not allowed by|against our|violates?|may violate)\b",
            r"\bcopyrighted\b",
            r"\bdepicts?\b~\b(?:person|people|minor|violence|celebrity)\b",
            r"\b(?:refused|declined) (?:to (?:answer|respond|generate|help|comply|assist)|for (?:safety|policy))\b",
            r"\bagainst (?:our|the|openai's|anthropic's|google's) (?:\S{1,14} ){0,2}(?:polic|guidelines|terms|rules)",

            r"\bnsfw\b",
            r"\b(?:safety|moderation|policy|content|harm|toxicity|abuse|responsible ai)[- ](?:check|checks|checker|filter|filters|system|violation|policy|policies|review|classifier|guardrails?|moderation|restrictions?|guidelines)\b~\b(?:flag\w{0,4}|block\w{0,3}|reject\w{0,3}|refus\w{1,3}|fail\w{0,3}|violat\w{1,5}|detect\w{0,3}|prevent\w{0,3}|trigger\w{0,3}|den(?:y|ied))\b",
            r"\b(?:flagged|blocked|rejected|refused|denied|filtered|stopped|withheld|removed) (?:by|due to|because of|for|as) (?:\S{1,14} ){0,4}(?:safety|moderation|policy|policies|content|harmful|unsafe|abuse|guardrails?|filters?|violat\w{1,5}|copyright|nsfw)\b",
            r"\b(?:harmful|unsafe|inappropriate|prohibited|offensive|sexual|explicit|violent|toxic|hateful|disallowed|sensitive|policy-violating)(?: [^ .,;:]{1,14})? (?:content|material|text|image|prompt|request|input|output|language|words|topic)s?\b",
            r"\bcopyright(?:ed)?\b~\b(?:block|material|content|filter|detected|violat)",
            r"\b(?:cannot|can't|unable to|won't|not able to|will not) (?:assist|help|comply|fulfill|answer|respond|generate|create) (?:\S{1,12} ){0,4}(?:policy|policies|guidelines|harmful|unsafe|request)\b",
            r"\bstop_reason\b['\x22]?: ?['\x22]?refusal\b",
            r"\bperson_?generation\b~\b(?:block|not allowed|disabled)",
            r"\bterms of (?:service|use) violat",
        ])
        .example("NSFW"),
    // Gateways that look for what should not leave the house.
    rule("safety.detector", ContentFilter)
        .decisive()
        .code(&["guardrail_denied", "guardrails_violation", "GuardrailRaisedException", "hooks_failed", "pii_detected"])
        .text(&[
            r"\bguardrails? (?:\S{1,24} )?(?:has |have )?(?:denied|declined|refused|flagged|raised|stopped|disallowed)\b",
            r"\b(?:ssn|pii|phi|pci|credit cards?(?: numbers?)?|social security numbers?|secrets?|api keys?|email addresses|personal (?:data|information)|sensitive data|profanity|toxicity|toxic language|competitors?|gibberish|hate speech|jailbreak|prompt injection|malicious code) (?:was |were |has been |have been )?(?:detected|found|identified)(?: in (?:the |your |this )?(?:prompt|input|request|message|output|response|completion|content|text|user)|[.!,;]|$)",
            r"\b(?:lakera|llama ?guard|presidio|prompt ?guard|shieldgemma|model armor|content safety|aporia|pangea|prisma airs|nemo ?guardrails|acuvity|azure prompt shield|granite guardian)\b~\b(?:flagged|blocked|detected|denied|rejected|violations?|unsafe)\b",
            r"\b(?:flagged|blocked|denied|rejected|stopped|caught) by (?:\S{1,14} ){0,2}(?:lakera|llama ?guard|presidio|prompt ?guard|shieldgemma|model armor|content safety|aporia|pangea|prisma airs|nemo ?guardrails|acuvity|prompt shield|granite guardian|firewall for ai|dlp)\b",
        ])
        .not(&["Found an email address in the form", "No secrets were found by the scanner"])
        .example("Guardrail denied the request: SSN detected in prompt."),
    // Short words of moderation: what was stopped, and for what.
    rule("safety.stopped", ContentFilter)
        .text(&[
            r"\bcontent (?:was |is |has been )?blocked: ",
            r"\bblocked (?:by|due to|because of) (?:\S{1,14} ){0,2}(?:keywords?|words?|terms?|patterns?|regex)\b",
            r"\b(?:keyword|word|term|phrase|pattern|topic) ['\x22`][^'\x22`]{1,40}['\x22`] (?:was |is )?(?:detected|blocked|not allowed|forbidden|prohibited|banned)\b",
            r"\b(?:image|video|audio|prompt|output|response|answer|generation|text|content|request)s? (?:\S{1,14} )?(?:was |were |is |has been |have been |got )?(?:rejected|stopped|filtered|removed|flagged|blocked|withheld)(?: by| for| because| as|:| due to)? (?:it |they |of |a |an |the |our |may |might |could |contains? |contain |potential(?:ly)? |possible ){0,4}(?:minors?|profanity|copyright\w{0,3}|violen(?:ce|t)|sexual|nudity|hate|self-harm|celebrit\w{1,3}|public figures?|moderat\w{2,4}|safety|weapons?|gore|extremis[mt])\b",
            r"\bgenerated (?:image|video|audio)s? (?:was |were |has been |have been )?(?:filtered|blocked|withheld|removed)\b",
            r"\bmoderation: (?:blocked|flagged|rejected|denied)\b",
        ])
        .example("The image was rejected because it may contain a minor"),
];
