//! What a model's name says about the fields it takes. Everyone answers chat completions, and no two
//! take the same ones: what a model is known to reject is not sent to it.

use crate::translate::canon::{Effort, Thinking};
use crate::translate::repair::is_mistral;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Model {
    kind: Kind,
    /// OpenAI's own name, so it is OpenAI that answers; others write `openai/gpt-5`.
    is_direct: bool,
    /// The most it can write, where asking for more is an error.
    pub(super) tokens_max: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// OpenAI's o1, o3 and o4.
    O,
    /// OpenAI's from GPT-5 on, which think.
    Gpt(u32, u32),
    /// The same without a choice of how much.
    GptChat,
    /// Others that take the three classic efforts.
    Effortful,
    Mistral,
    Other,
}

/// Clients of vendors with larger models ask for more than these can write.
const TOKENS_MAX: [(&str, u64); 7] = [
    ("gpt-4.1", 32_768),
    ("gpt-4o", 16_384),
    ("chatgpt-4o", 16_384),
    ("gpt-4-turbo", 4096),
    ("gpt-4", 8192),
    ("gpt-3.5", 4096),
    ("deepseek-chat", 8192),
];

/// From here on OpenAI does not let a model think in chat completions that has tools.
const NO_THINKING_WITH_TOOLS: (u32, u32) = (5, 4);

/// From here on a model thinks unless it is told not to.
const THINKS_UNASKED: (u32, u32) = (5, 5);

impl Model {
    pub(super) fn of(model: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or(model);
        let tokens_max = TOKENS_MAX.iter().find(|(begin, _)| name.starts_with(begin)).map(|(_, tokens)| *tokens);
        Self { kind: Kind::of(name), is_direct: name.len() == model.len(), tokens_max }
    }

    /// OpenAI's models that think take another limit, and reject what steers sampling.
    pub(super) const fn is_openai_thinker(self) -> bool {
        matches!(self.kind, Kind::O | Kind::Gpt(..) | Kind::GptChat)
    }

    /// One tool at a time cannot be asked of the first that thought.
    pub(super) fn takes_parallel_tools(self) -> bool {
        self.kind != Kind::O
    }

    /// Mistral rejects every field that it does not know.
    pub(super) fn is_mistral(self) -> bool {
        self.kind == Kind::Mistral
    }

    /// What to send as its effort, and whether that is what was wanted.
    pub(super) fn effort(self, wanted: Option<Thinking>, with_tools: bool) -> (Option<&'static str>, bool) {
        if let Kind::Gpt(major, minor) = self.kind
            && with_tools
            && self.is_direct
            && (major, minor) >= NO_THINKING_WITH_TOOLS
        {
            let off = ((major, minor) >= THINKS_UNASKED).then_some("none");
            return (off, matches!(wanted, None | Some(Thinking::Off)));
        }
        match wanted.map(Thinking::effort) {
            None => (None, true),
            Some(Some(effort)) => {
                let name = self.effort_name(effort);
                (name, name.is_some())
            }
            // Not to think at all.
            Some(None) => match self.kind {
                Kind::Gpt(5, 0) => (Some("minimal"), true),
                Kind::Gpt(..) => (Some("none"), true),
                _ => (None, false),
            },
        }
    }

    fn effort_name(self, effort: Effort) -> Option<&'static str> {
        match self.kind {
            Kind::Gpt(5, 0) => Some(effort.min(Effort::High).name()),
            Kind::O | Kind::Gpt(5, 1) | Kind::Effortful => Some(effort.clamp(Effort::Low, Effort::High).name()),
            Kind::Gpt(..) if effort == Effort::Max => Some("xhigh"),
            Kind::Gpt(..) => Some(effort.max(Effort::Low).name()),
            Kind::GptChat | Kind::Mistral | Kind::Other => None,
        }
    }
}

impl Kind {
    fn of(name: &str) -> Self {
        if is_mistral(name) {
            return Self::Mistral;
        }
        if name.starts_with("gpt-oss") || name.starts_with("gemini-") {
            return Self::Effortful;
        }
        if ["o1", "o3", "o4"].iter().any(|begin| name == *begin || name.starts_with(&format!("{begin}-"))) {
            return Self::O;
        }
        let number = name.strip_prefix("gpt-").map(|rest| rest.split('-').next().unwrap_or(rest));
        let mut numbers = number.unwrap_or_default().split('.').map(str::parse);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(5..)), _) if name.contains("-chat") => Self::GptChat,
            (Some(Ok(major @ 5..)), minor) => Self::Gpt(major, minor.and_then(Result::ok).unwrap_or(0)),
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(model: &str, wanted: Option<Thinking>, with_tools: bool, effort: Option<&str>, as_wanted: bool) {
        assert_eq!(Model::of(model).effort(wanted, with_tools), (effort, as_wanted), "{model} {wanted:?}");
    }

    #[test]
    fn efforts_are_those_that_a_model_takes() {
        let (off, minimal, max) =
            (Some(Thinking::Off), Some(Thinking::Effort(Effort::Minimal)), Some(Thinking::Effort(Effort::Max)));
        check("o3-mini", minimal, true, Some("low"), true);
        check("o4-mini-2025-04-16", max, false, Some("high"), true);
        check("o3", off, false, None, false);
        check("gpt-5-mini", minimal, true, Some("minimal"), true);
        check("gpt-5-2025-08-07", off, true, Some("minimal"), true);
        check("gpt-5.1", minimal, true, Some("low"), true);
        check("gpt-5.1", max, true, Some("high"), true);
        check("gpt-5.1", off, true, Some("none"), true);
        check("gpt-5.2-2025-12-11", max, true, Some("xhigh"), true);
        check("gpt-5.2", None, true, None, true);
        check("gpt-5.2-chat-latest", max, false, None, false);
        check("openai/gpt-oss-120b", max, true, Some("high"), true);
        check("gpt-4o", max, false, None, false);
        check("qwen3-coder", max, false, None, false);
    }

    #[test]
    fn newer_models_with_tools_think_only_elsewhere() {
        let high = Some(Thinking::Effort(Effort::High));
        check("gpt-5.4", high, false, Some("high"), true);
        check("gpt-5.4", high, true, None, false);
        check("gpt-5.6-sol", high, true, Some("none"), false);
        check("gpt-5.6-sol", None, true, Some("none"), true);
        check("gpt-5.6-sol", None, false, None, true);
        check("openai/gpt-5.6-sol", high, true, Some("high"), true);
    }

    #[test]
    fn limits_are_known_by_the_beginning_of_a_name() {
        assert_eq!(Model::of("openai/gpt-4o-mini").tokens_max, Some(16_384));
        assert_eq!(Model::of("gpt-4.1-nano").tokens_max, Some(32_768));
        assert_eq!(Model::of("gpt-5").tokens_max, None);
    }
}
