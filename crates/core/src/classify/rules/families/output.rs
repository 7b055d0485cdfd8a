//! An answer arrived but is unusable.

use crate::classify::rule::{Rule, rule};
use crate::evidence::Surface;
use crate::kind::FailureKind::{BadOutput, InvalidRequest};

pub(in crate::classify::rules) const RULES: &[Rule] = &[
    rule("output.json", BadOutput)
        .text(&[
            r"\bdid not match any variant\b",

            r"\bunrecognized token\b",
            r"\bexpected begin_\w{4,8} but was\b",
            r"(?:unserializable|undecodable|unreadable|unparse?able) ?(?:response|output|answer|body|reply)\b",
            r"\bmalformed (?:json|yaml|xml|toml|jsonl)\b",
            r"\blexical error: (?:invalid|malformed|unallowed|premature)\b",
            r"\bjson document has an improper structure\b|\btape_error\b",
            r"\bnot in gzip format\b|\bbrotli: \S{1,20} (?:process|failed|error)\b",
            r"\bat character offset\b",
            r"\bmapping values are not allowed\b",
            r"\bcould not find expected ':'",
            r"\bbad indentation of a\b",
            r"\bnot well-formed\b",
            r"\bjson\.exception\.\w{4,20}\b",
            r"\bisn't in the correct format\b",
            r"\bunexpected json token\b",

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
            r"\b& (?:be )?(?:pars|decod|deserializ|interpret|unmarshal|extract)\w{0,4} (?:\S{1,20} ){0,4}?(?:json|response|output|answer|completion|reply|content|tool call|arguments|function call|as json|llm|model)",
            r"\berror parsing (?:\S{1,20} ){0,3}(?:json|response|output|tool)",
            r"\b(?:json|response|output|answer)~& be (?:parsed|decoded)",
            r"\bcould not parse\b",
            r"\bjson (?:parse|parsing|decode|decoding|syntax|deserialization) (?:error|failed|failure)\b",
            r"\bexpected (?:value|ident|`.`|end of) .{0,30}at line \d",
            r"\bmissing field `.{1,40}` at line\b",
            r"\beof while parsing\b",
            r"\btrailing characters at line\b",
            r"\binvalid type: .{1,80}expected\b",
        ])
        .code(&[
            "UnpicklingError",
            "JsonReaderException",
            "JsonSerializationException",
            "JsonDataException",
            "JsonEncodingException",
            "ParserError",
            "ScannerError",
            "TomlDecodeError",
            "TOMLDecodeError",
            "YAMLException",
            "YAMLParseError",
            "XMLSyntaxError",
            "ParseError",
            "DecodeError",
            "JSONException",
            "InvalidJSONError",
            "JSONSyntaxError",
            "JsonMappingException",
            "dataCorrupted",
            "keyNotFound",
            "typeMismatch",
            "valueNotFound",
            "MarshalError",
            "UnmarshalTypeError",
            "DeserializationError",
            "RepairError",
            "StructuredOutputError",
            "StructuredOutputValidationError",
            "OutputValidationError",
            "OutputParserError",
            "LengthFinishReasonError",

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
            r"\b(?:reached|hit|exceeded) (?:the |its )?(?:maximum |max )?output token limit\b",
            r"\btruncated (?:due to|because of|by) (?:exceeding |reaching |the )?max_?(?:output_|completion_)?tokens\b",
            r"\binvalid structured output\b",
            r"\bstructured output\b~\b(?:invalid|missing|must|fail\w{0,3}|not)\b",
            r"\bexpected (?:a |an |exactly one |one )?(?:tool_use|tool call|function call|json|structured|object)\b~\b(?:but|got|found|received|instead)\b",

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
            "APIResponseValidationError",
        ])
        .not(&["subject must not be valid against schema {required:[messages]}"])
        .example("No object generated: response did not match schema."),
    // The raw findings of validators, as lists or one by one.
    rule("output.findings", BadOutput)
        .on(Surface::Http, InvalidRequest)
        .text(&[
            r"\b(?:instancepath|schemapath|datapath|schema_path|instance_location|instancelocation|keywordlocation)\b",
            r"\bexpected['\x22]?: ?['\x22]?\w{1,12}['\x22]?, ?['\x22]?(?:received|code|path)\b",
            r"\bexpected (?:an? )?(?:string|str|number|integer|int|float|double|object|array|list|boolean|bool|dict|map|null|value|key|enum|date|tool ?call|function call|text|block),? but (?:received|got|found|was)\b",
            r"\bjsonschema validation failed\b|\bjsonschema: '",
            r"\bat path: \S{1,60} -- expected\b",
            r"\b(?:integer|string|object|array|boolean|number|null) (?:value )?(?:expected, (?:but )?)?(?:got|found|received):? (?:an? )?(?:integer|string|object|array|boolean|number|null|undefined|nonetype)\b",
            r"\b(?:integer|string|object|array|boolean|number) (?:found|given|received), (?:an? )?(?:integer|string|object|array|boolean|number) (?:expected|wanted|required)\b",
            r"\bis missing but it is required\b",
            r"\brequired properties (?:\S{1,60} )?(?:are|were|is) (?:missing|not present)\b",
        ])
        .not(&["expected 200, but got 503 Service Unavailable"])
        .example(r#"[{"instancePath":"/n","keyword":"type","message":"must be integer"}]"#),
    // A page where JSON was due, in the words of a client that prints what it got.
    rule("output.page_with_success", BadOutput)
        .decisive()
        .text(&[
            r"\btext/html\b.{0,400}\bstatus(?:[_ ]?code)?['\x22]?[:=]? ?2\d\d\b",
            r"\bstatus(?:[_ ]?code)?['\x22]?[:=]? ?2\d\d\b.{0,200}\btext/html\b",
        ])
        .not(&["status_code: 403, headers: {'content-type': 'text/html'}"])
        .example("ApiError: headers: {'content-type': 'text/html'}, status_code: 200, body: Welcome"),
    rule("output.tool_call", BadOutput)
        .text(&[
            r"\bmodel called a tool that\b",
            r"\btool with name \S{1,40} (?:was |is )?not found\b",
            r"\bno (?:tool ?callback|tool|function|handler)s? (?:was |were )?(?:found|registered) (?:for|with|named|matching) (?:the )?(?:tool|function|name)\b",
            r"\btool (?:input |argument |call )?validation (?:failed|error)\b",
            r"\bno (?:parseable|parsable|valid|usable) (?:tool|function) calls?\b",
            r"\b(?:malformed|invalid|unparsable|broken|incorrect|hallucinated|incomplete) (?:\S{1,20} )?(?:(?:tool|function)[ _-]?calls?(?: arguments| format| json| syntax| generated| from| in (?:the )?(?:response|model|output)|[:.,!]|$)|tool arguments|function arguments|tool input|tool use block)",
            r"\binvalid (?:input|tool input) for tool\b",
            r"\bmodel (?:tried to|attempted to|did not|called|generated|produced|returned|requested|output)\b~\b(?:unavailable|unknown|undefined|nonexistent|non-existent|invalid|call a tool|tool that|malformed|no tool|empty|unexpected)\b",
            r"\btool call validation failed\b",
            r"\bunexpected (?:tool|function)[ _-]?(?:call|use)s?\b",
            r"\b(?:tool|function)[ _-]calls? (?:arguments )?(?:is |are |was |were )?(?:malformed|invalid|not valid|unparsable|could not be parsed)",
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
            r"\bfinish_reason\x22: ?null.{0,80}\bmessage\x22: ?\{\x22content\x22: ?\x22\x22",
            r"\bno (?:response|answer|reply|output|text|content) was (?:returned|generated|produced|received|given)\b",

            r"\bno assistant messages?\b",
            r"\b(?:did not|didn't|does not|doesn't|failed to) (?:provide|return|produce) (?:any |a |an )?(?:\S{1,14} ){0,2}(?:assistant messages?|content|text|choices|candidates|completion)\b",

            r"\bno (?:response|reply) (?:was |were )?(?:returned|generated)\b",
            r"\b(?:potential loop (?:was )?detected|repetitive tool calls|stuck in a loop)\b|\b(?:model|agent|llm|response|output) (?:is |was |started |kept )?looping\b",
            r"\bmissing (?:choices|content|candidates)\b",
            r"\bkeyerror: '(?:choices|content|candidates|message)'",
            r"\b(?:empty|blank|null) (?:response|content|choices|completion|answer|output|message content|assistant message|body|result|message from|text|candidates?)\b",
            r"\bno (?:choices|candidates|content|completion|output|text|generations?|answer|message|valid choices|response content|assistant message|final answer)\b(?: was| were| is| are)? (?:returned|generated|in (?:the )?(?:response|completion)|produced|received|found in|provided by the model)",
            r"\b(?:response|completion|model|candidate|provider|llm|api)\b~\b(?:was|is|returned|contained|contains|has|had|with|produced) (?:an )?(?:empty|no (?:content|choices|candidates|text|output|parts|message))\b",
            r"\bmodel (?:returned|output|produced) (?:nothing|no)\b",
            "has no attribute '(?:choices|content|candidates|message|delta|text|usage)'",
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
            r"\bmime type \(?['\x22][^'\x22]{1,40}['\x22]\)? that is not\b",
            r"\b(?:unexpected|wrong|invalid|unsupported|unknown) (?:mimetype|mime type|content[- ]?type)\b[^.]{0,60}(?:text/|html|received|response|expected|got|application/)",
            r"\binvalid header value: .{0,3}text/",
            r"\bexpected (?:content-type )?['\x22`]?(?:application/json|json|text/event-stream)['\x22`]?\b~\b(?:got|received|but|found)\b",
            r"\b(?:received|got|returned) (?:an )?html\b",
            r"\bhtml (?:page |response |document )?(?:instead of|in place of|received|returned)",
            r"\b(?:instead of|not|expected|rather than) (?:valid )?json(?:$|[^a-z_ ]| [^s])",
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
            r"\breceived request (?:for \S{1,60} )?with invalid json\b",
            r"\bgo struct field \w{0,30}(?:request|req|params|input|payload)\b",
            r"\b(?:json|deserializ\w{1,6}|pars\w{2,4}|syntax)\b~\(?request body\)?",

            r"\binvalid json payload\b",
            r"\bjson payload~(?:unknown name|cannot find field|invalid)",
            r"\b(?:failed to|could not|cannot|unable to|error) (?:pars|decod|deserializ)\w{1,4} (?:the )?(?:json body|request body|json in request body|request json|body of your request|request)",
            r"\bparse the json body of (?:the|your) request\b",
            r"\b& parse the json body\b",
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
    // A program that tripped over an answer; where it is a server that tripped, its status says so.
    rule("output.absent_field", BadOutput)
        .hint()
        .text(&[
            r"\blast message was not an assistant message\b",
            r"\bexpected string or bytes-like object\b",
            r"\bthe json object must be str, bytes or bytearray\b",
            r"\bcannot read propert(?:y|ies) (?:of (?:undefined|null) \(reading )?'(?:choices|message|messages|content|candidates|parts|delta|text|usage|tool_calls|function_call|output|completion|finish_reason|role)'",
            r"\bis undefined\b~\b(?:choices|message|content|candidates)\b",
            r"\b(?:choices|candidates|message\.content|tool_calls|output_text)\b.{0,60}\bis undefined\b",
        ])
        .not(&["TypeError: Cannot read properties of undefined (reading 'filePath')"])
        .example("TypeError: Cannot read properties of undefined (reading 'message')"),
    rule("output.general", BadOutput)
        .class()
        .text(&[
            r"\btext length 0 (?:chars|characters|bytes|tokens)\b",
            r"\bnull value for `?(?:choices|content|candidates|message)\b",
            r"\bcould not be converted\b~\bjson\b",
            r"\b(?:response|output|answer|reply|completion|message|result) (?:is|was|appears|looks|seems)(?: to be)? (?:malformed|garbled|corrupt(?:ed)?|unusable)\b",
            r"\b(?:response|output|answer|reply|completion|result) (?:has|had|is in|was in|came in) an? (?:unexpected|invalid|wrong|unknown|unsupported) (?:format|shape|structure|type)\b",
            r"\b(?:response|output|answer|reply|completion|result) contain(?:s|ed) no (?:\S{1,14} )?(?:content|choices|text|candidates|message|json|data|parts)\b",
            r"\b(?:reply|completion|answer|result|generation) (?:could not|cannot|can't) be (?:parsed|decoded|read|interpreted|validated)\b",
            r"\berror parsing (?:the )?(?:function|tool) (?:call )?(?:arguments|call|input)\b",
            r"\bno response from (?:the )?(?:model|llm)\b",
            r"\b& validate (?:the )?(?:model|llm|structured)?(?:'s)? ?(?:output|response|answer|reply)\b",
            r"\b(?:garbled|repeated|gibberish) output\b",
            r"\brefusing to deserialize\b",
            r"\binvalid websocket frame\b",
            r"\bexpected response body of (?:the )?type\b",
            r"\bno transformation found\b",
            r"\breturned (?:an? )?(?:invalid|malformed|unusable|garbage|bogus|garbled) (?:\S{1,12} )?(?:result|response|output|data|payload|answer|value|body|object)\b",
            r"\b(?:completed|ended|finished|returned|stopped|came back) without (?:any |a |an |producing |sending |returning |yielding |generating ){0,2}(?:\S{1,12} )?(?:chunks?|content|output|text|tokens|data|answer|response|message|choices|candidates|tool calls?)\b",
            r"\bno (?:valid|parse?able|usable|recogni[sz]able|executable) \S{1,16}(?: \S{1,14})? (?:in|from|by) (?:the )?(?:model|llm|assistant|agent|ai)\b",
            r"\bnon-?json (?:response|output|answer|body|reply|data|content|payload)\b",
            r"\b(?:response|output|answer|reply|completion|generation|message)\b(?: \S{1,14}){0,2} (?:hit|reached|exceeded|stopped at|ran into|was cut (?:off )?(?:at|by)|truncated (?:at|by|due to)) (?:the |its |a |your )?(?:\S{1,14} )?(?:length|token|tokens|output|size|generation) (?:limit|cap|maximum|budget)\b",
            r"\b(?:reached|hit) (?:the |its )?(?:max(?:imum)?|limit)(?: number)?(?: of)? (?:output |completion |response |generated )?tokens (?:allowed |permitted )?(?:for|in|of) (?:the |a |this |its )?(?:response|output|answer|reply|completion|generation)\b",
            r"\b(?:plain[- ]?text|text|prose|natural language) (?:responses?|answers?|replies|outputs?) (?:are|is|was|were) not (?:permitted|allowed|accepted|supported|valid)\b",
            r"\b(?:didn't|did not|doesn't|does not) (?:contain|include|have|hold) (?:any |a |an |the )?(?:valid |parseable )?(?:json|yaml|xml|tool calls?|code block|function call|structured|choices|answer|content)\b",

            r"\bno (?:response|answer|reply|output|content|text|message) (?:was |were )?(?:found|present|available|extracted)\b",

            r"\bunpars(?:e|ea)?able\b",
            r"\bno (?:valid |parseable |usable )?(?:json|yaml|xml|tool call|code block|function call)\b~\b(?:found|in|returned|detected|present)\b",
            r"\b(?:llm|model|assistant|gpt|claude|gemini) (?:has )?(?:returned|produced|answered|replied|wrote|gave|generated|emitted|responded)(?: with)? (?:an? |the |some )?(?:\S{1,12} )?(?:invalid|malformed|wrong|unknown|empty|garbled|incomplete|unusable|unsupported|text where|prose)\b",

            r"\b(?:model|llm|assistant|agent|parser) (?:output|response|reply|answer|completion|result)\b~\b(?:missing|lacks?|without|invalid|wrong|bad|malformed|not|unexpected|incomplete)\b",
            r"\bmissing (?:the )?expected\b",
            r"\bhallucinat\w{2,5} (?:a |an |the )?(?:\S{1,14} )?(?:tool|function|call|argument|parameter|name|schema|field)s?\b",
            r"\b(?:prose|plain text|free text|markdown|text|words) (?:where|instead of|rather than|when|in place of) (?:a |an |the )?(?:\S{1,12} )?(?:tool call|json|function call|structured|schema|object|call)\b",

            r"\b(?:reply|answer|response|output|message|completion|result)\b(?: \S{1,14}){0,3} (?:neither|nor tool|no text|no tool|nothing|unusable|unreadable|gibberish|garbage|garbled|nonsense)\b",
            r"\bnot among the (?:tools|functions|options|choices|allowed)\b",
            r"\bunterminated\b",
            r"\b(?:extract|find|locate|read|recover|detect) (?:\S{1,14} ){0,3}(?:json|yaml|xml|code block|tool call)\b~\b(?:from|in|failed|could not)\b",
            r"\b& (?:extract|find|locate|recover|detect|read) (?:\S{1,14} ){0,4}(?:json|yaml|xml|code block|tool call|object|answer|choices|content) (?:in|from|object)\b",
            r"\bunexpected byte\b",
            r"\b(?:tool|function) (?:arguments|args|input|parameters|name)\b~\b(?:cut|truncated|incomplete|wrong|bad|unterminated|unknown|invalid|missing)\b",
            r"\bcalled \S{1,40},? which (?:is not|does not|isn't|doesn't)\b",
            r"\binvalid element\b|\bstarttag\b|\bunclosed (?:tag|string|bracket|brace)\b",

            r"\bunexpected character\b",
            r"\bmalformed (?:json|yaml|xml|toml|jsonl|document|output)\b",
            r"\bwhile parsing (?:a |an |the |object|array|value|string|number|flow|block)",
            r"\bcharacter offset \d",
            r"\bgarbage after json\b",
            r"\bjson_error_\w{4,20}\b",
            r"\bjson_decode\b",
            r"\b(?:json|yaml|xml|toml)\S{0,30} ?(?:syntax|parse|parsing|decode|decoding|scanner) ?(?:error|exception|failure|failed)\b",
            r"\bfound (?:character|unexpected|undefined|duplicate) ?\S{0,12} (?:that|end|key|anchor|document)\b",
            r"\bdid not find expected\b",
            r"\b(?:scannererror|parsererror|yamlexception|composererror|constructorerror)\b",
            r"\bmismatched tag\b",
            r"\bno element found\b",
            r"\bpremature end of (?:data|file|input)\b",
            r"\bextra content at the end of\b",
            r"\bjunk after document element\b",
            r"\bkey must be a string\b",
            r"\btrailing (?:comma|data|characters|garbage|content)\b",
            r"\bunknown variant\b",
            r"\bexpected object or value\b",
            r"\bunexpected end of (?:data|json|string|input|document|yaml)\b",
            r"\buse jsonreader\.setlenient\b",
            r"\bis not a subtype of type\b",
            r"\bcould not be converted to\b",
            r"\b& (?:deserialize|unmarshal|coerce|decode)\b",
            r"\bline \d{1,6},? (?:column|position|col) \d{1,6}\b",
            r"\bnot (?:valid|parseable|parsable|well[- ]formed|proper|correct) (?:json|yaml|xml|toml)\b",
            r"\b& parse\b",
            r"\bparse (?:error|failure|failed)\b",
            r"\bparsing (?:error|failed|failure)\b",
            r"\bwas expecting\b",
            r"\bformatexception\b",
            r"\binvalid (?:date or number|toml|yaml|xml)\b",
            r"\berror in \$",
            r"\b& interpret\b",
            r"\bmust have required propert",
            r"\bmust not have additional propert",
            r"\b(?:data|instance|input)(?:/\S{1,30}|\.\S{1,30})? must be (?:\S{1,12} )?(?:integer|string|object|array|boolean|number|equal|one of|null)",
            r"\bmissing data for required field\b",
            r"\bexpected `\w{1,20}\S{0,20}`, got\b",
            r"\b(?:schema|structured output|response model|response_model|output) (?:mismatch|violation|validation)\b",
            r"\b(?:invalid|wrong|bad|unexpected|unusable|unparsable|unrecognized|incorrect) (?:\S{1,14} )?(?:response|output|answer|reply|completion) (?:from|by|of|received|returned|format|structure)\b",
            r"\bexpected schema\b",
            r"\bdoes not contain (?:the |a |an |any )?(?:expected|required|valid)\b",
            r"\bresponse (?:was |is )?missing\b",
            r"\bbamlvalidationerror\b|\bbaml\b~\bfailed\b",
            r"\bunexpected api response\b",
            r"\b(?:no|without (?:a|any)|zero|missing|expected(?: exactly)?(?: one| a| an| at least one)?) (?:valid )?(?:tool|function)[ _-]?(?:calls?|use)\b~\b(?:found|returned|made|in|was|were|answer|response|output|message|got|generated|received|produced)\b",
            r"\b(?:did not|didn't|does not|doesn't|failed to|never) (?:call|use|invoke|make|provide|return|produce|contain|include|generate|emit|select) (?:\S{1,12} ){0,3}(?:tool|function)s?\b",
            r"\b(?:tool|function) \S{1,60} (?:does not exist|is not (?:a valid|available|registered|defined|known|recognized|an available)|was not found|not found|not available|isn't available|is unknown|not defined)\b",
            r"\bno such (?:tool|function)\b",
            r"\bunknown (?:tool|function)\b",
            r"\b(?:tool|function) not found\b",
            r"\b(?:not|isn't) (?:a valid|an available|a known) (?:tool|function)\b",
            r"\b(?:called|requested|invoked|used) (?:an? )?(?:unknown|undefined|nonexistent|non-existent|unavailable|invalid|unregistered) (?:tool|function)\b",
            r"\btool[ _]?(?:input|args|arguments|parameters)\b~\b(?:invalid|malformed|missing|not valid|failed|could not|truncated|empty)\b",
            r"\binvalid (?:tool|function) (?:name|arguments?|args|input|parameters)\b",
            r"\barguments (?:for|of|to) (?:tool|function)\b~\b(?:invalid|malformed|not valid|failed|missing)\b",
            r"\bmissing 'action:?'",
            r"\bwithout a current (?:message|block|content|tool|response)\b",
            r"\b(?:did not|didn't|does not|doesn't|never) (?:provide|return|produce|contain|include|generate|give|yield|send|emit) (?:any |a |an |the )?(?:\S{1,14} ){0,2}(?:assistant|content|text|output|response|answer|message|choices?|candidates?|completion|reply|result)s?\b",
            r"\b& (?:provide|return|produce|contain|include|give|yield|emit) (?:any |a |an |the )?(?:\S{1,14} ){0,2}(?:assistant|content|text|output|response|answer|message|choices?|candidates?|completion|reply|result)s?\b",
            r"\breturned (?:an? )?(?:empty|blank|null|no)\b",
            r"\b(?:empty|blank) or invalid (?:response|answer|output)\b",
            r"\b(?:response|answer|output|completion|content|reply|choices|message) (?:is|was|were|came back|came) (?:empty|blank|null|none|undefined)\b",
            r"\bgot (?:an )?(?:empty|blank|null|no) (?:response|answer|reply|content|output|completion)\b",
            r"\bno (?:content|choices|output|text|answer|completion|generations?|candidates) (?:in|from)\b",
            r"\bno (?:\S{1,14} )?(?:data|block|part|field|payload)s? in (?:the |its )?(?:\S{1,12} )?(?:response|answer|reply|completion)\b",
            r"\binability to use a tool\b|\bfailure in the model's thought\b",
            r"\bunexpected (?:event|chunk|message|delta|block|state)\b~\b(?:order|type|before|after|without|event|received|index|state)\b",
            r"\breceived (?:\S{1,40} )(?:before|without|after) (?:a |an |the )?(?:\S{1,20} )?(?:message|block|start|event|stop)",
            r"\bevent (?:out of order|order)\b|\bunexpected event order\b",
        ])
        .example("What came back is not valid YAML"),
    // What the sampler or the agent's loop says of an answer that leads nowhere.
    rule("output.stuck", BadOutput)
        .code(&[
            "AgentStuckInLoopError",
            "StuckInLoop",
            "LoopDetected",
            "LoopDetectedError","malformed_tool_use", "malformed_response", "malformed_output", "repetition_detected", "output_parse_error"])
        .text(&[
            r"\bstuck in (?:a |an )?(?:\S{1,12} )?loop\b",
            r"\b(?:advance|update|step)\w{0,3} (?:the )?fsm\b",
            r"\bgrammar matcher\b~\b(?:failed|rejected|terminated)\b",
            r"\brepetition (?:was |has been )?detected\b|\b(?:repetitive|repeating|degenerate) (?:output|tokens|text|response)s?\b~\b(?:detected|stopp\w{2,4}|abort\w{0,3})\b",
            r"\b(?:infinite|endless|repeated|repeating) (?:loop|sequence|series) of (?:\S{1,12} )?(?:tool|function) calls\b",
            r"\bended the response before (?:returning|producing|any|sending)\b",
            r"\b(?:truncated|cut off|ended) before the (?:json|object|tool call|function call) (?:was |is )?(?:complete\w?|closed|finished)\b",
        ])
        .example("Generation failed with stop reason: malformed_tool_use"),
    rule("output.shape", BadOutput)
        .code(&["InvalidResponseDataError", "AI_InvalidResponseDataError"])
        .text(&[
            r"\bcannot index (?:string|array|object|number|null|boolean) with\b",
            r"\bcannot iterate over (?:string|number|null|boolean|object)\b",
            r"\bexpected '[^']{1,40}' to be an? (?:string|number|array|object|boolean|list)\b",
            r"\b(?:reading|accessing|indexing) (?:the )?['\x22`]?(?:response\.|resp\.|data\.|completion\.)?(?:choices|message\.content|candidates|output_text|content\[0\])",
            r"\bcould not be applied: no (?:diff|patch|edit|change|match)",
            r"\bdoes not contain any (?:json|tool call|code|xml|valid|function)\b",
        ])
        .example("IndexError: list index out of range when reading response.choices[0]"),
    // The model made it, and made it wrong, whatever the status says.
    rule("output.made_by_model", BadOutput)
        .decisive()
        .text(&[
            r"\berror invoking tool\b~\bwith (?:kwargs|error|args|arguments)\b",
            r"\bi missed the '\S{1,12}'? after\b",
            r"\b(?:tool|function)[- ]call arguments?\b~\b(?:must|should|expected|are not|is not|were not|could not|failed)\b",
            r"\b(?:assistant|model|llm|agent) (?:tried|attempted|wanted) to (?:use|call|invoke|run) (?:an? |the )?(?:\S{1,14} )?(?:tool|function)\b~\b(?:not|doesn't|unknown|unavailable|invalid|nonexistent)\b",

            r"\b(?:generated|produced|emitted|returned|given|written|issued|made|proposed|suggested) by (?:the |an? )?(?:model|llm|ai|assistant|agent)\b~\b(?:invalid|malformed|not valid|incomplete|unparse?able|could not be|cannot be|failed|wrong|empty|not recogni[sz]ed)\b",
            r"\b(?:invalid|malformed|incomplete|unparse?able|empty|unknown) (?:\S{1,14} ){1,3}(?:was |were )?(?:generated|produced|emitted|returned|given|issued) by (?:the |an? )?(?:model|llm|ai|assistant)\b",
            r"\b(?:model|llm|assistant) (?:\S{1,20} )?(?:used|gave|provided|wrote|proposed|picked|chose|sent|supplied) (?:an? |the )?(?:\S{1,14} ){0,3}(?:invalid|malformed|wrong|nonexistent|that don't match|that do not match|that doesn't match|not match)",
            r"\b(?:output|answer|response|reply) (?:doesn't|does not|didn't|did not) fit\b",
            r"\bunexpected (?:line|chunk|data|event|payload|frame|field|value|type|message|data format|line format) (?:format |type |shape )?in (?:the )?(?:\S{1,12} )?(?:response|stream|answer|reply|output)\b",
            r"\b(?:search|replace|original|old_string|oldstring|edit) (?:block|string|text|pattern|hunk)s? (?:must|did not|didn't|does not|doesn't|failed to|don't|do not|not) (?:exactly |uniquely )?(?:match|found|appl)",
        ])
        .not(&["The function call was made by the model"])
        .example("The function call generated by the model is invalid"),
    // A 400 blames the request, and whoever sends it for what the model wrote says so.
    rule("output.refused", BadOutput)
        .decisive()
        .status(&[400, 422])
        .code(&["json_validate_failed", "output_parse_failed", "tool_use_failed", "invalid_json_output", "malformed_tool_call", "malformed_function_call"])
        .text(&[
            r"\btool call (?:function )?arguments must be valid json\b",
            r"\brequested tool does not exist\b",
            r"\bmodel did not (?:output|produce|return|generate|emit) (?:a |any )?valid json\b",
            r"\bjson mode (?:couldn't|could not|cannot) be met\b",
            r"\b(?:llm|model|assistant) (?:has )?(?:returned|produced|answered|wrote|gave|generated|emitted|called|requested)(?: with)? (?:an? |the |some )?(?:\S{1,12} ){0,3}?(?:invalid|malformed|unknown|empty|incomplete|unparse?able|(?:that|which) (?:could not|cannot|can't) be)\b",
            r"\b(?:llm|model|assistant)(?:'s)? (?:output|response|answer|reply|completion)\b~\b(?:(?:could not|cannot|can't) be (?:parsed|decoded|validated|read)|(?:did not|does not|didn't|doesn't) (?:match|conform|comply|contain|adhere|fit)|(?:is|was) not (?:a )?valid|not valid json|failed (?:\S{1,12} )?validation|invalid|malformed)\b",
            r"\b(?:output|response|answer|reply|json|arguments|tool call|function call) (?:returned |generated |received |produced )?(?:from|by) (?:the )?(?:llm|model|assistant)\b~\b(?:(?:could not|cannot|can't) be (?:parsed|decoded|validated|read)|(?:did not|does not|didn't|doesn't) (?:match|conform|comply|contain|adhere|fit)|(?:is|was) not (?:a )?valid|not valid json|failed (?:\S{1,12} )?validation|invalid|malformed|missing)\b",
            r"\b(?:llm|model|assistant) (?:did not|didn't|failed to|does not|never) (?:return|produce|generate|call|emit|make|provide) (?:an? |any |the )?(?:\S{1,12} )?(?:tool|function|json|valid|structured|parse?able)\b",
        ])
        .not(&["HTTP 400: the JSON body of the request is malformed", "HTTP 400: response_format is invalid for this model"])
        .example("HTTP 400: the assistant returned an incomplete call"),
    // A result without words, beside which the cause may stand.
    rule("output.blank", BadOutput)
        .hint()
        .text(&[
            r"\bresult\x22: ?\x22\x22[,}]",
        ])
        .not(&[r#"{"result":"","error":"rate limit exceeded"}"#])
        .example(r#"{"subtype":"success","result":"","num_turns":28}"#),
];
