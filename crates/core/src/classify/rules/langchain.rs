//! LangChain, LlamaIndex, Pydantic AI, Instructor, DSPy.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::{BadOutput, InvalidRequest};

pub(super) const RULES: &[Rule] = &[
    rule("langchain.output_parsing", BadOutput)
        .decisive()
        .code(&["OutputParserException", "OutputParserError", "OUTPUT_PARSING_FAILURE", "AdapterParseError"])
        .example("langchain_core.exceptions.OutputParserException: Invalid json output: Sure!"),
    rule("langchain.recursion", InvalidRequest)
        .code(&["GraphRecursionError", "GRAPH_RECURSION_LIMIT"])
        .example("GraphRecursionError: Recursion limit of 25 reached without hitting a stop condition."),
    rule("langchain.invalid_history", InvalidRequest)
        .decisive()
        .code(&["INVALID_CHAT_HISTORY", "INVALID_TOOL_RESULTS"])
        .example("INVALID_CHAT_HISTORY: Found AIMessages with tool_calls that do not have a corresponding ToolMessage"),
    // Names of what went wrong at last, around anything at all.
    rule("pydantic_ai.behavior", BadOutput)
        .class()
        .code(&["UnexpectedModelBehavior", "ToolRetryError"])
        .example("pydantic_ai.exceptions.UnexpectedModelBehavior: quux"),
    rule("pydantic.validation", BadOutput)
        .text(&[r"validation errors? for \w"])
        .example("pydantic_core._pydantic_core.ValidationError: 1 validation error for Person"),
    rule("instructor.retries", BadOutput)
        .hint()
        .code(&["InstructorRetryException"])
        .example("instructor.exceptions.InstructorRetryException: quux"),
    rule("instructor.incomplete", BadOutput)
        .decisive()
        .code(&["IncompleteOutputException"])
        .example("instructor.exceptions.IncompleteOutputException: the output is incomplete"),
    rule("jsonschema.failed", BadOutput)
        .decisive()
        .text(&[r"failed validating '\w{1,20}' in schema", r"jsonschema\S{0,12}\.validationerror"])
        .example("jsonschema.exceptions.ValidationError: 'args' is a required property. Failed validating 'required' in schema"),
    rule("zod.failed", BadOutput)
        .decisive()
        .code(&["ZodError"])
        .example(r#"ZodError: [{"code":"invalid_type","expected":"string"}]"#),
];
