//! Policies as they are written.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use steadfast_core::FailureKind;
use steadfast_core::breaker::Settings;
use steadfast_core::kind::Category;
use steadfast_core::policy::{StreamMode, VendorBoundary, limits};

use crate::node::{Node, Path, Value};
use crate::problem::Report;
use crate::read::{Named, Read, Word, Words, section};
use crate::suggest;
use crate::value::{Count, Times, Wait, inline_schema};

section! {
    /// For each kind of failure the steps to take, and the limits around them. Whatever is absent
    /// comes from the policy it extends.
    RawPolicy {
        /// The policy or template this one starts from. Default: the template of the same name if there is
        /// one, otherwise `"default"`. Steps are merged trigger by trigger.
        extends: String,
        /// `"open"`: any vendor may serve. `"strict"`: a chain never leaves the vendor of the model that
        /// was asked for. `default` has `"open"`: an answer is worth more than its maker.
        vendor_boundary: Word<VendorBoundary>,
        /// What a stream promises: `"fast"` commits at the first content, `"safe"` holds the turn back,
        /// `"regenerate"` sends a broken answer again, `"resume"` continues where that is provably safe.
        /// `default` has `"fast"`: nobody waits longer than without Steadfast.
        stream: Word<StreamMode>,
        /// How long one request may take altogether. `default` has `"10m"`: longer than the longest
        /// answers, shorter than anyone waits.
        deadline: Wait,
        /// How many attempts one request may make over all targets. `default` has 8: seven turn 30 %
        /// random failures into two in ten thousand.
        attempts_max: Count<1, { limits::ATTEMPTS }>,
        /// How many retries that did not help one session may use. `default` has `{ max = 30, warn = 20 }`. A retry that
        /// serves is given back, so a session of days keeps its retries; what one request may do is bounded by
        /// `attempts_max`.
        session_retries: RawSessionRetries,
        /// Retries per endpoint as a share of its traffic, beside ten at once and one more every ten seconds; one that
        /// serves is given back. `default` has 0.2: where much goes on, retries multiply an outage by at most 1.2. Of a
        /// few requests those ten are more than the share, and fallbacks count by themselves (docs/adr/0001). Endpoints
        /// that several policies share get the smallest.
        retry_share: f64,
        /// Fallbacks per project, as a share of its successes. `default` has 1.0: a project may look
        /// elsewhere while somebody serves it.
        fallback_share: f64,
        /// When an endpoint is refused, and for how long. Endpoints that several policies share get the
        /// strictest.
        breaker: RawBreaker,
        /// Automatic escalation along a ladder. `default` has `{ auto = false, after_retries = 3 }`: it
        /// costs money, so a person switches it on.
        escalate: RawEscalate,
        /// How long a credential rests when its quota is exhausted and nobody says until when. `default`
        /// has `"1h"`.
        quota_rest: Wait,
        /// How long a request may be held, with heartbeats, when every target is down or out of quota: for
        /// unattended runs, together with a long `deadline`. `default` has `"0s"`: it fails at once and says when
        /// to come back.
        park: Wait,
        /// How long a finished answer is kept whose client had gone, for its automatic retry of the identical
        /// request. `default` has `"5m"`; `"0s"` keeps nothing.
        journal: Wait,
        /// When a silent upstream counts as failed.
        timeouts: RawTimeouts,
        /// The steps, by trigger: `http_529`, a kind such as `rate_limit`, a category such as
        /// `ProviderError`, or `default`. The most specific wins.
        on: RawOn,
    }
}

section! {
    /// The retries one session may use, over all its requests; those that serve are given back.
    RawSessionRetries {
        /// No retry beyond this many that did not help.
        max: Count<0, { limits::SESSION_RETRIES }>,
        /// A warning is due from this many on. Default: the parent's, or two thirds of `max` where that is less.
        warn: Count<0, { limits::SESSION_RETRIES }>,
    }
}

