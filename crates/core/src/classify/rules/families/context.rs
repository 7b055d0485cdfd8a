//! More tokens than the model or one call may hold.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::{ContextLimit, InvalidRequest};

pub(in crate::classify::rules) const RULES: &[Rule] = &[
    rule("context.code", ContextLimit)
        .decisive()
        .code(&[
            "INPUT_LENGTH",
            "context_length_exceeded",
            "context_length_exceeded_error",
            "context_window_exceeded",
            "ContextWindowExceededError",
            "model_context_window_exceeded",
            "context_exceeded",
            "context_too_long",
            "context_limit_exceeded",
            "context_overflow",
            "exceed_context_size_error",
            "prompt_too_long",
            "input_too_long",
            "max_context_length_exceeded",
            "max_prompt_tokens_exceeded",
            "token_limit_exceeded",
            "model_max_prompt_tokens_exceeded",
            "input_token_limit_exceeded",
            "tokens_limit_reached",
            "request_too_many_tokens",
            "prompt_tokens_exceeded",
        ])
        .example(r#"{"error":{"code":"context_length_exceeded","message":"no"}}"#),
    rule("context.window", ContextLimit)
        .decisive()
        .text(&[
            r"\btoo large to compact\b",
            r"\bcontext length (?:of )?\d[\d,]{1,9}\b~\b(?:greater|larger|longer|more|higher) than\b",
            r"\bfill(?:s|ed|ing)? (?:up )?(?:the |its |your |all of the |entire |whole |model's ){0,2}context\b",
            r"\bcontext (?:window |length |budget )?(?:is |was |has been )?(?:completely |entirely |almost |nearly )?(?:filled|used up|consumed|exhausted)\b",
            r"\bavailable context\b~-\d",
            r"\bcontext size\b~\bnot non-negative\b",
            r"\bsequence length is longer than\b",

            r"\b(?:max(?:imum)?|available|model'?s?|total|allowed|supported) context (?:length|size|window)\b~(?:is (?:only )?\d{1,9}(?: tokens|,|\.|$)|of \d|exceed|: ?\d|\d tokens)",
            r"\bcontext (?:length|window|size|limit)\b~(?:exceed|too (?:long|large|big)|overflow|is full|reached|surpass|over\b)",
            r"\b(?:exceed|exceeds|exceeded|exceeding|over|beyond|surpass(?:es|ed)?|larger than|greater than|longer than|outside|less than|fit (?:in|into|within)|out of|reached|overflow\w{0,4}|bigger than)\b~\bcontext (?:length|window|size|limit)\b",
            r"\bcontext[- ](?:window )?(?:overflow|exceeded|too (?:long|large)|is too long|full)\b",
            r"\bcontext (?:window|length) (?:of|is) (?:only )?\d",
        ])
        .not(&["Model context window too small (minimum is 128k tokens)"])
        .example("The request does not fit into the context window"),
    rule("context.too_long", ContextLimit)
        .decisive()
        .text(&[
            r"\btoo many (?:input |prompt |total )tokens(?:$|[^ ]| [a-oq-z]| p[^e])",
            r"\bn_ctx\b",
            r"\bexceeds? the (?:length|size) limit for (?:this|the|your) (?:chat|conversation|model|thread)\b",
            r"\b(?:history|conversation|prompt|transcript|messages?|chat) (?:\S{1,14} )?(?:no longer fits?|do(?:es)? not fit|doesn't fit|won't fit|cannot fit|can't fit)\b",

            r"\bmax(?:imum)? size: \d{1,9} tokens",
            r"\b(?:request|body) too large for [\w.:/-]{1,60} model\b",
            r"\b(?:prompt|input|message|request|text) (?:has|have|had|contains?|is|of) (?:\S{1,20} ){0,3}\d{3,9} tokens\b~\b(?:limit|max\w{0,4}|allowed|only|exceed\w{0,3}|but)\b",
            r"\btokens? (?:limit|maximum) (?:of|is) \d{1,9}\b~\bexceed",
            r"\btoo (?:long|large) for (?:the |this )?(?:model|context)\b",
            r"\blarger than the (?:maximum |model'?s? )?(?:context|token)",
            r"\bexceeds? (?:the )?(?:maximum |max |model |input |prompt )(?:context|token|input|prompt|sequence) ?(?:length|limit|size|window|count)?",
            r"\b(?:prompt|input|inputs|conversation|message history|chat history|transcript|query|input text|input tokens?|your messages?|request prompt|system prompt)(?: \S{1,20})? (?:is|was|are|has become|became|being|got) (?:much |way )?(?:too (?:long|large|big)|longer than|larger than)",
            r"\b(?:prompt|input|conversation|context) too (?:long|large|big)\b",
            r"\b(?:prompt|input|inputs|messages|conversation) (?:\S{1,24} ){0,5}(?:exceed|exceeds|exceeded) (?:\S{1,20} ){0,4}(?:max(?:imum)?|length|tokens?|limit|size|context)\b",
            r"\b(?:prompt|input|inputs|messages|message) (?:length|size|token count|tokens?)\b~\b(?:exceed|exceeds|exceeded|greater than|larger than|over|range)\b",
            r"\b(?:total|number of|requested|input|prompt|actual) tokens?(?: count)?\b~\b(?:exceed|exceeds|exceeded|surpass)",
            r"\b(?:exceed|exceeds|exceeded|over|above)\b (?:\S{1,20} ){0,4}(?:token limit|tokens limit|limit of \d{1,9} (?:input )?tokens|maximum (?:number of )?(?:input |prompt )?tokens|maximum input|maximum prompt|max(?:imum)? sequence length|maximum allowed (?:number of )?(?:input )?tokens|model's max|max_model_len|n_ctx)",
            r"\btoken limit (?:has been |was )?(?:exceeded|reached)",
            r"\btoken (?:count|length)\b~\b(?:exceeds|exceeded|too)\b",
            r"\btokens?\)?~(?:exceeds|greater than|more than|larger than) (?:\S{1,20} ){0,6}\(?\d{3,9}\b",
            r"\btokens?\)? ?> ?\d{3,9}\b",
            r"must (?:have|be|contain) (?:less|fewer|shorter) than \d{2,9} tokens",
            r"\btoo many tokens (?:in|for) (?:the |your |this )?(?:prompt|input|request|context|model|message)",
            r"\bmaximum (?:prompt|input|sequence) length\b~(?:exceed|is \d|of \d)",
            r"\bexpected maxlength: \d{1,9}, actual: \d",
            r"\binput (?:token )?length\b~(?:exceed|too|greater|longer)",
            r"\bprompt exceeds\b",
            r"\b(?:body|message|detail|error|reason)[\x22']?: ?[\x22']?request (?:is |was )?too long\b",
        ])
        .not(&[
            "Too many input tokens per minute for this key",

            "The maximum tokens you requested exceed the model limit of 4096.",
            "Tokens per minute limit exceeded - too many tokens processed.",
        ])
        .example("Your conversation is too long for this assistant"),
    // One request that alone exceeds an allowance per minute: no wait helps.
    rule("context.request_too_large_for_minute", ContextLimit)
        .decisive()
        .text(&[
            r"\brequest too large\b~(?:for|tokens|model|tpm)",
            r"\b(?:input or output|prompt|input) tokens must be reduced\b",
            r"\breduce your message size\b",
        ])
        .example("Request too large for gpt-5 on tokens per min (TPM): Limit 30000, Requested 36055."),
    rule("context.output_cap", InvalidRequest)
        .decisive()
        .text(&[
            r"\bmax_?tokens\b~\btoo close to\b",
            r"\b(?:not|n't|no) leav(?:e|ing) (?:any |enough |sufficient )?room for\b|\bleaves? no room for\b",
            r"\bmax_(?:completion_|output_|new_)?tokens\b['`]? ?(?:is |are |value )?(?:\S{1,12} )?(?:too large|too big|too high|exceeds|must be|should be|cannot|has to be|> )",
            r"\bmaximum tokens you requested exceed",
            r"\bmax_(?:completion_|output_|new_)?tokens\b~(?:maximum allowed number of output tokens|output token limit|less than or equal to|between \d|at most|at least|must be (?:greater|positive|less))",
            r"\binvalid (?:value for )?['`]?max_(?:completion_|output_|new_)?tokens",
        ])
        .not(&["input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000"])
        .example("max_tokens is too large: 200000. This model supports at most 4096 completion tokens."),
    // Advice that also closes messages about rates.
    rule("context.advice", ContextLimit)
        .class()
        .text(&[
            r"\b(?:reduce|shorten|trim|truncate)~(?:length of (?:the |your )?(?:messages|input|prompt|either)|your prompt|your input|the prompt|the input|prompt length|input length|number of (?:input )?tokens|conversation)",
        ])
        .example("Please shorten your prompt and send it again"),
    // Nothing of the window is used, and still it does not fit.
    rule("context.alone_too_large", ContextLimit)
        .decisive()
        .text(&[r"\blimit:? [\d,]{1,12}, used:? 0, requested\b"])
        .example("on tokens per minute (TPM): Limit 7000, Used 0, Requested ~12903."),
    rule("context.general", ContextLimit)
        .class()
        .text(&[
            r"\bcontext exceeds (?:the |your |its )?(?:model|limit|window|maximum|max)\b",
            r"\bnot enough context (?:available to|left for|length|window|size)\b",
            r"\b(?:ran|run|running|is|are) out of context\b",
            r"^out of context\b",
            r"\bexceed\w{0,3} (?:the )?max(?:imum)? context\b",
            r"\brequest exceeds the model",
            r"^request (?:is )?too long\b",
            r"\bmax(?:imum)? allowed tokens\b",
            r"\b(?:lower|reduce|decrease) the (?:number|amount) of (?:input |prompt )?tokens\b",
            r"\b(?:thread|conversation|chat|session) (?:has |have )?(?:reached|hit|exceeded) (?:the |its |your )?(?:token|context|length) limit\b",
            r"\bexceeds? the length (?:that )?(?:the|this) model\b",
            r"\b(?:prompt|input|request|message) (?:has|have|is|was) (?:\S{1,12} )?\d[\d,]{2,9} tokens\b~\breduce\b",
            r"\b(?:prompt|input|message|request|text|conversation|history|context) (?:has|have|had|contains?|is|of|was|uses?|holds?) (?:\S{1,20} ){0,2}\d[\d,.]{0,9}k? tokens\b~\b(?:limit|max\w{0,4}|allowed|only|exceed\w{0,3}|but)\b",
            r"\b(?:longer|larger|bigger|more) than (?:the )?(?:\S{1,14} ){0,3}\d[\d,.]{0,9}k? tokens\b",
            r"\b(?:use|try|choose|pick|select|need|requires?) (?:a |another |some )?(?:\S{1,14} )?(?:model|llm)?(?: with)? ?(?:a )?(?:larger|bigger|longer|greater) context\b",
            r"\bcontext (?:is )?(?:low|nearly full|almost full)\b",
            r"\bcontext left\b~\b0%",

            r"\bhit (?:a|the|its) (?:token|context) limit\b",
            r"\bexhausted (?:the )?context window\b",
            r"\binput token limit is \d",

            r"\bkv cache slot\b",
            r"\btoken count\b~\b(?:over|above|exceeds|beyond|greater)\b",
            r"\bover (?:the |its )?(?:context )?window\b",

            r"\bsequence length\b~\b(?:exceeds?|longer|larger|greater|too)\b",
            r"\bmax_?(?:prompt|input|context|model|seq)_?(?:tokens|len|length)?\b~\bexceed",
            r"\bexceeds? (?:the )?token (?:budget|limit|window|allowance) of (?:the |this )?model\b",
            r"\b(?:history|conversation|transcript|thread|chat) (?:is |has |was )?(?:become |grown |got |gotten )?(?:too (?:long|large|big)|past what)\b",
            r"\bmax(?:imum)? position embeddings\b",

            r"\btokens\b[^.;]{0,30}\b(?:above|over|beyond|past|more than|exceed\w{0,3}) (?:the |your |its |our )?\d{3,9}\b",
            r"\btokens\b~\b(?:above|over|beyond|past|more than|exceed\w{0,3}) (?:the |your |its |our )?(?:\S{1,14} ){0,3}(?:cap|limit|maximum|max|window|context|allowed)\b",
            r"\b(?:conversation|prompt|history|input|chat|context|transcript)\b(?: \S{1,14}){0,4} (?:grown|too long|past what|longer than|larger than|bigger than|does not fit|doesn't fit|won't fit|cannot hold|can't hold|can hold)\b",
            r"\bcompact (?:it|the conversation|your conversation|the history|the context)\b",
            r"\bstart a new (?:chat|conversation|session|thread)\b~\b(?:long|limit|compact|length|context)\b",

            r"\bmax(?:imum)?[_ ](?:model[_ ]len|seq(?:uence)?[_ ]len(?:gth)?|position_embeddings|context)\b~(?:exceed|greater|longer|larger|\d)",
            r"\b(?:n_ctx|num_ctx|max_model_len|max_seq_len|max_position_embeddings)\b~\b(?:exceed\w{0,3}|too|larger|longer|greater|more)\b",
            r"\bsequence (?:length |is )?(?:too long|exceeds|longer|of \d{3,9} tokens)|\bsequence length of \d{3,9}\b",
            r"\bexceed\w{0,3} (?:\S{1,14} ){0,3}(?:n_ctx|num_ctx|max_model_len|max_seq_len|max_position_embeddings)\b",
            r"\bcontext (?:is |was |has )?(?:too (?:long|large|big)|full|exhausted|overflow\w{0,3}|exceeded)\b",
            r"\b(?:kv|key-value) cache\b~\b(?:exceed|too small|full|not enough|out of)",
            r"\b(?:too many|number of|total|maximum|max) (?:\S{1,12} ){0,3}tokens\b~\b(?:cannot exceed|exceeds?|exceeded|more than|over|allowed is|limit is)\b",
            r"\btokens? (?:exceeds?|exceeded|exceeding|over|above|beyond|more than)\b",
            r"\b(?:prompt|input|conversation|history|transcript|text|document|query|passage)\b(?: \S{1,14}){0,3} (?:exceeds?|exceeded|is over|goes over|went over|surpass\w{0,3}) (?:the |its |your |our )?(?:\S{1,14} ){0,3}(?:limit|maximum|length|tokens?|window|max)\b",
            r"\btoo long\b~\btokens?\b",
            r"\btokens?\b~\btoo long\b",
            r"\btoken (?:budget|limit|cap|maximum)\b~\b(?:exceed\w{0,3}|reached|over|surpass\w{0,3})\b",
            r"\b(?:prompt|input|conversation|history|chat)\b(?: \S{1,20}){0,5} too (?:long|large|big)\b",
            r"\bmaximum (?:number of )?(?:\S{1,12} )?tokens\b~\b(?:is \d|of \d|exceed|allowed|supported)\b",
        ])
        .example("The passage exceeds the limit"),
    rule("context.compaction", ContextLimit)
        .text(&[
            r"\b(?:compact|compaction|summari[sz]e|truncate|prune)\w{0,4}\b~\b(?:still|remains?) (?:over|above|too (?:long|large|big)|exceeds?)\b",
            r"\bmax_seq_len\w{0,3} (?:is |was )?exceeded\b",
        ])
        .example("failed to compact conversation: still over the limit"),
    // A rate may be meant, where there is a word of one.
    rule("context.tokens", ContextLimit)
        .hint()
        .text(&[
            r"\btoo many tokens(?:[.!)\x22']|$)",
        ])
        .not(&["429 Too many tokens."])
        .example("llama_tokenize: too many tokens"),
];
