//! The request is wrong in itself.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::InvalidRequest;

pub(in crate::classify::rules) const RULES: &[Rule] = &[
    // Providers put these around anything they refuse: the message tells what it was.
    rule("request.code", InvalidRequest)
        .hint()
        .code(&[
            "UndefinedError",
            "TemplateSyntaxError",
            "TemplateError",
            "TemplateRuntimeError",

            "UnicodeEncodeError",

            "invalid_request_error",
            "invalid_request",
            "invalid_argument",
            "INVALID_ARGUMENT",
            "FAILED_PRECONDITION",
            "OUT_OF_RANGE",
            "bad_request",
            "bad_request_error",
            "BadRequestError",
            "BadRequest",
            "ValidationException",
            "validation_error",
            "not_found_error",
            "NotFoundError",
            "not_found",
            "unprocessable_entity",
            "UnprocessableEntityError",
            "conflict_error",
            "ConflictError",
            "method_not_allowed",
            "unsupported_media_type",
        ])
        .example(r#"{"type":"invalid_request_error"}"#),
    rule("request.parameter_code", InvalidRequest)
        .code(&[
            "msg_too_long",
            "message_too_long",
            "text_too_long",
            "prompt_too_short",
            "input_too_short",
            "too_short",

            "invalid_parameter",
            "InvalidParameter",
            "invalid_value",
            "invalid_type",
            "missing_required_parameter",
            "missing_parameter",
            "unknown_parameter",
            "unsupported_parameter",
            "unsupported_value",
            "unsupported_feature",
            "not_supported_error",
            "decimal_below_min_value",
            "decimal_above_max_value",
            "integer_below_min_value",
            "integer_above_max_value",
            "array_above_max_length",
            "string_above_max_length",
            "invalid_json_schema",
            "invalid_function_parameters",
            "invalid_image_url",
            "invalid_image_format",
            "invalid_base64",
            "image_parse_error",
            "image_too_large",
            "file_too_large",
            "request_too_large",
            "payload_too_large",
            "unsupported_image_media_type",
            "unsupported_file",
            "invalid_url",
            "unknown_url",
            "wrong_api_format",
            "missing_field",
            "invalid_field",
            "json_invalid",
        ])
        .text(&[r"\bis (?:longer|larger) than (?:the )?chunk size\b"])
        .example(r#"{"error":{"code":"unsupported_parameter"}}"#),
    rule("request.parameter", InvalidRequest)
        .class()
        .text(&[
            r"\bapi (?:version |endpoint )?(?:is|has been|was) (?:no longer supported|deprecated and removed|removed|retired|sunset)\b",
            r"\b(?:illegal|invalid|wrong|unexpected|unsupported) (?:metadata|header) (?:value|name|key)\b",
            r"\b(?:prompt|input|message|text|query) (?:is |was )?too short\b",

            r"\btoo many (?:\S{1,14} )?(?:sequences|stops|messages in|system messages|keys|items|properties|levels|parts)\b",
            r"\b(?:array|list|messages?|prompt|content|body|input|field|value|name|schema|query|tools) (?:is|are|was|were) (?:empty|blank|null|missing|too (?:short|small|few))\b",
            r"\bis not recogni[sz]ed\b",
            r"\bcannot (?:use both|combine|mix|be used together)\b",
            r"\b(?:duration|length|size|width|height|resolution)\b~\btoo (?:short|small|low)\b",
            r"\b(?:image|file|audio|video|document|media|attachment)(?: url| link)? could not be (?:downloaded|fetched|loaded|read|opened|decoded|processed)\b",

            r"\b(?:number|amount|count) of (?:\S{1,14} )?(?:tools|images|messages|files|functions|documents|stop sequences|inputs|items|choices|labels|candidates|parts) (?:\S{1,12} ){0,2}(?:exceeds?|is (?:greater|larger|more)|must|cannot)\b",
            r"\busage error\b",
            r"\bcodec can't encode\b",
            r"\bunexpected (?:argument|option|flag|positional)\b",

            r"\btoo many (?:images|documents|files|tools|stop sequences|parts|inputs|attachments|pages|functions|labels|choices|examples|dimensions)\b",
            r"\b(?:invalid|unknown|unrecognized|unsupported|unexpected|illegal|bad|missing|extra|duplicate|malformed|incorrect) (?:or \S{1,12} )?(?:required )?(?:\S{1,20} )?(?:parameters?|arguments?|values?|fields?|properties|property|request body|json body|payload|role|header|url parameter|schema|content type|input|keys?|options?|enum)\b",
            r"\binvalid (?:type|user message|message|format|image|base64|prompt format|schema|tool|url)\b",
            r"\bmissing required\b",
            r"\brequired (?:parameter|field|key|property|argument|keys?|fields?)\b",
            r"\b(?:is|are) (?:a )?required(?: (?:parameter|field|property))?\b",
            r"\bfield required\b",
            r"\bextra inputs are not permitted\b",
            r"\binvalid ['\x22`][\w.\[\]-]{2,40}['\x22`]: ",
            r"\bcan only be used with\b",
            r"\b& submit (?:the |your |this )?request because\b",
            r"\bexceeds? (?:the )?(?:maximum|limit|max)(?: of| number of)? \d{1,9} (?:rows|items|images|files|messages|tools|characters|chars|pages|elements|entries|documents|inputs)\b",
            r"\b(?:schema|feature|format|operation|option|method) not supported\b",
            r"\brequires? (?:\S{1,24} ){1,2}to be (?:enabled|disabled|set|specified|provided|present)\b",
            r"\bmust (?:be|have|contain|include|not|match|start|end|provide|specify|alternate|follow|enter|supply|pass|give|choose|select)\b",
            r"\bunexpected keyword argument\b",
            r"\b(?:does|do|is|are)(?: not|n't) (?:currently )?(?:support|supported|allowed|permitted|valid|accept)",
            r"\bnot (?:supported|implemented|allowed) (?:for|with|by|in|when|on)\b",
            r"\bonly supports?\b",
            r"\bonly (?:\S{1,20} ){1,5}(?:is|are) (?:supported|allowed|permitted|accepted)\b",
            r"\bsupports? at most\b",
            r"\bmaximum (?:number of )?(?:items|tools|images|messages|stop sequences|files)\b",
            r"\bbad request\b",
            r"\bcannot be (?:used|modified|empty|null|specified|combined|set|both|blank|defined|provided|passed)\b",
            r"\b& (?:fetch|download|process|decode) (?:the )?(?:content|image|file|url|media|document)",
            r"\bnot a valid (?:sequence|integer|string|list|dict|enum|boolean|number|value)",
            r"\b& (?:parse|deserialize|decode) (?:the )?request",
            r"\b& (?:parse|deserialize) (?:the )?(?:json body|request|body)",
            r"\bvalidation (?:error|failed)\b",
            r"\bplease reformat your input\b",
        ])
        .example("Missing required parameter: 'messages'"),
    rule("request.history", InvalidRequest)
        .text(&[
            r"\b(?:should|must|need to|has to|have to) alternate\b",
            r"\bmessage\(s\) should\b",
            r"\bexpected (?:the )?(?:last|first|next|previous) message\b",

            r"\bmessage has tool role\b",
            r"\bno previous assistant message\b",
            r"\bnumber of function (?:response|call) parts\b",
            r"\bchat template\b~\b(?:error|failed|raise\w{0,2}|requires?|only)\b",
            r"\braise_exception\(",

            r"\broles must alternate\b",
            r"\b(?:tool_use|tool_calls?|tool_result|function call|tool call ids?|function response|tool messages?|tool results?)\b~(?:must|without|did not have|missing|not found|invalid|unexpected|expected|corresponding|no matching|preced|follow)",
            r"\binvalid tool call ids?\b",
            r"\bno tool (?:call|output|result) found for\b",
            r"\b(?:was|were) provided without (?:its|their|a) required\b",
            r"\bblocks? (?:in the latest assistant message )?cannot be modified\b",
            r"\bwaiting for approval\b",
            r"\bfirst message must\b|\blast message must\b|\bconversation must (?:start|end|alternate)",
            r"\bdoes not support (?:assistant )?(?:message )?prefill\b",
            r"\binvalid ['`]?signature['`]? in ['`]?thinking",
        ])
        .example("messages: roles must alternate between \"user\" and \"assistant\""),
    // A place in what was sent: `messages[3].content`, `tools.0.function`.
    rule("request.place", InvalidRequest)
        .decisive()
        .text(&[
            r"\b(?:messages?|contents|tools|input|inputs|functions|system|attachments)(?:\[\d{1,4}\]|\.\d{1,4}\b)(?:[.:]|\[|['\x22`]| [a-z])",
        ])
        .not(&["input new_sensitive, messages[3]'s content[2] image is sensitive (1026)"])
        .example("'bot' is not one of ['user', 'assistant'] - 'messages.0.role'"),
    rule("request.path", InvalidRequest)
        .text(&[
            r"\brequested (?:endpoint|route|path|url) \S{1,60}(?: \S{1,60})? was not found\b",
            r"\bendpoint \((?:get|post|put|delete|patch) \S{1,80}\) (?:was )?not found\b",
            r"\brepository ['\x22`]?(?:https?|ssh|git|file)[:@]\S{1,120} not found\b",
            r"\bcannot (?:get|post|put|delete|patch) /",
            r"\bpage (?:was )?not found\b",
            r"\b(?:path|route|resource|url|endpoint|operation|page|method)\b(?: \S{1,60})? (?:was |is )?(?:not found|does not exist|not allowed|not recognized)",
            r"\bmethod not (?:allowed|found|supported)\b",
            r"\bnot allowed to (?:get|post|put|delete|patch)\b",
            r"\bnot supported (?:in|on|by|with|at) (?:the |this )?\S{0,3}v\d\w{0,6}/\S{2,60}",
            r"\bunknown (?:request url|endpoint|path|route|method)\b",
            r"\b(?:no route|no handler) (?:found|matched|for)\b",
            r"\bnot acceptable\b",
        ])
        .not(&["dedicated endpoint is not running"])
        .example("<pre>Cannot POST /messages</pre>"),
    rule("request.bytes", InvalidRequest)
        .decisive()
        .text(&[
            r"\brequest body larger than\b",
            r"\blarger than max\w{0,12} limit\b",
            r"\blarger than \d{4,12}, which is\b",
            r"\b(?:image|file|document|pdf|audio|video|attachment|payload|body|request|upload)\b~\b(?:exceeds?|larger than|bigger than|over) (?:the )?(?:\S{1,14} ){0,3}(?:size|bytes|megabytes|\d{1,6} ?[kmg]i?b)\b",
            r"\bdimensions exceed\b",

            r"\b(?:image|file|document|pdf|audio|attachment|payload|body) exceeds? \d",
            r"\b(?:request entity|payload|content|request body|body|file|image|upload|attachment|pdf|audio|header fields) (?:is |size is )?too (?:large|big)\b",
            r"\b(?:request|body|payload|file|image|message|upload)\b~(?:exceed|larger|over|greater)\w{0,3}~(?:\bbytes\b|\b[kmg]i?b\b|\d[kmg]b\b)",
            r"\brequest exceeds the maximum size\b",
            r"\bmaximum (?:request|content|body|file|payload|upload|image)(?: body)? (?:size|length)\b~(?:exceed|reached|bytes|mb)",
        ])
        .code(&[
            "RecordTooLargeException",
            "MessageSizeTooLargeException",
        ])
        .example("Request body too large: limit is 32 MB"),
    rule("request.content_type", InvalidRequest)
        .decisive()
        .status(&[400, 406, 415, 422])
        .text(&[
            r"\b(?:expected|expects?|unsupported|invalid|wrong|unknown|missing|unexpected) content[- ]?type\b",
            r"\bcontent[- ]?type\b~\b(?:not supported|unsupported|invalid|must be|expected)\b",
        ])
        .example("Expected content-type application/json, but got text/plain"),
    rule("request.general", InvalidRequest)
        .hint()
        .text(&[
            r"\bmalformed request\b",
            r"\bconflicting (?:parameters|options|arguments|fields)\b",
            r"\bempty messages\b",
            r"^not implemented\b",
            r"\bunsupported operation\b",
            r"\bapi version (?:is )?not supported\b",
            r"\btoo many (?:images|tools|stop sequences|attachments|functions|parameters)\b",
            r"\bconfig(?:uration)? not found for\b",
            r"\bmethod ['\x22`]?[\w/.-]{2,40}['\x22`]? is not available\b",
            r"\bexpected \d{1,6} dimensions, (?:not|got)\b",
            r"\bunsupported protocol version\b",
            r"\bservice of type\b~\bnot registered\b",
            r"\bexceeds? the maximum (?:limit|number|count|size|length) of\b",
            r"\bshould be (?:≤|<=|less than|at most|no more than|greater than|>=)",
            r"\bdimension\w{0,7} \d{1,6} does not match\b",
            r"\b(?:unable to|could not|cannot|failed to) download (?:the |your |this )?(?:file|image|audio|video|document|media|https?:)",
            r"\btoo many subrequests\b",
            r"\binvalid http request\b",
            r"\bis already (?:running|started|exists?|in use|registered|open|active|connected)\b",
            r"\binequivalent arg\b",
            r"\bprecondition[_ ]failed\b",
            r"\btask ?definition is inactive\b",
            r"\bcannot convert argument to a bytestring\b",
            r"\bduplicate (?:session|name|key|request|id)\b",
            r"\b(?:collection|index|partition) (?:is |was )?not loaded\b",
            r"\bexpected (?:a value )?between \S{1,12} and \d",
            r"\b(?:duration|length|size|range|value) violation\b",
            r"\bexceeds? (?:the )?(?:maximum|max) allowed\b",
            r"\bcannot both be\b|\bcan't both be\b|\bnot both\b",
            r"\btoo (?:deeply |many levels )?nested\b|\bnesting (?:depth|level)\b~\b(?:exceed\w{0,3}|limit|too|max\w{0,4})\b",
            r"\bduplicate (?:\S{1,14} ){0,2}(?:names?|ids?|keys?|tools?|parameters?|entr(?:y|ies)|fields?|functions?|headers?)\b",
            r"\b(?:invalid|bad|broken|malformed|incorrect|unsupported|incomplete) (?:\S{1,14} )?(?:config(?:uration)?|settings?|options?)\b",
            r"\bconfig(?:uration)?(?: file)?(?: \S{1,40})? (?:is|was|has|contains?) (?:an |a )?(?:invalid|malformed|broken|incorrect|bad|wrong|incomplete|error\w{0,1})\b",
            r"\b(?:number|count) of (?:\S{1,14} ){1,6}(?:is |must be |should be |has to be |was |does )?(?:not )?(?:equal|match|the same)\b",
            r"\bmismatch(?:ed)?\b~\bexpected\b~\b(?:got|received|found|but)\b",
            r"\bnot found, (?:verify|check)\b",
            r"\b(?:verify|check) your (?:api base|base url|endpoint|api_base)\b",

            r"\bclient error: not found\b",
            r"\bnot found for url\b",

            r"\bfailed\b~: not found[.!]?$",
            r"\b(?:template|jinja)\w{0,12} ?(?:error|syntax|exception)\b",
            r"\berror rendering\b",

            r"\bdetail\b[^a-z]{1,6}not found\b",
            r"^not found[.!]?$",
            r"\bbad option\b",

            r"\b(?:unsupported|unknown|invalid|disallowed|unrecognized) (?:\S{1,14} )?(?:type|format|extension|codec|language|version|model parameter|size|mode|media|region parameter)\b",
            r"\bsupported (?:types|formats|values|extensions|modes|languages)\b",

            r"\binput should be\b",
            r"\bdimensions?\b~\b(?:exceed|too|larger|at least|at most)",
            r"\bunknown (?:field|name|key|argument|parameter|option|property|flag|attribute)\b",
            r"\b(?:unsupported|unknown|invalid|wrong) (?:content[- ]type|media type|mime type|image format|file type|format|encoding|role|tool type|response_format|modality)\b",
            r"\bunrecognized (?:request )?(?:argument|field|option|parameter|key|property)\b",
            r"\b(?:less|greater) than or equal to\b",
            r"\bshould be (?:a |an |one of|between|less|greater|in |of |at )",
            r"\b(?:image|file|audio|video|document|pdf)\b~\b(?:too (?:large|big|small|many)|exceeds?|corrupt|unsupported|could not be (?:read|decoded|processed))\b",
            r"\bpixels\b",
            r"\bis (?:deprecated|not supported|unsupported|not allowed|not permitted|not valid|invalid|required|mandatory|not a valid)\b",
            r"\bnot eligible\b",
            r"\bincompatible (?:with|parameter|option|arguments?)\b",
            r"\bmutually exclusive\b",
            r"\bout of range\b",
            r"\bmust not be (?:empty|null|blank)\b",
            r"\b(?:expects?|expected) (?:a |an )?(?:string|number|integer|array|object|list|boolean|dict|non-empty)\b",
            r"\bwrong (?:path|method|url|type|number of|format|endpoint)\b",
            r"\binvalid (?:request|input|value|data|argument|option|body|syntax|json|query|body|content)\b",
            r"\bbody (?:is |was )?(?:empty|missing|required|invalid|malformed)\b",
            r"\bmissing (?:body|content|messages|prompt|model|input|parameter|argument|field|header)\b",
            r"\bno such (?:route|path|endpoint|handler|method)\b",
            r"\b(?:unknown|invalid|unsupported) (?:url|path|route|endpoint|method|api version)\b",
            r"\binvalid url \((?:get|post|put|delete|patch)\b",
            r"\bnot found: /",
        ])
        .code(&[
            "InvalidDimensionException",
        ])
        .example("Those options are mutually exclusive"),
    // The caller's own object did not pass the check; the model's would be a bad answer.
    rule("request.validation", InvalidRequest)
        .decisive()
        .text(&[
            r"\bvalidation errors? for \w{0,50}(?:request|requestparams|params|parameters|config|settings|payload|kwargs|body)\b",
            r"\bparameter validation failed\b",
            r"\binvalid json ?schema\b",
            r"\b(?:error|failed|unable|cannot|could not|failure) (?:to )?(?:pars(?:e|ing)|compil(?:e|ing)|build(?:ing)?|convert(?:ing)?|load(?:ing)?) (?:the |a |this |your )?(?:\S{1,14} )?grammar\b",
            r"\b(?:invalid|unsupported|bad) (?:\S{1,12} )?grammar\b|\bgrammar (?:is |was )?(?:invalid|not supported|error|compilation failed)\b",
        ])
        .not(&["1 validation error for Person"])
        .example("parse: error parsing grammar: unknown escape"),
    // The caller itself is too old to be served.
    rule("request.client_version", InvalidRequest)
        .decisive()
        .text(&[
            r"\b(?:update|upgrade) to the latest version\b~\bto (?:continue|keep|proceed)\b",
            r"\b(?:client|app|cli|extension|sdk|version|plugin)(?: version)?(?: \S{1,20})? (?:is |was )?(?:no longer supported|too old|outdated and|unsupported)\b",
            r"\b(?:minimum|required) (?:client |app |cli |supported )?version (?:is|required)\b",
        ])
        .not(&["The model version is deprecated", "A new version is available, run npm update"])
        .example("Please update to the latest version of the editor to continue using the agent"),
    rule("request.provider", InvalidRequest)
        .class()
        .text(&[
            r"\bprovider ['\x22`]?[\w./-]{1,40}['\x22`]? (?:is |was )?(?:not supported|unsupported|unknown|not recognized|not implemented|not registered|not a valid)\b",
            r"\b(?:unknown|unsupported|invalid|unrecognized|no such) (?:llm |model |ai |api |inference )?provider\b",
            r"\bllm provider not provided\b",
            r"\bmax(?:imum)? number of [a-z_ ]{3,30} (?:is|allowed|per request|exceeded)\b",
        ])
        .example("ValueError: Provider 'featherless-ai' not supported."),
    rule("request.shape", InvalidRequest)
        .class()
        .text(&[
            r"\b(?:improperly|incorrectly|badly|wrongly|poorly) (?:formed|formatted|formulated|structured|encoded) (?:request|payload|body|input|message|json|content|query)\b",
            r"\b(?:parameter|argument|field|value|option|header|property)s? (?:is|are|was) (?:illegal|inadmissible|unacceptable|not acceptable|not legal)\b",
            r"\bonly one \S{1,14} (?:message|prompt|tool|image|file|choice|system prompt)s? (?:is|are|may be|can be) (?:allowed|supported|permitted|given)\b",
            r"\b(?:audio|video|image|file|clip|recording) (?:is |was )?too (?:short|small|long)\b",
            r"\b(?:vector |embedding )?dimensions? mismatch\b|\bdimension mismatch\b",
            r"\bfield ['\x22`]?\w{1,40}['\x22`]? (?:doesn't|does not) exist on type\b",
            r"\bnot compatible with (?:the |this )?(?:\S{1,20} )?(?:endpoint|api|operation|method)\b",
        ])
        .example("dimension mismatch: expected 1536, got 768"),
    // Under a 404, whoever names the route means the route.
    rule("request.route", InvalidRequest)
        .status(&[404])
        .text(&[
            r"\b(?:get|post|put|delete|patch) /\S",
            r"\b(?:unknown|invalid|unsupported|no such) (?:api )?(?:endpoint|route|path)\b",
            r"\bon this (?:endpoint|route)\b",
        ])
        .example("404: the function does not exist: POST /v1/foo"),
];
