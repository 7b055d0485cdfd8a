//! What to do about each kind of failure, and the limits that always hold.
//!
//! A policy is a table from what happened to steps, in order. The most specific entry wins:
//! `http_529` over the kind, the kind over its category, the category over `default`.
//! Nothing here can be endless: every count and wait has a bound, checked by [`Policy::problems`].

mod templates;

use std::time::Duration;

use crate::backoff::Backoff;
use crate::breaker;
use crate::failure::Failure;
use crate::kind::{Category, FailureKind};

pub use templates::{TEMPLATES, template};

/// For each kind of failure the steps to take, and the limits around them.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// The name people know it by.
    pub name: String,
    /// Whether a chain may leave the primary model's vendor.
    pub vendor_boundary: VendorBoundary,
    /// What a stream promises its reader.
    pub stream: StreamMode,
    /// How long one request may take altogether.
    pub deadline: Duration,
    /// How many attempts one request may make altogether, over all targets.
    pub attempts_max: u32,
    /// How many retries that did not help one session may use.
    pub session_retries: SessionRetries,
    /// Retries per endpoint as a share of its traffic.
    pub retry_share: f64,
    /// Fallbacks per project, earned by successes.
    pub fallback_share: f64,
    /// When an endpoint is refused, and for how long.
    pub breaker: breaker::Settings,
    /// Automatic escalation.
    pub escalate: Escalate,
    /// How long a credential rests when its quota is exhausted and nobody says until when.
    pub quota_rest: Duration,
    /// How long a request may be held when every target is down or out of quota; zero: not at all.
    pub park: Duration,
    /// How long an answer is kept whose client had gone; zero: not at all.
    pub journal: Duration,
    /// When a silent upstream counts as failed.
    pub timeouts: Timeouts,
    /// The steps.
    pub on: StepTable,
}

/// Whether a chain may leave the vendor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VendorBoundary {
    /// Any vendor may serve.
    #[default]
    Open,
    /// A chain never leaves the vendor of the model that was asked for.
    Strict,
}

/// What a stream promises its reader once bytes have been sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamMode {
    /// Commit at the first content; a later failure is a typed error event.
    #[default]
    Fast,
    /// Hold the turn back, so retry and fallback stay possible to the end.
    Safe,
    /// Mark the break and send the full answer again.
    Regenerate,
    /// Continue plain text where that is provably safe.
    Resume,
}

/// The retries one session may use, over all its requests. One that serves is given back (docs/adr/0002).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionRetries {
    /// No retry beyond this many that did not help.
    pub max: u32,
    /// A warning is due from this many on.
    pub warn: u32,
}

/// When a session climbs its ladder by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Escalate {
    /// Off until a person switches it on: it costs money.
    pub auto: bool,
    /// How many retries on one model come first.
    pub after_retries: u32,
}

/// When a silent upstream counts as failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until a connection stands.
    pub connect: Duration,
    /// Until the first content of a streamed answer.
    pub first_token: Duration,
    /// Between two signs of life of a streamed answer.
    pub idle: Duration,
    /// Until a client that waits for a stream gets a heartbeat.
    pub heartbeat: Duration,
}

impl Timeouts {
    /// Whole answers of thinking models take a minute or two.
    const WHOLE_MIN: Duration = Duration::from_secs(120);

    /// How long the head of a response may take, of the time that is left: streams begin soon, whole
    /// answers when they are done. A silent upstream must leave time for another: half of what is
    /// left, or two minutes where that is more.
    pub fn head(&self, stream: bool, left: Duration) -> Duration {
        let limit = if stream { self.first_token } else { (left / 2).max(Self::WHOLE_MIN) };
        limit.min(left)
    }
}

/// One thing to do about a failure, perhaps only for one tool.
#[derive(Clone, Debug, PartialEq)]
pub struct StepRule {
    /// What to do.
    pub step: Step,
    /// Only when a call of this tool failed.
    pub tool: Option<String>,
}

/// One thing to do about a failure.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// The same target again, after a wait.
    Retry(Retry),
    /// The next target of the chain.
    Fallback,
    /// The next model up the ladder.
    Escalate,
    /// Bring back what the call needs, then call again without counting a retry.
    Repair {
        /// How often per operation.
        max: u32,
    },
    /// Let the others go first, then come back.
    Defer,
    /// Put the choice to a person.
    Ask(Ask),
    /// Run the task anew later.
    Restart(Restart),
    /// Go on without this voice.
    Degrade,
    /// Fail.
    GiveUp,
}

