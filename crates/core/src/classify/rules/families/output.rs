//! An answer arrived but is unusable.

use crate::classify::rule::{Rule, rule};
use crate::evidence::Surface;
use crate::kind::FailureKind::{BadOutput, InvalidRequest};

pub(in crate::classify::rules) const RULES: &[Rule] = &[
    rule("output.json", BadOutput)
        .text(&[
            r"\bis not valid json\b",
            r"\b(?:invalid|malformed|bad|broken|unparsable|unparseable|incomplete|truncated|unexpected) json\b",
            r"\bunexpected token\b",
            r"\bunexpected (?:end of json|non-whitespace|character|string in json|number in json|end of input|identifier)\b",
            r"\bunterminated string\b",
            r"\bexpecting (?:value|property name|',' delimiter|':' delimiter|'[,:]')",
            r"\bexpected (?:property name|double-quoted|',' or|':' after|`[,:]`|value|ident|object key)\b~",
            r"\binvalid (?:\S{0,3}escape|control character)\b",
            r"\bextra data: line\b",
            r"\bbad (?:control|escaped|unicode) (?:character|escape)",
            r"\binvalid character '?.{1,4}'? (?:looking for beginning|after|in)\b",
            r"\binvalid json response body\b",
            r"\b(?:failed|unable|could not|couldn't|cannot|can't) (?:to )?(?:be )?(?:pars|decod|deserializ|interpret|unmarshal|extract)\w{0,4} (?:\S{1,20} ){0,4}?(?:json|response|output|answer|completion|reply|content|tool call|arguments|function call|as json|llm|model)",
            r"\berror parsing (?:\S{1,20} ){0,3}(?:json|response|output|tool)",
            r"\b(?:json|response|output|answer)~(?:could not|cannot|couldn't|can't|failed to) be (?:parsed|decoded)",
            r"\bcould not parse\b",
            r"\bjson (?:parse|parsing|decode|decoding|syntax|deserialization) (?:error|failed|failure)\b",
            r"\bexpected (?:value|ident|`.`|end of) .{0,30}at line \d",
            r"\bmissing field `.{1,40}` at line\b",
            r"\beof while parsing\b",
            r"\btrailing characters at line\b",
            r"\binvalid type: .{1,80}expected\b",
        ])
        .code(&[
            "JSONDecodeError",
            "JSONParseError",
            "AI_JSONParseError",
            "json_parse_error",
            "JsonException",
            "JsonSyntaxException",
            "JsonParseException",
            "OutputParserException",
            "OUTPUT_PARSING_FAILURE",
            "output_parse_error",
            "json_validate_failed",
            "invalid_json_output",
        ])
        .not(&["Failed to parse the JSON body of the request"])
        .example("The answer contains malformed JSON"),
    rule("output.schema", BadOutput)
        .text(&[
            "validationerror: ",
            r"\binvalid (?:input|option|enum value|literal value|discriminator value|string|union): ?(?:expected|must)\b",
            r"\bexpected `\w{1,20}`, got `\w{1,20}`",
            r"\bis not valid under any of the given schemas\b",
            r"\bis not of type '\w{1,12}'",
            r"\bis a required property\b",
            r"\bis not one of \[",
            r"\bunexpected (?:response|output|reply) (?:format|shape|structure|type|schema|from the model)\b",
            r"\bexpected (?:object|array|string|number|boolean), received\b",
            r"\b(?:did not|does not|doesn't|didn't|failed to|not) (?:match|conform|comply|adhere|satisfy|validate)(?: to| with| against)? (?:the )?(?:\S{1,20} )?(?:schema|json schema|format|expected format|type)\b",
            r"\bfailed validating '",
            r"\bschema validation (?:failed|error)",
            r"\btype validation failed\b",
            r"\bvalidation errors? for\b",
            r"\bfailed schema\b",
            r"\bresponse validation (?:failed|error)\b",
            r"\bno object generated\b",
            r"\boutput validation\b",
            r"\bexceeded maximum retries~(?:output|result|validation|tool)",
        ])
        .code(&[
            "AI_TypeValidationError",
            "AI_NoObjectGeneratedError",
            "InstructorRetryException",
            "UnexpectedModelBehavior",
            "APIResponseValidationError",
        ])
        .not(&["subject must not be valid against schema {required:[messages]}"])
        .example("No object generated: response did not match schema."),
    rule("output.tool_call", BadOutput)
        .text(&[
            r"\b(?:malformed|invalid|unparsable|broken|incorrect|hallucinated|incomplete) (?:\S{1,20} )?(?:(?:tool|function)[ _]?calls?(?: arguments| format| json| syntax| generated| from| in (?:the )?(?:response|model|output)|[:.,!]|$)|tool arguments|function arguments|tool input|tool use block)",
            r"\binvalid (?:input|tool input) for tool\b",
            r"\bmodel (?:tried to|attempted to|did not|called|generated|produced|returned|requested|output)\b~\b(?:unavailable|unknown|undefined|nonexistent|non-existent|invalid|call a tool|tool that|malformed|no tool|empty|unexpected)\b",
            r"\btool call validation failed\b",
            r"\b(?:tool|function)[ _]calls? (?:arguments )?(?:is |are |was |were )?(?:malformed|invalid|not valid|unparsable|could not be parsed)",
            r"\bunknown tool\b~(?:called|requested|name|:)",
            r"\btool_use_failed\b",
            r"\bmodel (?:called|requested) (?:a |an )?(?:tool|function) (?:that|which)\b",
            r"\bfailed to call a function\b",
        ])
        .code(&[
            "tool_use_failed",
            "MALFORMED_FUNCTION_CALL",
            "UNEXPECTED_TOOL_CALL",
            "TOO_MANY_TOOL_CALLS",
            "malformed_tool_call",
            "invalid_tool_call",
            "invalid_tool_input",
            "AI_InvalidToolInputError",
            "AI_NoSuchToolError",
            "AI_InvalidToolArgumentsError",
            "AI_ToolCallRepairError",
            "unknown_tool",
            "malformed_model_output",
            "ToolCallParseError",
        ])
        .decisive()
        .not(&["Invalid tool call IDs: Expected ['tc_abc'], got ['tc_xyz']"])
        .example("tool call validation failed: parameters for tool x did not match schema"),
    rule("output.empty", BadOutput)
        .text(&[
            r"\bno (?:response|reply) (?:was |were )?(?:returned|generated)\b",
            r"\b(?:potential loop (?:was )?detected|repetitive tool calls|stuck in a loop|looping)\b",
            r"\bmissing (?:choices|content|candidates)\b",
            r"\bkeyerror: '(?:choices|content|candidates|message)'",
            r"\b(?:empty|blank|null) (?:response|content|choices|completion|answer|output|message content|assistant message|body|result|message from|text|candidates?)\b",
            r"\bno (?:choices|candidates|content|completion|output|text|generations?|answer|message|valid choices|response content|assistant message|final answer)\b(?: was| were| is| are)? (?:returned|generated|in (?:the )?(?:response|completion)|produced|received|found in|provided by the model)",
            r"\b(?:response|completion|model|candidate|provider|llm|api)\b~\b(?:was|is|returned|contained|contains|has|had|with|produced) (?:an )?(?:empty|no (?:content|choices|candidates|text|output|parts|message))\b",
            r"\bmodel (?:returned|output|produced) (?:nothing|no)\b",
            "has no attribute '(?:choices|content|candidates|message|delta|text|usage)'",
            r"\bnonetype' object (?:is not (?:subscriptable|iterable)|has no attribute)",
            r"\bcannot read propert(?:y|ies) (?:of undefined|of null|'choices')",
            r"\bresponse\.(?:text|parts|candidates)\b~\b(?:requires|only works|none were returned|empty)",
            r"\bno_?content\b",
        ])
        .code(&[
            "empty_response",
            "empty_content",
            "empty_output",
            "AI_EmptyResponseBodyError",
            "AI_NoContentGeneratedError",
            "AI_NoOutputGeneratedError",
            "no_content_generated",
        ])
        .example("LLM provider returned empty content in streaming response")
        .not(&["message content cannot be empty"]),
    rule("output.not_json_page", BadOutput)
        .text(&[
            r"\b(?:unexpected|wrong|invalid|unsupported|unknown) (?:mimetype|mime type|content[- ]?type)\b~(?:text|html|received|response|:|expected)",
            r"\binvalid header value: .{0,3}text/",
            r"\bexpected (?:content-type )?['\x22`]?(?:application/json|json|text/event-stream)['\x22`]?\b~\b(?:got|received|but|found)\b",
            r"\b(?:received|got|returned) (?:an )?html\b",
            r"\bhtml (?:page |response |document )?(?:instead of|in place of|received|returned)",
            r"\b(?:instead of|not|expected|rather than) (?:valid )?json\b",
            r"\binvalid (?:utf-?8|unicode)\b|\bcodec can't decode\b|\binvalid (?:start|continuation) byte\b",
            r"\b(?:content[- ]?(?:un)?encoding|gzip|brotli|zlib|deflate|decompress\w{0,4})\b~\b(?:invalid|failed|error|not decode|incorrect|corrupt|unexpected|unknown)",
            r"\b(?:failed|error|can(?:not| not)|unable)\b~\b(?:decode content-encoding|decompress|decode response|unencoding|content unencoding|gunzip)\b",
            r"\bincorrect header check\b",
        ])
        .code(&["ContentTypeError", "ContentDecodingError", "UnicodeDecodeError", "DecodingError", "BadGzipFile"])
        .example("The server returned an HTML page in place of an answer"),
    // The same words about arguments we sent, answered by a server.
    rule("output.request_json", InvalidRequest)
        .decisive()
        .text(&[
            r"\binvalid json payload\b",
            r"\bjson payload~(?:unknown name|cannot find field|invalid)",
            r"\b(?:failed to|could not|cannot|unable to|error) (?:pars|decod|deserializ)\w{1,4} (?:the )?(?:json body|request body|json in request body|request json|body of your request|request)",
            r"\bparse the json body of (?:the|your) request\b",
            r"\bcould not parse the json body\b",
            r"\bbody is not valid json\b",
        ])
        .on(Surface::Stream, BadOutput)
        .example("We could not parse the JSON body of your request."),
    rule("output.request_json_refused", InvalidRequest)
        .decisive()
        .status(&[400, 422])
        .text(&[
            r"line \d{1,6},? column \d{1,6}",
            r"\bexpecting ',' delimiter",
            r"\bin json at position \d",
            r"\bjson decode error\b",
        ])
        .not(&["json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"])
        .example(r#"{"error":{"message":"Expecting ',' delimiter: line 1 column 54 (char 53)","code":400}}"#),
];
