//! Ollama.

use crate::classify::rule::{Rule, connection, rule};
use crate::kind::FailureKind::{
    InvalidRequest, ModelUnavailable, NetworkTransient, Overloaded, ProcessDied, QuotaExhausted,
};

pub(super) const RULES: &[Rule] = &[
    rule("ollama.pull_first", ModelUnavailable)
        .decisive()
        .text(&["try pulling it first"])
        .example(r#"model "qwen3:30b" not found, try pulling it first"#),
    rule("ollama.runner_died", ProcessDied)
        .decisive()
        .text(&[
            "llama runner (?:process )?(?:has )?(?:terminated|exited|stopped|crashed|no longer running)",
            "model runner has unexpectedly stopped",
        ])
        .example("llama runner process has terminated: exit status 2"),
    rule("ollama.memory", ProcessDied)
        .decisive()
        .text(&[
            "requires more system memory",
            "not have enough (?:available )?memory",
            "model failed to load, this may be due to resource limitations",
        ])
        .example("model requires more system memory (8.0 GiB) than is available (5.2 GiB)"),
    connection("ollama.not_running", NetworkTransient)
        .text(&[
            "failed to connect to ollama",
            "could not connect to (?:a running )?ollama",
            "ollama (?:is not|isn.t|server not) (?:running|responding)",
        ])
        .example("Failed to connect to Ollama. Please check that Ollama is downloaded, running and accessible."),
    rule("ollama.unsupported", InvalidRequest)
        .decisive()
        .text(&[
            r"does not support (?:thinking|tools|chat|completion|generate|insert|embeddings?|images|vision|streaming)\b",
        ])
        .example(r#""llama3.1:8b" does not support thinking"#),
    rule("ollama.queue", Overloaded)
        .text(&["maximum pending requests exceeded"])
        .example("server busy, please try again.  maximum pending requests exceeded"),
    rule("ollama.upgrade", QuotaExhausted)
        .window()
        .text(&["reached your (?:hourly|weekly|session) usage limit"])
        .example("you have reached your weekly usage limit, please upgrade to continue"),
];