section! {
    /// When an endpoint's breaker trips and how it comes back.
    RawBreaker {
        /// Failures in a row that trip it. 5: fewer happen by chance.
        failures: Count<1, { Settings::FAILURES_MAX }>,
        /// Ask for longer runs under heavy traffic, where five in a row happen by chance.
        adaptive: bool,
        /// The share of bad outcomes in the window that trips it. 0.5.
        ratio: f64,
        /// How far back the ratio looks. `"2m"`: longer than most calls last.
        window: Wait,
        /// Outcomes in the window below which the ratio says nothing. 20.
        floor: Count<1, { Settings::FLOOR_MAX }>,
        /// How long it stays open at first. `default` has `"10s"`, `hardened` `"5m"`.
        cooldown: Wait,
        /// How long it stays open at most; each failed probe doubles the time. Default: the parent's, or
        /// `cooldown` where that is longer.
        cooldown_max: Wait,
        /// Probes in flight while half-open. 1.
        probes: Count<1, { Settings::PROBES_MAX }>,
        /// Successful probes that close it. 1.
        successes: Count<1, { Settings::PROBES_MAX }>,
        /// How long a probe may take before its place is given away. `"60s"`.
        lease: Wait,
        /// Rate limits and overload count as failures in a row, not only in the ratio. `hardened` has `true`.
        rate_limits_trip: bool,
    }
}

section! {
    /// When a silent upstream counts as failed.
    RawTimeouts {
        /// Until a connection stands. `default` has `"10s"`.
        connect: Wait,
        /// Until the first content of a streamed answer. `default` has `"3m"`: models that think first take minutes.
        first_token: Wait,
        /// Between two signs of life of a streamed answer. `default` has `"90s"`: longer than any provider's pings.
        idle: Wait,
        /// Until a client that waits for a stream gets a heartbeat, and between two of them. The first also sends the
        /// head with status 200. `default` has `"12s"`: shorter than the idle timeouts of proxies and clients.
        heartbeat: Wait,
    }
}

section! {
    /// When a session climbs its ladder by itself.
    RawEscalate {
        /// Off until a person switches it on: it costs money.
        auto: bool,
        /// How many retries on one model come first. 3.
        after_retries: Count<0, { limits::RETRIES }>,
    }
}

section! {
    /// A step with its numbers. Exactly one of `retry`, `fallback`, `escalate`, `repair`, `defer`, `ask`,
    /// `restart`, `degrade` and `give_up`.
    RawStepTable {
        /// The same target again, this many times.
        retry: Times,
        /// The next target of the chain.
        fallback: bool,
        /// The next model up the ladder.
        escalate: bool,
        /// Bring back what the call needs, this many times. `"repair"` alone means 2.
        repair: Times,
        /// Let the others go first.
        defer: bool,
        /// Put the choice to a person.
        ask: bool,
        /// Run the task anew, this many times. `"restart"` alone means 3.
        restart: Times,
        /// Go on without this voice.
        degrade: bool,
        /// Fail.
        give_up: bool,
        /// The same wait each time, instead of a growing one (`retry`, `restart`).
        every: Wait,
        /// The first wait (`retry`, `restart`). Default `"1s"` for retries, `"1m"` for restarts.
        base: Wait,
        /// The growth of the wait. Default 2.0.
        multiplier: f64,
        /// The longest wait; also the longest "retry after" that is honoured. Default `"30s"` for retries,
        /// `"4m"` for restarts.
        cap: Wait,
        /// How the wait is spread: a share such as 0.2 (± 20 %), `"full"` or `"decorrelated"`. Default 0.2 for
        /// growing waits, so that many callers do not return together; 0 for `every` and `restart`.
        jitter: RawJitter,
        /// Tell the model what failed (`retry`). Default `false`.
        with_context: bool,
        /// A reminder is due after this long (`ask`). Default `"30s"`.
        nudge: Wait,
        /// No answer after this long counts as no (`ask`). Default `"60s"`.
        skip: Wait,
        /// Only when a call of this tool failed: it broke off or was malformed on the way here, or an agent ended
        /// with it. Default: always.
        tool: String,
    }
}

/// Steps by trigger, as written: the trigger is checked by the resolver.
#[derive(Clone, Debug)]
pub(crate) struct RawOn(pub(crate) Vec<(String, RawSteps)>);

/// A list of steps.
#[derive(Clone, Debug)]
pub(crate) struct RawSteps(pub(crate) Vec<RawStep>);

/// One step.
#[derive(Clone, Debug)]
pub(crate) enum RawStep {
    Word(StepWord),
    Table(Box<RawStepTable>),
}

/// A step by its name alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepWord {
    Retry,
    Fallback,
    Escalate,
    Repair,
    Defer,
    Ask,
    Restart,
    Degrade,
    GiveUp,
}

/// How a wait is spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RawJitter {
    Share(f64),
    Word(JitterWord),
}

/// A jitter by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JitterWord {
    Full,
    Decorrelated,
}

impl Read for RawOn {
    fn read(node: &Node, at: &Path, report: &Report<'_>) -> Option<Self> {
        Named::read(node, at, report).map(|named| Self(named.0))
    }
}

