//! This model or deployment is not to be had here.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::{ModelUnavailable, ServerError};

pub(in crate::classify::rules) const RULES: &[Rule] = &[
    rule("model.code", ModelUnavailable)
        .decisive()
        .code(&[
            "ModelNotAllowed",
            "ModelUnavailable",
            "ModelNotSupported",
            "ModelNotFoundException",
            "UnsupportedModel",
            "InvalidModel",
            "UnknownModel",
            "ModelDeprecated",
            "model_archived",
            "model_no_longer_available",
            "model_version_not_found",
            "NoSuchModel",
            "model_permission_denied",
            "EndpointNotFound",
            "DEPLOYMENT_NOT_FOUND",
            "ModelNotOpened",
            "RepositoryNotFoundError",
            "GatedRepoError",
            "unavailable_model",
            "model_restricted",

            "model_not_found",
            "model_not_found_error",
            "ModelNotFoundError",
            "ProviderModelNotFoundError",
            "AI_NoSuchModelError",
            "model_not_available",
            "model_unavailable",
            "model_not_supported",
            "model_not_exist",
            "model_does_not_exist",
            "model_not_exists",
            "model_not_allowed",
            "model_not_enabled",
            "model_access_denied",
            "model_decommissioned",
            "model_deprecated",
            "model_retired",
            "model_disabled",
            "model_terms_required",
            "invalid_model",
            "invalid_model_error",
            "invalid_model_id",
            "invalid_model_name",
            "unknown_model",
            "unsupported_model",
            "no_such_model",
            "deployment_not_found",
            "DeploymentNotFound",
            "dedicated_endpoint_not_running",
            "no_available_model",
            "no_endpoints_found",
            "endpoint_not_found",
        ])
        .not(&["model not found in cache; downloading"])
        .example(r#"{"error":{"code":"model_not_exist"}}"#),
    rule("model.missing", ModelUnavailable)
        .decisive()
        .text(&[
            r"\bspecified version does not exist\b",
            r"\bfunction '[\w-]{8,60}': not found\b",
            r"\b(?:endpoint|deployment|adapter|lora|engine|inference profile|served entity)s? (?:with |of |by )?(?:the )?(?:name|named|id|called|key):? ?['\x22`]?[\w./:@-]{1,90}['\x22`]? (?:does not exist|doesn't exist|was not found|is not found|not found|could not be found|cannot be found|is unknown|not exist)\b",
            r"\bunrecognized model\b",
            r"\bcannot load [\w./:-]{4,90}: projected memory\b",
            r"\bno (?:inference )?endpoints? (?:is |was |are )?deployed\b",

            r"\bmodel: (?:claude|gpt|gemini|o\d|llama|mistral|deepseek|qwen|glm|kimi|grok)[\w./:@-]{0,80}['\x22]",
            r"\bmodel (?:['\x22`]?[\w./:@-]{1,80}['\x22`]? )?not exists?\b",
            r"\bmodel not (?:loaded|ready|deployed|pulled|installed|downloaded|present)\b",
            r"\bnot found~\bmodels? (?:list|registry|catalog)",
            r"\bmodels?(?: name| id| resource| version)?: ?['\x22`]?[\w./:@-]{2,90}['\x22`]? (?:does not exist|doesn't exist|was not found|is not found|not found|could not be found|not exists)\b",
            r"\bmodels?\b(?: resource| name| id| version)?(?:[^.;:{}]|[.:]\S){0,90}?\b(?:does not exist|doesn't exist|do not exist|did not exist|not exists|was not found|is not found|not found|could not be found|cannot be found|can't be found)\b",
            r"\bmodels?/[\w.:@-]{1,80} (?:is |was )?not found",
            r"\b(?:unknown|no such|unrecognized|nonexistent|non-existent|invalid|unsupported) model\b(?:[: ,.;!]|$)",
            r"\binvalid model (?:name|id|identifier|specified|argument)",
            r"\bmodel (?:name|id|identifier)\b~(?:is |was )?(?:invalid|unknown|not valid|not recognized|incorrect)",
            r"\bmodel\b ?['\x22`]?[\w./:@ -]{0,80}['\x22`]? (?:is )?not (?:a valid|recognized|known|allowed|enabled|deployed|accessible|offered|served|loaded|active|configured|listed)",
            r"\b& find (?:the )?model\b",
            r"\bno model (?:available|found|named|with|matching|is loaded|loaded)",
            r"\bmodel is unloaded\b",
            r"\bdeployment\b~(?:does not exist|not found|doesn't exist|is not ready|not running)",
            r"\b& (?:find|fetch|resolve|locate) (?:the )?model\b",
        ])
        .not(&["The provided model doesn't support counting tokens.", "Tool model_lookup not found"])
        .example("Model gpt-9 was not found on this server"),
    rule("model.refused", ModelUnavailable)
        .decisive()
        .text(&[
            r"\bnot filled out the required use-case form\b",
            r"\b(?:request|please enable|must enable|grant|need) (?:model )?access (?:to|for) (?:this|the) model\b",
            r"\bmodel (?:is )?restricted\b",
            r"\b(?:has|have) not (?:yet )?(?:activated|enabled|opened|subscribed to) (?:the |this )?model\b",
            r"\b(?:do not|does not|don't|doesn't|not|no|without|lacks?|denied) (?:currently )?(?:have |has )?(?:been granted )?(?:the )?(?:permission|access|authorized|authorised|allowed|entitled|permitted)(?: to)?(?: access| use| invoke| call)? (?:to )?(?:the |this )?(?:requested |specified )?model\b",
            r"\baccess to (?:the |this )?model\b~(?:denied|not|restricted|granted|required|forbidden)",
            r"\b(?:can(?:not|'t)|unable to|not permitted to|not allowed to|not authorized to) (?:access|use|invoke|call) (?:the |this )?(?:\S{1,20} )?model\b",
            r"\b(?:you (?:do not|don't)|user) have access to (?:this|the) model\b",
            r"\bmodel access (?:is )?(?:denied(?:[.,;!]|$| for| by)|not granted|not enabled)",
            r"\bteam not allowed to access model|\bkey not allowed to access model",
            r"\bmodel\b(?:[^.;]|\.\S){0,80}\bnot (?:included|available|enabled|allowed|accessible|supported) (?:in|for|on|with|to|by|under|at|when) (?:(?:your|this|current|free|you|a|api|using)\b|the [^v])",
        ])
        .not(&["This is not a chat model and thus not supported in the v1/chat/completions endpoint."])
        .example("Project `proj_1` does not have access to model `gpt-4.1`"),
    rule("model.unavailable", ModelUnavailable)
        .decisive()
        .text(&[
            r"\bmodel (?:was |has been |is |got )?unloaded\b",
            r"\bmodel (?:is |are )?only available (?:on|to|for|with|in|through|via)\b",

            r"\b(?:the )?(?:requested |selected |specified |chosen |given )?model(?: (?:['\x22`(\[][\w./:@ -]{1,80}['\x22`)\]]|[\w./:@-]{0,60}[0-9./:@-][\w./:@-]{0,60}))? (?:is |was |are )?(?:currently |temporarily )?(?:not available|unavailable|not supported|not offered|no longer (?:available|supported|offered|active|served)|deprecated|retired|decommissioned|disabled|discontinued|sunset|removed|offline|blocked)\b",
            r"\bmodel\b(?:[^.;]|\.\S){0,90}\b(?:has been|was|is) (?:deprecated|retired|decommissioned|discontinued|shut down|removed|sunset|turned off)",
            r"\b(?:has|have) reached (?:its |their |the )?end of (?:its )?life",
            r"\bno (?:available |healthy |active |allowed )?(?:providers?|endpoints?|channels?|distributors?|instances?|backends?|routes?|upstreams?|accounts?)\b(?: is| are)?~\bmodel\b",
            r"\bno (?:allowed |available )?(?:providers|endpoints)\b~(?:available|found|matching|support)",
            r"\bmodel\b(?:[^.;]|\.\S){0,60}\bend[- ]of[- ]life\b",
            r"\bis not a (?:valid|known|supported|recognized) model\b",
            r"\bmodel\b~\b(?:not (?:currently )?(?:available|supported|offered)|unsupported|unavailable) (?:in|for) (?:your|this) (?:\S{1,12} )?(?:region|country|location|plan|account)",
        ])
        .not(&["The model service is overloaded"])
        .example("The model llama-3.1-70b has been decommissioned"),
    rule("model.general", ModelUnavailable)
        .class()
        .text(&[
            r"\bunknown provider for model\b",
            r"\bdeployment(?: ['\x22`]?[\w./:-]{2,60}['\x22`]?)? (?:is|was|has been) (?:not available|no longer (?:available|supported)|deprecated|disabled|removed|retired|deleted|not supported|not enabled)\b",
            r"\bis not valid for chat completion\b",
            r"\bunknown (?:chat |language |embedding |llm )?model ['\x22`]",
            r"\bendpoint [\w./:-]{2,80} (?:of account \d{6,16} )?(?:was |is )?not found\b",
            r"\b(?:does not|doesn't|will not|won't) work (?:with|on|under|for) (?:your|this|the) (?:current )?(?:\S{1,12} )?(?:plan|api key|subscription|account|tier|key)\b",
            r"\bnot (?:accessible|included|offered|unlocked|supported|usable|permitted) (?:with|on|in|for|under|by) (?:your|this|the) (?:current )?(?:\S{1,12} )?(?:tier|plan|subscription|key|licen[sc]e)\b",
            r"\bno models? match(?:es|ed|ing)?\b|\bnone of (?:the |your |these )?(?:\S{1,14} )?models\b",
            r"\b(?:does not|doesn't|do not|don't) (?:serve|host|offer|have|provide|know|carry|list) (?:that|this|the|such a|a|any|your) (?:\S{1,20} )?model\b",
            r"\baccess to \S{3,60} is not (?:yet )?enabled\b",

            r"\b(?:isn't|is not|not yet|not) available (?:for|to|on|under|with) (?:your|this) (?:account|plan|organi[sz]ation|project|workspace|tier|subscription|key|user)\b",
            r"\b(?:no|find a|find any|found no) providers?\b~\b(?:serv|host|support|offer|for (?:the |this )?model)",

            r"\bno default (?:\S{1,12} )?model\b",

            r"\bmodel\b~\bgated\b",
            r"\bno deployed models?\b",
            r"\bmodel\b~\b(?:could not be|cannot be|can't be) (?:resolved|located|matched|served)\b",
            r"\bmodel_?(?:name|id)?\b~\b(?:isn't|is not|not) in\b",
            r"\b(?:version|model|deployment) (?:is |has been |was )?(?:currently )?disabled\b",

            r"\b(?:model|engine|endpoint|deployment|version|snapshot|checkpoint|llm)s?\b~\b(?:has|have|was|were|is|are|been) (?:been )?(?:sunset|retired|decommissioned|deprecated and|discontinued|end-of-life|phased out|superseded|shut off)\b",
            r"\b(?:migrate|switch|upgrade|move) to (?:the )?(?:gpt|claude|gemini|mistral|llama|qwen|deepseek|command|grok|phi|\S{1,30} model)",
            r"\bmodel\b~\b(?:not part of|not included|not covered|isn't part|not offered|not in your|not yours|withdrawn|no longer)\b",
            r"\bdeployment\b~\b(?:missing|does not exist|not found|doesn't exist|unknown)\b",
            // A model that is named without the word.
            r"\b(?:gpt|claude|gemini|gemma|llama|mistral|mixtral|codestral|qwen|deepseek|grok|command|phi|glm|kimi|text-embedding|text-davinci|o[1-9])-[\w./:@-]{1,60}['\x22`]? (?:is|was|has been|has|are|were|will be) (?:\S{1,12} ){0,2}?(?:shut down|retired|turned off|removed|deprecated|discontinued|unavailable|not available|gone|disabled|decommissioned|sunset|not found|withdrawn|no longer \w{4,12})\b",
            r"\b(?:not|doesn't|don't|no|cannot|can't|isn't) (?:\S{1,14} ){0,3}?(?:include|includes|access|access to|cover|use|offer|serve|enabled for|allow|provide|entitled to) (?:the )?['\x22`]?(?:gpt|claude|gemini|gemma|llama|mistral|mixtral|codestral|qwen|deepseek|grok|command|phi|glm|kimi|text-embedding|text-davinci|o[1-9])-[\w./:@-]{1,60}",
            r"\b(?:engine|deployment|checkpoint|model version|snapshot|adapter)\b(?: \S{1,60})? (?:has been|was|is|were) (?:turned off|shut down|retired|switched off|taken down|decommissioned|unloaded|undeployed)\b",
            r"\bno (?:\S{1,12} ){0,2}(?:endpoint|deployment|adapter|lora|engine)s? (?:called|named|known as|by the name|with (?:the )?(?:name|id))\b",
            r"\b(?:engine|model|deployment|adapter|lora|checkpoint|snapshot)\b(?: \S{1,60})? (?:isn't|is not|aren't|are not) (?:currently |yet )?(?:hosted|served|offered|deployed|provisioned|live|pulled|installed)\b",
            r"\bmodel manifest\b~\b(?:does not exist|not found|failed)\b",

            r"\bno (?:\S{1,12} )?(?:inference )?(?:endpoint|deployment|model|adapter|lora|engine|function)s? (?:is |was |are |were )?(?:deployed|available|found|configured|serving|registered|running|hosted|exists?|matching|named)\b",
            r"\b(?:deployment|endpoint|adapter|lora|engine|checkpoint weights|weights|inference profile|foundation model)\b(?: \S{1,80}){0,2} (?:does not exist|doesn't exist|not found|was not found|is not found|could not be found|not exist|not deployed|unknown)\b",
            r"\b(?:available|supported|valid|allowed) models?(?: are| is|:| include)\b",
            r"\bmodel_?(?:name|id)?\b~\b(?:not in|not one of|is not a valid|not recognized|is unknown|unknown to)\b",
            r"\b& (?:find|load|locate|resolve|fetch|route|serve) (?:\S{1,30} ){0,3}model\b",
            r"\brepository not found\b|\brepo(?:sitory)? ['\x22`]?[\w.-]{1,60}(?:/[\w.-]{1,80})?['\x22`]? (?:not found|does not exist)\b",
            r"\bmanifest (?:\S{1,60} )?(?:not found|unknown|does not exist)\b|\bfile does not exist\b~\bmodel\b",
            r"\bno models? (?:named|called|found|available|with|matching|loaded|configured|registered|specified|provided|by|is|are|was)\b",
            r"\bno model(?: selected)?[.!]?$",
            r"\b(?:not|isn't|aren't) (?:eligible|entitled|enabled|approved|whitelisted|allowlisted|authorized|permitted|provisioned|subscribed)\b~\bmodel\b",
            r"\bmodel\b~\b(?:not|isn't) (?:eligible|entitled|enabled|approved|whitelisted|allowlisted|authorized|permitted|provisioned|included|covered|accessible|available|allowed)\b",
            r"\bdoes not (?:grant|include|cover|allow|permit|provide) (?:\S{1,12} ){0,4}model\b",
            r"\b(?:choose|select|try|use|pick|switch to) (?:a |an |another |some )?(?:different|other|another|supported|available) (?:\S{1,12} )?model\b",
            r"\banother model\b",
            r"\bdoesn't support the model\b|\bdoes not support (?:the |this )model\b",
            r"\b(?:access|permission|request) (?:to|for|access to) (?:the |this |that )?(?:\S{1,40} )?model\b~\b(?:denied|required|needed|rejected|not)\b",
        ])
        .example("No adapter named quux is deployed"),
    // Where a model or the function that serves it stands in its life.
    rule("model.lifecycle", ModelUnavailable)
        .decisive()
        .code(&[
            "ServiceModelDeprecating",
            "ServiceModelDeprecated",
            "ModelDeprecating",
            "ModelRetired",
            "ModelLegacy",
            "ModelEndOfLife",
            "EndpointPaused",
            "EndpointStopped",
            "EndpointSuspended",
        ])
        .text(&[
            r"\bmodel (?:has |is |was )?(?:fad(?:e|ed|ing)|phased) out\b",
            r"\bin (?:a |an |the )?['\x22`]?(?:deprecating|deprecated|retiring|retired|legacy|archived|decommissioned|end-of-life)['\x22`]? (?:state|status|phase|stage)\b",
            r"\bcannot be used for new deployments\b",
            r"\bdegraded function cannot be invoked\b",
            r"\b(?:web |inference |serving |dedicated |model |serverless )?(?:endpoint|deployment|space|web function) (?:\S{1,40} )?(?:is|was|has been|are) (?:currently |now )?(?:stopped|paused|suspended|asleep|sleeping|hibernated|undeployed|shut down)\b",
            r"\bmodal-http: (?:invalid function call|app\b~\b(?:stopped|not found|deleted))",
        ])
        .not(&["The deployment llama-8b is in a failed state"])
        .example("modal-http: app for invoked web endpoint is stopped"),
    rule("model.adapter", ModelUnavailable)
        .class()
        .text(&[
            r"\b& f(?:i|ou)nd~(?:adaptor|adapter|handler|channel|route|backend|provider|endpoint)~for model\b",
            r"\bno (?:\S{1,20} ){0,2}(?:adaptor|adapter|handler|backend|converter)s?~for (?:the |this )?model\b",
            r"\b(?:lora|adapter|checkpoint|deployment|endpoint)(?: adapter)?(?: ['\x22`]?[\w./:-]{1,60}['\x22`]?)? (?:is |was )?(?:not loaded|being deleted|being removed|not deployed)\b",
            r"\bno model provider (?:is |was )?configured\b",
        ])
        .example("lora adapter foo not loaded"),
    // Whoever serves the model is down; the model is not gone.
    rule("model.provider_down", ServerError)
        .decisive()
        .text(&[r"\bmodel (?:provider|server|service|backend|host|endpoint) (?:is |was |are )?(?:currently |temporarily )?(?:unavailable|down|offline|not responding|unreachable)\b"])
        .example("Model provider is currently unavailable"),
    rule("model.only_allowed", ModelUnavailable)
        .decisive()
        .text(&[
            r"\bno 'model_name' with this string\b",
r"\bonly\b~\ballowed now, your model\b", r"\b(?:invalid|unknown|unrecognized) or (?:unavailable|unsupported|disabled) model\b"])
        .example("Only foo allowed now, your model bar"),
    rule("model.plan", ModelUnavailable)
        .text(&[r"\bmodel (?:['\x22`]?[\w./:-]{1,60}['\x22`]? )?(?:requires|needs|is only (?:available|offered) (?:with|on|to|for|in)) (?:an? |the |your )?(?:\S{1,14} ){0,2}(?:subscription|plan|tier|license|membership)s?\b"])
        .example("The model gpt-9 requires a paid subscription"),
];
