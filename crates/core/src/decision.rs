//! What was decided about a failure, and why, in words.
//!
//! A decision is plain data without allocation; its words are made only when somebody reads them.
//! The log, the dashboard, the answer's headers and `explain` all tell the same ones.

use std::fmt;
use std::time::Duration;

use crate::breaker::{Cause, Transition};
use crate::cost::Estimate;
use crate::kind::FailureKind;
use crate::rate::{Standing, Whose};
use crate::route::{EndpointId, Unfit};
use crate::time::Words;
use crate::world::World;

/// The step chosen for one failure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// Which attempt failed.
    pub attempt: u32,
    /// How many attempts the request may make.
    pub attempts_max: u32,
    /// How it failed.
    pub kind: FailureKind,
    /// The step's name.
    pub step: &'static str,
    /// How long to wait before it.
    pub wait: Duration,
    /// Where the attempt went.
    pub from: Target,
    /// Where the next one goes, where that is known.
    pub to: Option<Target>,
    /// Why this step.
    pub reason: Reason,
    /// Why the step before it in the policy was not taken.
    pub passed_over: Option<Skip>,
    /// The session has used so many retries that a person should know.
    pub warning: bool,
    /// What an escalation costs, where the step is one.
    pub escalation: Option<Escalation>,
    /// How the failure changed the endpoint's breaker, where it did.
    pub breaker: Option<Transition>,
}

/// Where an attempt goes: a model of the route, served at an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// Position of the model in the route.
    pub model: u8,
    /// Position of the endpoint in the model's list.
    pub served: u8,
    /// The endpoint.
    pub endpoint: EndpointId,
}

/// A climb up the ladder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Escalation {
    /// Why.
    pub reason: EscalationReason,
    /// What it costs per turn, where prices and usage are known.
    pub estimate: Option<Estimate>,
}

/// Why a session climbs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EscalationReason {
    /// A person asked for it.
    Manual,
    /// Retries did not help.
    AutoAfterRetries,
    /// The context is full.
    ContextLimit,
}

/// Why a step was taken, or the operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The policy's backoff.
    Backoff {
        /// Which retry of the step.
        retry: u32,
        /// How many the step has.
        of: u32,
    },
    /// The provider said how long.
    ProviderWait {
        /// Which retry of the step.
        retry: u32,
        /// How many the step has.
        of: u32,
    },
    /// The policy's next target.
    NextTarget,
    /// The rung did not serve: back to the model asked for.
    RolledBack,
    /// A climb.
    Escalated(EscalationReason),
    /// Something the call needs is missing.
    NeedsRepair,
    /// The others go first.
    OthersFirst,
    /// A person decides.
    PersonDecides,
    /// A new run later.
    NewRun {
        /// Which restart.
        restart: u32,
        /// How many there are.
        of: u32,
    },
    /// An allowance is empty; it fills as others succeed.
    AllowanceEmpty(AllowanceName),
    /// The endpoint keeps failing; soon it is known whether it is down.
    KeepsFailing,
    /// The person said yes.
    PersonAgreed,
    /// The operation goes on without this voice.
    WithoutThisVoice,
    /// The policy says to give up.
    PolicyGivesUp,
    /// No step is left.
    StepsUsedUp,
    /// The request made all its attempts.
    AttemptsSpent,
    /// The deadline has passed, or would.
    Deadline,
    /// Every endpoint refuses.
    NoTarget {
        /// The endpoint that will be asked again first.
        endpoint: EndpointId,
        /// What refuses.
        cause: Refused,
        /// How long until asking again may help.
        wait: Duration,
    },
    /// Held until then, because no target is left.
    Parked {
        /// The endpoint that will be asked again first.
        endpoint: EndpointId,
        /// What refuses; nothing where the targets just keep failing.
        cause: Option<Refused>,
    },
    /// No model of the route can take the request.
    NobodyFits(Unfit),
    /// The route serves nothing at all.
    NoEndpoint,
    /// More requests per minute than the project or the agent may make.
    RateLimit {
        /// Whose limit it is.
        whose: Whose,
        /// How it stands.
        standing: Standing,
    },
    /// The spend budget does not cover the attempt.
    Money,
    /// The price is unknown and a spend budget holds.
    PriceUnknown,
    /// The same request failed for good just before.
    JustFailed {
        /// How long until asking again may help.
        wait: Duration,
    },
    /// The answer had begun to arrive and cannot be taken back.
    AlreadyBegun,
    /// The caller left.
    CallerLeft,
    /// A report about an attempt that is not running.
    NothingRunning,
}

/// What keeps an endpoint from being used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Its breaker.
    Breaker(Cause),
    /// Its credential's quota is exhausted.
    SetAside,
    /// Its rate limit is reached.
    RateLimit,
}

/// Why a step of the policy was passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    /// It is used up.
    UsedUp,
    /// It speaks of another tool.
    OtherTool,
    /// The same request would fail again.
    Pointless,
    /// Somebody before us has made the retries.
    Retried,
    /// The provider asks for a longer wait than the policy accepts.
    WaitTooLong {
        /// What the provider asks for.
        asked: Duration,
        /// What the policy accepts.
        accepted: Duration,
    },
    /// The wait would pass the deadline.
    Deadline,
    /// The session has used all its retries.
    SessionSpent,
    /// An allowance is empty.
    AllowanceEmpty(AllowanceName),
    /// The endpoint keeps failing and is about to be judged.
    KeepsFailing,
    /// The endpoint's breaker is open.
    BreakerOpen,
    /// No further target.
    ChainEnds,
    /// The next model cannot take the request.
    Unfit(Unfit),
    /// No higher rung.
    LadderEnds,
    /// Automatic escalation is switched off.
    EscalationOff,
    /// The budget does not cover it.
    Money,
    /// This face cannot take the step.
    NotHere,
}

