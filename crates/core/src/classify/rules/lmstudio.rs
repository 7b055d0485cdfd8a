//! LM Studio, Jan and GPT4All.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::{ContextLimit, ModelUnavailable, ProcessDied};

pub(super) const RULES: &[Rule] = &[
    rule("lmstudio.crashed", ProcessDied)
        .decisive()
        .text(&["model has crashed", "model process (?:has )?(?:crashed|exited|died)"])
        .example("The model has crashed without additional information. (Exit code: 18446744072635812000)"),
    rule("lmstudio.load", ProcessDied)
        .decisive()
        .text(&["error loading model", "failed to load (?:the )?model~exit code"])
        .example("Failed to load the model. Error loading model. (Exit code: 6)."),
    rule("lmstudio.unloaded", ModelUnavailable)
        .decisive()
        .text(&["model (?:is|was|has been) unloaded", "no models? (?:is |are |currently )?loaded"])
        .example("Error: Model is unloaded."),
    rule("lmstudio.overflow", ContextLimit)
        .decisive()
        .text(&["loaded with context length of only", "number of tokens to keep from the initial prompt is greater"])
        .example("Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"),
];