/// How often and when to attempt the same target again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retry {
    /// How many retries.
    pub max: u32,
    /// The wait before each.
    pub backoff: Backoff,
    /// Tell the model what failed.
    pub with_context: bool,
}

/// How long a person has to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// A reminder is due after this long.
    pub nudge: Duration,
    /// No answer after this long counts as no.
    pub skip: Duration,
}

/// How often and when a task is run anew.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Restart {
    /// How many restarts.
    pub max: u32,
    /// The wait before each.
    pub backoff: Backoff,
}

/// What a list of steps answers to, from most to least specific.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trigger {
    /// This HTTP status.
    Status(u16),
    /// This kind.
    Kind(FailureKind),
    /// Any kind of this category.
    Category(Category),
    /// Anything else.
    Default,
}

/// Steps by trigger. Small and read often: a sorted list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepTable {
    entries: Vec<(Trigger, Vec<StepRule>)>,
}

/// Something in a policy that cannot be: names the key, what is wrong, and the way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The config key below the policy, such as `on.rate_limit[0].retry`.
    pub key: String,
    /// What is wrong.
    pub what: String,
    /// What to write instead.
    pub fix: String,
}

impl Policy {
    /// The steps for this failure and what they answer to; none where not even `default` speaks.
    pub fn steps(&self, failure: &Failure) -> (Trigger, &[StepRule]) {
        self.on.lookup(failure)
    }

    /// The same policy with waits that can be stated beforehand.
    pub fn without_jitter(mut self) -> Self {
        for rule in self.on.entries.iter_mut().flat_map(|(_, steps)| steps) {
            match &mut rule.step {
                Step::Retry(retry) => retry.backoff = retry.backoff.without_jitter(),
                Step::Restart(restart) => restart.backoff = restart.backoff.without_jitter(),
                _ => {}
            }
        }
        self
    }

    /// The same policy with so many retries of a rate limit, and no more of anything else, so far apart.
    #[must_use]
    pub fn with_retries(mut self, max: u32, delay: Duration) -> Self {
        let max = max.min(limits::RETRIES);
        for (trigger, steps) in &mut self.on.entries {
            for rule in steps.iter_mut() {
                let Step::Retry(retry) = &mut rule.step else { continue };
                let rate_limit = *trigger == Trigger::Kind(FailureKind::RateLimit);
                retry.max = if rate_limit { max } else { retry.max.min(max) };
                retry.backoff = retry.backoff.beginning_at(delay);
            }
            steps.retain(|rule| !matches!(&rule.step, Step::Retry(retry) if retry.max == 0));
        }
        self
    }

    /// The same policy for a task whose model calls go through a gateway of ours. What the gateway has retried is not
    /// retried again: other models, repairs and new runs are what is left. What happens to the process itself is
    /// nothing the gateway could have seen to.
    #[must_use]
    pub fn behind_gateway(mut self) -> Self {
        let own = |trigger: Trigger| {
            matches!(
                trigger,
                Trigger::Default
                    | Trigger::Kind(
                        FailureKind::ProcessDied
                            | FailureKind::BadOutput
                            | FailureKind::Unknown
                            | FailureKind::StateLost
                            | FailureKind::Timeout
                    )
            )
        };
        for (_, steps) in self.on.entries.iter_mut().filter(|(trigger, _)| !own(*trigger)) {
            steps.retain(|rule| !matches!(rule.step, Step::Retry(_)));
        }
        self
    }

