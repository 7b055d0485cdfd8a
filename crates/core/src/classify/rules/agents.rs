//! Agent programs: Claude Code, Codex, Gemini CLI, opencode, OpenClaw, agent mail, e2b.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::{
    AuthError, Cancelled, ContextLimit, InvalidRequest, ModelUnavailable, Overloaded, ProcessDied, QuotaExhausted,
    ServerError, StateLost, Unknown,
};

pub(super) const RULES: &[Rule] = &[
    rule("agents.claude_exited", ProcessDied)
        .text(&[
            "(?:claude code|codex|gemini|opencode|agent|cli|sdk) process (?:exited|terminated|aborted|crashed|died)",
            "processtransport is not ready",
            "agent (?:process )?(?:crashed|died)",
        ])
        .example("Claude Code process exited with code 1"),
    rule("agents.budget", Unknown)
        .class()
        .text(&["proxy request budget exhausted"])
        .example("Proxy request budget exhausted"),
    // Told with whatever status this client stops at, so the status says nothing.
    rule("agents.steadfast", ServerError)
        .decisive()
        .text(&["steadfast gave up on this request"])
        .example("Steadfast gave up on this request. Ask `steadfast why` what happened."),
    rule("agents.capacity", Overloaded)
        .text(&["selected model is at capacity"])
        .example("Selected model is at capacity. Please try a different model."),
    rule("agents.no_rollout", StateLost)
        .decisive()
        .text(&[
            "no rollout found for thread",
            "no conversation found (?:with|to)",
            "no saved session found",
            r"session id \S{1,60} (?:is already in use|not found)",
        ])
        .example("no rollout found for thread id 7"),
    rule("agents.not_registered", StateLost)
        .decisive()
        .text(&["not registered (?:for|in) project", "use ensure_project", "use register_agent"])
        .example("Agent 'PurpleDog' not registered for project '/data/projects/x'"),
    rule("agents.provider_missing", ModelUnavailable)
        .decisive()
        .text(&["no provider (?:available|found|configured) for model"])
        .example("No provider available for model 'kimi-k2.7'"),
    rule("agents.model_access", ModelUnavailable)
        .decisive()
        .text(&["issue with the selected model", "model may not exist or you may not have access"])
        .example("There is an issue with the selected model (x). It may not exist or you may not have access to it."),
    rule("agents.context_low", ContextLimit)
        .decisive()
        .text(&[
            r"context low \S{0,3} ?run /compact",
            "conversation too long",
            "please (?:run )?/compact",
            "ran out of room in the model.s context window",
            "prompt is too long",
        ])
        .example("Context low · Run /compact to compact & continue"),
    rule("agents.credentials", AuthError)
        .class()
        .text(&["please run /login", r"run [`\x27]?(?:codex|claude|gemini|gh|opencode) (?:auth )?login"])
        .example("Please run /login"),
    rule("agents.small_window", InvalidRequest)
        .decisive()
        .text(&["context window (?:is )?too small"])
        .example("Model context window too small (minimum is 128k tokens)"),
    rule("agents.upstream", ServerError)
        .hint()
        .text(&["error from provider"])
        .example("Error from provider (Console Go)"),
    rule("agents.subagent_stopped", Cancelled)
        .decisive()
        .text(&[
            "(?:subagent|tool use|agent|request) was (?:stopped|rejected|interrupted) by",
            "request interrupted by user",
        ])
        .example("The subagent was stopped by the user."),
    rule("agents.spend_cap", QuotaExhausted)
        .decisive()
        .text(&["maximum budget~reached", "max_?budget_?usd", "error_max_budget"])
        .example("Maximum budget of $5 reached for this run"),
    rule("agents.reset_window", QuotaExhausted)
        .window()
        .text(&["hour limit reached", r"limit reached \S{0,3} ?resets"])
        .example("4-hour limit reached ∙ resets 2am"),
];