impl Read for RawSteps {
    fn read(node: &Node, at: &Path, report: &Report<'_>) -> Option<Self> {
        let steps = Vec::<RawStep>::read(node, at, report)?;
        if steps.is_empty() {
            report.refuse(at, format!("`{}` has no steps", at.last_name()), "[\"give_up\"] says it plainly");
            return None;
        }
        Some(Self(steps))
    }
}

impl Read for RawStep {
    fn read(node: &Node, at: &Path, report: &Report<'_>) -> Option<Self> {
        match &node.value {
            Value::Table(_) => RawStepTable::read(node, at, report).map(|table| Self::Table(Box::new(table))),
            Value::Text(_) => Word::<StepWord>::read(node, at, report).map(|word| Self::Word(word.0)),
            other => {
                let help = "a name such as \"fallback\", or a table such as { retry = 3, every = \"5s\" }";
                report.refuse(at, format!("a step must be a name or a table, not {}", other.noun()), help);
                None
            }
        }
    }
}

impl Read for RawJitter {
    fn read(node: &Node, at: &Path, report: &Report<'_>) -> Option<Self> {
        match node.value {
            Value::Text(_) => Word::<JitterWord>::read(node, at, report).map(|word| Self::Word(word.0)),
            _ => f64::read(node, at, report).map(Self::Share),
        }
    }
}

inline_schema!(RawOn, "on", |generator| json_schema!({
    "type": "object",
    "propertyNames": { "anyOf": [{ "enum": trigger_names() }, { "pattern": "^http_[1-9][0-9]{2}$" }] },
    "additionalProperties": RawSteps::json_schema(generator),
}));
inline_schema!(RawSteps, "steps", |generator| json_schema!({
    "type": "array", "minItems": 1, "items": generator.subschema_for::<RawStep>(),
}));
inline_schema!(RawStep, "step", |generator| json_schema!({
    "anyOf": [Word::<StepWord>::json_schema(generator), generator.subschema_for::<RawStepTable>()],
}));
inline_schema!(RawJitter, "jitter", |generator| json_schema!({
    "anyOf": [{ "type": "number", "minimum": 0, "maximum": 1 }, Word::<JitterWord>::json_schema(generator)],
}));

impl Words for StepWord {
    const NOUN: &'static str = "step";

    fn all() -> Vec<(&'static str, Self)> {
        vec![
            ("retry", Self::Retry),
            ("fallback", Self::Fallback),
            ("escalate", Self::Escalate),
            ("repair", Self::Repair),
            ("defer", Self::Defer),
            ("ask", Self::Ask),
            ("restart", Self::Restart),
            ("degrade", Self::Degrade),
            ("give_up", Self::GiveUp),
        ]
    }
}

impl Words for JitterWord {
    const NOUN: &'static str = "jitter";

    fn all() -> Vec<(&'static str, Self)> {
        vec![("full", Self::Full), ("decorrelated", Self::Decorrelated)]
    }
}

impl Words for VendorBoundary {
    const NOUN: &'static str = "vendor boundary";

    fn all() -> Vec<(&'static str, Self)> {
        vec![("open", Self::Open), ("strict", Self::Strict)]
    }
}

impl Words for StreamMode {
    const NOUN: &'static str = "stream mode";

    fn all() -> Vec<(&'static str, Self)> {
        vec![("fast", Self::Fast), ("safe", Self::Safe), ("regenerate", Self::Regenerate), ("resume", Self::Resume)]
    }
}

impl Words for FailureKind {
    const NOUN: &'static str = "kind";

    fn all() -> Vec<(&'static str, Self)> {
        Self::ALL.into_iter().map(|kind| (kind.as_str(), kind)).collect()
    }
}

/// Every trigger that has a name: kinds, categories and `default`.
pub(super) fn trigger_names() -> Vec<&'static str> {
    let kinds = FailureKind::ALL.into_iter().map(FailureKind::as_str);
    kinds.chain(Category::ALL.into_iter().map(Category::as_str)).chain(["default"]).collect()
}

/// What to write in place of an unknown trigger.
pub(crate) fn trigger_help(written: &str) -> String {
    if let Some(near) = suggest::nearest(written, trigger_names()) {
        return format!("did you mean `{near}`?");
    }
    let kinds: Vec<&str> = FailureKind::ALL.into_iter().map(FailureKind::as_str).collect();
    format!("an HTTP status such as `http_529`, a category, `default`, or one of the kinds {}", kinds.join(", "))
}