    /// Everything in this policy that cannot be, for the loader to refuse.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut refuse = |key: &str, what: String, fix: &str| {
            problems.push(Problem { key: key.to_owned(), what, fix: fix.to_owned() });
        };
        if self.deadline.is_zero() || self.deadline > limits::DEADLINE {
            refuse("deadline", "is zero or longer than 7 days".to_owned(), "a duration such as \"10m\"");
        }
        if self.attempts_max == 0 || self.attempts_max > limits::ATTEMPTS {
            let what = format!("is {} but must be between 1 and {}", self.attempts_max, limits::ATTEMPTS);
            refuse("attempts_max", what, "a small number such as 10");
        }
        if self.session_retries.max > limits::SESSION_RETRIES {
            let what = format!("is {} but may be at most {}", self.session_retries.max, limits::SESSION_RETRIES);
            refuse("session_retries.max", what, "30 unless sessions run for days");
        }
        if self.session_retries.warn > self.session_retries.max {
            refuse("session_retries.warn", "is above `max`".to_owned(), "a number below `max`, such as 20 of 30");
        }
        for (key, share) in [("retry_share", self.retry_share), ("fallback_share", self.fallback_share)] {
            if !(0.0..=1.0).contains(&share) {
                refuse(key, format!("is {share} but must be between 0 and 1"), "0.2 lets one in five requests retry");
            }
        }
        if self.quota_rest > Backoff::CAP_MAX {
            refuse("quota_rest", "is longer than 24h".to_owned(), "a duration such as \"1h\"");
        }
        if self.park > limits::DEADLINE {
            refuse("park", "is longer than 7 days".to_owned(), "a duration such as \"2h\", or \"0s\" for never");
        }
        if self.journal > limits::JOURNAL {
            refuse("journal", "is longer than an hour".to_owned(), "a duration such as \"5m\", or \"0s\" for never");
        }
        let Timeouts { connect, first_token, idle, heartbeat } = self.timeouts;
        let timeouts = [("connect", connect), ("first_token", first_token), ("idle", idle), ("heartbeat", heartbeat)];
        for (key, timeout) in timeouts {
            if timeout.is_zero() || timeout > limits::TIMEOUT {
                let what = "is zero or longer than an hour".to_owned();
                refuse(&format!("timeouts.{key}"), what, "a duration such as \"60s\"");
            }
        }
        for (key, what, fix) in self.breaker.problems() {
            refuse(&format!("breaker.{key}"), what, fix);
        }
        for (trigger, steps) in &self.on.entries {
            for (position, rule) in steps.iter().enumerate() {
                // A step for one tool ends nothing for the others.
                let hides = |later: &StepRule| rule.tool.is_none() || rule.tool == later.tool;
                let hides_any = steps[position + 1..].iter().any(hides);
                if let Some((field, what, fix)) = rule.step.problem(*trigger, hides_any) {
                    refuse(&format!("on.{trigger}[{position}]{field}"), what, fix);
                }
            }
        }
        problems
    }
}

impl StepTable {
    /// A table with these entries; a later one replaces an earlier one for the same trigger.
    pub fn new(entries: impl IntoIterator<Item = (Trigger, Vec<StepRule>)>) -> Self {
        let mut table = Self::default();
        for (trigger, steps) in entries {
            table.set(trigger, steps);
        }
        table
    }

    /// Replaces the steps for `trigger`.
    pub fn set(&mut self, trigger: Trigger, steps: Vec<StepRule>) {
        match self.entries.binary_search_by_key(&trigger, |(known, _)| *known) {
            Ok(at) => self.entries[at].1 = steps,
            Err(at) => self.entries.insert(at, (trigger, steps)),
        }
    }

    /// The steps for exactly this trigger.
    pub fn get(&self, trigger: Trigger) -> Option<&[StepRule]> {
        let at = self.position(trigger)?;
        Some(&self.entries[at].1)
    }

    /// Every entry, most specific triggers first.
    pub fn iter(&self) -> impl Iterator<Item = (Trigger, &[StepRule])> {
        self.entries.iter().map(|(trigger, steps)| (*trigger, steps.as_slice()))
    }

    fn lookup(&self, failure: &Failure) -> (Trigger, &[StepRule]) {
        let by_status = failure.status.and_then(|status| self.position(Trigger::Status(status)));
        let found = by_status
            .or_else(|| self.position(Trigger::Kind(failure.kind)))
            .or_else(|| self.position(Trigger::Category(failure.category())))
            .or_else(|| self.position(Trigger::Default));
        match found {
            Some(at) => (self.entries[at].0, &self.entries[at].1),
            None => (Trigger::Default, &[]),
        }
    }

    fn position(&self, trigger: Trigger) -> Option<usize> {
        self.entries.binary_search_by_key(&trigger, |(known, _)| *known).ok()
    }
}

impl StepRule {
    /// Whether this rule speaks about a failure of `tool`.
    pub fn applies_to(&self, tool: Option<&str>) -> bool {
        self.tool.is_none() || self.tool.as_deref() == tool
    }
}