/// Which allowance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllowanceName {
    /// Retries at the endpoint.
    Retries,
    /// Fallbacks of the project.
    Fallbacks,
}

/// A reason told with the names of a world.
struct Told<'a>(&'a Reason, &'a World);

impl Reason {
    /// The reason in words, with the endpoint's name where it is about one.
    pub fn in_world<'a>(&'a self, world: &'a World) -> impl fmt::Display + 'a {
        Told(self, world)
    }
}

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(reason, world) = self;
        match reason {
            Reason::NoTarget { endpoint, .. } | Reason::Parked { endpoint, .. }
                if let Some(endpoint) = world.endpoint(*endpoint) =>
            {
                write!(f, "`{}`: {reason}", endpoint.name)
            }
            _ => reason.fmt(f),
        }
    }
}

impl EscalationReason {
    /// The name used in logs and APIs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::AutoAfterRetries => "auto_after_retries",
            Self::ContextLimit => "context_limit",
        }
    }
}

impl AllowanceName {
    /// The step this allowance pays for.
    pub const fn step(self) -> &'static str {
        match self {
            Self::Retries => "retry",
            Self::Fallbacks => "fallback",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Backoff { retry, of } => write!(f, "retry {retry} of {of}"),
            Self::ProviderWait { retry, of } => write!(f, "retry {retry} of {of}, when the provider asked for it"),
            Self::NextTarget => f.write_str("next target of the chain"),
            Self::RolledBack => f.write_str("the rung does not serve: back to the model asked for"),
            Self::Escalated(EscalationReason::Manual) => f.write_str("a person asked for a more capable model"),
            Self::Escalated(EscalationReason::AutoAfterRetries) => {
                f.write_str("retries did not help: next rung of the ladder")
            }
            Self::Escalated(EscalationReason::ContextLimit) => {
                f.write_str("the context is full: next rung of the ladder")
            }
            Self::NeedsRepair => f.write_str("what the call needs is brought back first"),
            Self::OthersFirst => f.write_str("the others go first"),
            Self::PersonDecides => f.write_str("a person decides about the next model"),
            Self::NewRun { restart, of } => write!(f, "restart {restart} of {of}"),
            Self::AllowanceEmpty(name) => write!(f, "the {name} allowance is empty and fills as others succeed"),
            Self::KeepsFailing => f.write_str("the endpoint keeps failing: waiting to see whether it is down"),
            Self::PersonAgreed => f.write_str("the person agreed"),
            Self::WithoutThisVoice => f.write_str("going on without it"),
            Self::PolicyGivesUp => f.write_str("the policy gives up on this"),
            Self::StepsUsedUp => f.write_str("no step of the policy is left"),
            Self::AttemptsSpent => f.write_str("the request has made all its attempts"),
            Self::Deadline => f.write_str("the deadline leaves no time"),
            Self::NoTarget { cause, wait, .. } => {
                write!(f, "nothing is left to try: {cause}, and is asked again in {}", Words(*wait))
            }
            Self::Parked { cause: Some(cause), .. } => write!(f, "held until a target can be asked again: {cause}"),
            Self::Parked { cause: None, .. } => f.write_str("held: every target keeps failing"),
            Self::NobodyFits(unfit) => write!(f, "no model of the chain can take the request: {unfit}"),
            Self::NoEndpoint => f.write_str("no endpoint serves this model"),
            Self::RateLimit { whose, standing } => write!(
                f,
                "the {whose}'s limit of {} requests per minute is reached, and the next may start in {}",
                standing.limit,
                Words(standing.wait)
            ),
            Self::Money => f.write_str("the spend budget does not cover another attempt"),
            Self::PriceUnknown => f.write_str("the model's price is unknown and a spend budget holds"),
            Self::JustFailed { wait } => {
                write!(f, "the same request failed just before, and is asked again in {} at the latest", Words(*wait))
            }
            Self::AlreadyBegun => f.write_str("the answer had begun and cannot be taken back"),
            Self::CallerLeft => f.write_str("the caller left"),
            Self::NothingRunning => f.write_str("no attempt was running"),
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Breaker(Cause::Open) => "the breaker is open",
            Self::Breaker(Cause::Probing) => "the breaker is half-open and probing",
            Self::Breaker(Cause::Forced) => "a person forced the breaker open",
            Self::SetAside => "the credential's quota is exhausted",
            Self::RateLimit => "the rate limit is reached",
        })
    }
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UsedUp => f.write_str("the step is used up"),
            Self::OtherTool => f.write_str("the step is for another tool"),
            Self::Pointless => f.write_str("the same request would fail again"),
            Self::Retried => f.write_str("the retries were made before it came here"),
            Self::WaitTooLong { asked, accepted } => {
                write!(f, "the provider asks for {}, the policy waits at most {}", Words(*asked), Words(*accepted))
            }
            Self::Deadline => f.write_str("the wait would pass the deadline"),
            Self::SessionSpent => f.write_str("the session has used all its retries"),
            Self::AllowanceEmpty(name) => write!(f, "the {name} allowance is empty"),
            Self::KeepsFailing => f.write_str("the endpoint keeps failing"),
            Self::BreakerOpen => f.write_str("the endpoint's breaker is open"),
            Self::ChainEnds => f.write_str("the chain ends here"),
            Self::Unfit(unfit) => write!(f, "the next model cannot take the request: {unfit}"),
            Self::LadderEnds => f.write_str("the ladder ends here"),
            Self::EscalationOff => f.write_str("automatic escalation is switched off"),
            Self::Money => f.write_str("the spend budget does not cover it"),
            Self::NotHere => f.write_str("the step cannot be taken here"),
        }
    }
}

impl fmt::Display for AllowanceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.step())
    }
}
