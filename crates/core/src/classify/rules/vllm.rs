//! vLLM, SGLang and TensorRT-LLM.

use crate::classify::rule::{Rule, rule};
use crate::evidence::Surface;
use crate::kind::FailureKind::{ContextLimit, InvalidRequest, ModelUnavailable, Overloaded, ProcessDied, ServerError};

pub(super) const RULES: &[Rule] = &[
    rule("vllm.context", ContextLimit)
        .decisive()
        .text(&[
            r"maximum context length is \d{1,9} tokens",
            "longer than the maximum model length",
            "decoder prompt~longer than",
        ])
        .example("This model's maximum context length is 32768 tokens. However, you requested 4096 output tokens"),
    rule("vllm.model", ModelUnavailable)
        .decisive()
        .text(&[r"the model [`\x27\x22]\S{1,90}[`\x27\x22] does not exist"])
        .example(r#"{"message":"The model `Qwen/Qwen3-32B` does not exist.","type":"NotFoundError"}"#),
    rule("vllm.engine_dead", ProcessDied)
        .code(&["EngineDeadError", "AsyncEngineDeadError"])
        .text(&[
            "engine (?:process|loop|core) (?:is dead|has died|failed|is not running)",
            "background loop (?:is not running|has errored)",
        ])
        .example("vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue."),
    rule("sglang.too_long", ContextLimit)
        .decisive()
        .text(&["is longer than the model's context length"])
        .example("The input (40000 tokens) is longer than the model's context length (32768 tokens)."),
    rule("sglang.queue", Overloaded).text(&["request queue is full"]).example("The request queue is full."),
    rule("vllm.tool_parser", InvalidRequest)
        .decisive()
        .text(&["requires --enable-auto-tool-choice"])
        .example(r#""auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"#),
    rule("vllm.cuda", ProcessDied)
        .on(Surface::Http, ServerError)
        .decisive()
        .code(&["OutOfMemoryError"])
        .text(&["cuda out of memory", "cuda error: ", "no available memory for the cache blocks", "hip out of memory"])
        .example("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"),
];
