//! llama.cpp server.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::{AuthError, BadOutput, ContextLimit, InvalidRequest, Overloaded, ProcessDied};

pub(super) const RULES: &[Rule] = &[
    rule("llamacpp.context", ContextLimit)
        .decisive()
        .text(&[
            "exceeds? the available context size",
            "context size has been exceeded",
            "context shift is disabled",
            r"prompt tokens \(\d{1,9}\) exceeds",
        ])
        .example("request (9157 tokens) exceeds the available context size (8192 tokens), try increasing it"),
    rule("llamacpp.batch", ContextLimit).decisive().text(&[r"is too large to process\. increase"]).example(
        "input (2311 tokens) is too large to process. increase the physical batch size (current batch size: 512)",
    ),
    rule("llamacpp.loading", Overloaded)
        .text(&[r"loading model\x22"])
        .example(r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#),
    rule("llamacpp.slot", Overloaded)
        .text(&["no slots? available", "slot unavailable", "all slots are (?:busy|in use)"])
        .example("no slot available"),
    rule("llamacpp.unsupported", InvalidRequest)
        .decisive()
        .text(&["this server does not support"])
        .example("This server does not support completions."),
    rule("llamacpp.key", AuthError)
        .decisive()
        .text(&[r"invalid api key\x22"])
        .example(r#"{"error":{"message":"Invalid API Key","type":"authentication_error"}}"#),
    rule("llamacpp.assert", ProcessDied)
        .decisive()
        .text(&["ggml_assert", "ggml_cuda~failed", "ggml_abort", "failed to allocate (?:compute|kv|buffer)"])
        .example("GGML_ASSERT(ctx->mem_buffer != NULL) failed"),
    rule("llamacpp.parse", BadOutput)
        .decisive()
        .text(&["failed to parse tool call", "the model produced output that does not match the expected"])
        .example("Failed to parse tool call arguments as JSON"),
];