impl Step {
    /// The step's name, as config and logs write it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Retry(_) => "retry",
            Self::Fallback => "fallback",
            Self::Escalate => "escalate",
            Self::Repair { .. } => "repair",
            Self::Defer => "defer",
            Self::Ask(_) => "ask",
            Self::Restart(_) => "restart",
            Self::Degrade => "degrade",
            Self::GiveUp => "give_up",
        }
    }

    /// The one thing that cannot be about this step: the field, what is wrong, and the fix. `hides_any`: it
    /// comes before steps for the same failures.
    fn problem(&self, trigger: Trigger, hides_any: bool) -> Option<(&'static str, String, &'static str)> {
        let too_many = |count: u32, max: u32| format!("is {count} but must be between 1 and {max}");
        match self {
            Self::Retry(retry) => match trigger {
                Trigger::Kind(FailureKind::QuotaExhausted) => {
                    Some((".retry", "waits for a quota that does not come back in seconds".to_owned(), "\"fallback\""))
                }
                Trigger::Kind(FailureKind::ContextLimit) if !retry.with_context => Some((
                    ".retry",
                    "repeats a request that can never fit".to_owned(),
                    "\"escalate\" or \"fallback\": only a larger context window helps",
                )),
                Trigger::Kind(FailureKind::Cancelled) => {
                    Some((".retry", "repeats what the caller stopped".to_owned(), "\"give_up\""))
                }
                _ if retry.max == 0 || retry.max > limits::RETRIES => {
                    Some((".retry", too_many(retry.max, limits::RETRIES), "3 is a good number"))
                }
                _ => None,
            },
            Self::Repair { max } if *max == 0 || *max > limits::RETRIES => {
                Some((".repair", too_many(*max, limits::RETRIES), "2 is a good number"))
            }
            Self::Restart(restart) if restart.max == 0 || restart.max > limits::RETRIES => {
                Some((".restart", too_many(restart.max, limits::RETRIES), "3 is a good number"))
            }
            Self::Ask(ask) if ask.skip < ask.nudge || ask.skip > limits::ASK => Some((
                ".skip",
                "must come after `nudge` and within an hour".to_owned(),
                "nudge = \"30s\", skip = \"60s\"",
            )),
            Self::GiveUp | Self::Degrade if hides_any => Some((
                "",
                format!("`{}` ends the operation, so the steps after it can never run", self.name()),
                "move it to the end of the list",
            )),
            _ => None,
        }
    }
}

impl From<Step> for StepRule {
    fn from(step: Step) -> Self {
        Self { step, tool: None }
    }
}

impl std::fmt::Display for Trigger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Status(status) => write!(f, "http_{status}"),
            Self::Kind(kind) => kind.fmt(f),
            Self::Category(category) => category.fmt(f),
            Self::Default => f.write_str("default"),
        }
    }
}

impl std::str::FromStr for Trigger {
    type Err = crate::kind::UnknownName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let status = name.strip_prefix("http_").and_then(|digits| digits.parse().ok());
        if let Some(status) = status.filter(|status| (100..1000).contains(status)) {
            return Ok(Self::Status(status));
        }
        if name == "default" {
            return Ok(Self::Default);
        }
        name.parse().map(Self::Kind).or_else(|_| name.parse().map(Self::Category))
    }
}

/// The bounds no policy may pass: there is no way to configure an endless anything.
pub mod limits {
    use std::time::Duration;

    /// Retries, repairs or restarts of one step.
    pub const RETRIES: u32 = 20;
    /// Attempts of one request over all targets.
    pub const ATTEMPTS: u32 = 100;
    /// Retries of one session.
    pub const SESSION_RETRIES: u32 = 10_000;
    /// One request altogether: unattended runs may park for days, not for ever.
    pub const DEADLINE: Duration = Duration::from_secs(7 * 24 * 60 * 60);
    /// A silent upstream.
    pub const TIMEOUT: Duration = Duration::from_secs(60 * 60);
    /// An answer kept for a client that had gone: minutes, because it is a person's conversation.
    pub const JOURNAL: Duration = Duration::from_secs(60 * 60);
    /// A question left open.
    pub const ASK: Duration = Duration::from_secs(60 * 60);
}

#[cfg(test)]
mod tests;
