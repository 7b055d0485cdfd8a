//! What agents make of a model's answer: edits that do not fit, code that does not parse, calls of no tool.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::BadOutput;

pub(super) const RULES: &[Rule] = &[
    rule("editing.no_match", BadOutput)
        .code(&["SearchReplaceNoExactMatch", "SearchTextNotFound", "EditApplyError", "PatchApplyError", "DiffError"])
        .text(&[
            r"\bno sufficiently similar match\b",
            r"\b(?:old_?(?:string|str|text)|search (?:block|text|string|pattern|content)|string to replace|text to replace|target text|original text|exact text(?: block)?|oldtext)\b~\b(?:not found|no match|not match|did not match|does not match|not unique|were found|matches|could not be found|does not appear|doesn't appear|appears? \d|is identical|are identical)\b",
            r"\bfailed to (?:exactly )?match lines\b",
            r"\b& find (?:\S{1,14} ){0,4}(?:old_?string|old_?str|text to replace|search text|search block|lines? to replace|context lines?|expected lines?|a match(?: for)?)\b",
            r"\b(?:patch|hunk|diff|edit)s?\b(?: #?\d{1,4})?(?: \S{1,30})? (?:does not|did not|doesn't|didn't|failed to|could not|couldn't|cannot|can't) (?:be )?(?:apply|applied)\b",
            r"\b(?:invalid|malformed|corrupt|bad) (?:patch|diff|hunk|edit block|search/replace block)\b",
            r"\bhunks? (?:#\d{1,4} )?(?:failed|ignored|rejected)\b|\bpatch failed: \S|\bcorrupt patch at line\b",
            r"\bdid not conform to the edit format\b",
            r"\bno (?:changes|edits) (?:were |was )?(?:made|applied)\b~\b(?:identical|same|match)\b",
        ])
        .not(&["the patch applied cleanly"])
        .example("Invalid diff: hunk failed to apply"),
    rule("editing.code", BadOutput)
        .decisive()
        .text(&[
            r"\b(?:code|action|tool|json|answer) (?:snippet|blob|block|call)\b[^:]{0,50}\b(?:is invalid|invalid|not found|was not found|missing|malformed|could not be (?:parsed|found))\b",
            r"\b(?:regex|pattern)\b~\bwas not found in (?:it|the (?:answer|response|output|text|code))\b",
            r"\bcode parsing failed\b|\berror in code parsing\b",
        ])
        .example("Your code snippet is invalid: the tags are not there"),
    rule("editing.no_tool", BadOutput)
        .decisive()
        .text(&[
            r"\btried to use \S{1,40} without\b",
            r"\bwithout (?:a )?value for required parameter\b",
            r"\bmissing value for required parameter\b~\bretry",

            r"\bno (?:\S{1,12} )?(?:tool|function|command|action) (?:called|named|with (?:the )?name|by the name)\b",
            r"\b(?:tool|function|action) ['\x22`]\S{1,60}['\x22`] (?:was )?(?:not found|does not exist|is not registered|is not available|not in)\b",
            r"\b(?:model|assistant|llm|agent) (?:called|requested|used|invoked|hallucinated|attempted|tried) (?:\S{1,12} ){0,3}(?:tool|function)\b",
            r"\battempted to (?:call|use|invoke) (?:\S{1,12} ){0,3}(?:tool|function)\b",
        ])
        .example("No tool named \"grep_files\" exists"),
    rule("editing.empty", BadOutput)
        .code(&["empty_response", "EmptyResponse", "EmptyResponseError", "NoGenerationChunks", "no_content", "NoContentError"])
        .text(&[
            r"\bno (?:generation|generations|generation chunks|assistant (?:output|message|text|content|response)|completions?|text content|usable (?:output|content|answer|text)|message content)\b~\b(?:returned|produced|received|generated|found|came|after)\b",
            r"\breturned no (?:\S{1,12} ){0,2}(?:output|content|text|message|choices|answer|response|candidates|completion)\b",
            r"\b(?:response|answer|reply|result|completion|payload)\b~\bmissing ['\x22`](?:content|choices|message|text|candidates|output|data|delta|role)['\x22`]",
        ])
        .not(&["Found 3 generations"])
        .example("No generation chunks were returned"),
    rule("editing.wrong_type", BadOutput)
        .text(&[
            r"\b(?:content-?type|mime ?type)\b~\btext/html\b~\b(?:expected|instead|application/json)\b",
            r"\bexpected (?:\S{1,12} ){0,3}(?:application/json|text/event-stream)\b~\b(?:got|received|but|was)\b",
            r"\bexpected (?:json|an? event stream|sse)\b~\b(?:got|received|but)\b",
        ])
        .example("Content-Type was text/html, expected application/json"),
    rule("editing.cut_json", BadOutput)
        .decisive()
        .text(&[
            r"\b(?:json|tool call|tool input|arguments|structured output|yaml|xml|code block)(?: \S{1,12}){0,2} (?:was |is |were |got |has been )?(?:truncated|cut off|incomplete|unterminated)\b",
            r"\btruncated (?:json|tool call|tool input|arguments|yaml|xml)\b",
        ])
        .not(&["The stream was cut off before the message_stop event"])
        .example("finish_reason: length; the JSON answer was truncated"),
    rule("editing.retries", BadOutput)
        .class()
        .text(&[
            r"\bfailed after \d{1,3} attempts?\b~\b(?:validation|schema|pars\w{2,4}|json)\b",
            r"\b(?:validation|schema) (?:errors?|failed|failures?) (?:for|in|on|at) (?:field|the (?:output|answer|response|model))\b",
            r"\bmaximum (?:number of )?(?:validation|output|result|tool) retries\b|\bexceeded maximum retries\b~\b(?:output|validation|result)\b",
        ])
        .example("Failed after 3 attempts: validation errors"),
];
