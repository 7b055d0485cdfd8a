//! Hugging Face: inference API, providers and text-generation-inference.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::{
    ContextLimit, InvalidRequest, ModelUnavailable, Overloaded, QuotaExhausted, ServerError, StreamInterrupted,
};

pub(super) const RULES: &[Rule] = &[
    rule("huggingface.loading", Overloaded)
        .text(&[r"estimated_time\x22"])
        .example(r#"{"error":"Model bigscience/bloom is currently loading","estimated_time":20.0}"#),
    rule("huggingface.overloaded", Overloaded)
        .text(&[r"error_type\x22: ?\x22overloaded"])
        .example(r#"{"error":"Model is overloaded","error_type":"overloaded"}"#),
    rule("huggingface.included_credits", QuotaExhausted)
        .decisive()
        .text(&["monthly included credits", "depleted your monthly"])
        .example("You have exceeded your monthly included credits for Inference Providers. Subscribe to PRO"),
    rule("huggingface.too_large_to_load", ModelUnavailable)
        .decisive()
        .text(&["too large to be loaded automatically"])
        .example("The model x is too large to be loaded automatically (14GB > 10GB)."),
    rule("huggingface.gated", ModelUnavailable)
        .decisive()
        .text(&[r"\bgated repo\b", "you must have access to it and be authenticated"])
        .example("Cannot access gated repo for url https://huggingface.co/x. Access to model x is restricted."),
    rule("huggingface.no_provider", ModelUnavailable)
        .decisive()
        .text(&["not supported by (?:any )?provider", "not supported for task"])
        .example("Model x is not supported by any provider you have enabled."),
    rule("tgi.input_validation_tokens", ContextLimit)
        .decisive()
        .text(&[r"inputs\S{0,2} (?:tokens \+ \S{1,20} )?must (?:have less than|be <=) \d"])
        .example(r#"{"error":"Input validation error: `inputs` must have less than 4095 tokens. Given: 6103","error_type":"validation"}"#),
    rule("tgi.validation", InvalidRequest)
        .class()
        .text(&["input validation error"])
        .example(r#"{"error":"Input validation error: `temperature` must be strictly positive","error_type":"validation"}"#),
    rule("tgi.generation", ServerError)
        .class()
        .text(&["request failed during generation"])
        .example(r#"{"error":"Request failed during generation: Server error","error_type":"generation"}"#),
    rule("tgi.incomplete", StreamInterrupted)
        .code(&["incomplete_generation"])
        .text(&["incomplete generation"])
        .example(r#"{"error":"Incomplete generation","error_type":"incomplete_generation"}"#),
];
