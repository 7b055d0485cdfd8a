//! Together, Fireworks, DeepInfra, Cerebras, Replicate and other hosts of open models.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::{ContextLimit, ModelUnavailable, Overloaded, QuotaExhausted, RateLimit};

pub(super) const RULES: &[Rule] = &[
    rule("together.non_serverless", ModelUnavailable)
        .decisive()
        .text(&["non-serverless model", r"dedicated endpoint for \S{1,80} is not running"])
        .example("Unable to access non-serverless model x. Please create and start a new dedicated endpoint."),
    rule("together.credit_limit", QuotaExhausted)
        .decisive()
        .text(&["credit limit exceeded", "maximum allowed monthly spending limit"])
        .example("Credit limit exceeded, please navigate to https://api.together.ai/settings/billing"),
    rule("together.input_plus_output", ContextLimit)
        .decisive()
        .text(&[r"input token count \+ max_tokens", r"inputs. tokens \+ .max_new_tokens. must be"])
        .example("Input token count + max_tokens parameter must be less than the context length of the model being queried."),
    rule("fireworks.suspended", QuotaExhausted)
        .decisive()
        .text(&["possibly due to reaching the monthly spending limit", "failure to pay past invoices"])
        .example("Account x is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices"),
    rule("cerebras.tokens_minute", RateLimit)
        .code(&["token_quota_exceeded", "request_quota_exceeded"])
        .text(&["per (?:minute|second|hour) limit exceeded"])
        .example("Tokens per minute limit exceeded - too many tokens processed."),
    rule("cerebras.traffic", Overloaded)
        .text(&["experiencing high traffic"])
        .example("We're experiencing high traffic right now! Please try again soon."),
    rule("deepinfra.inference", Overloaded)
        .text(&["model busy, retry later", "inference request queue is full"])
        .example("Model busy, retry later"),
    rule("replicate.billing", QuotaExhausted)
        .decisive()
        .text(&["insufficient credit to run", "free time limit reached"])
        .example("You have insufficient credit to run this model."),
    rule("replicate.cold", Overloaded)
        .code(&["model_cold_start", "cold_start", "model_is_starting"])
        .example(r#"{"error":{"code":"model_cold_start"}}"#),
];
