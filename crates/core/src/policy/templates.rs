//! The shipped policies: one per seed document with that document's numbers, and our own.

use std::time::Duration;

use super::{
    Ask, Escalate, Policy, Restart, Retry, SessionRetries, Step, StepRule, StepTable, StreamMode, Timeouts, Trigger,
    VendorBoundary,
};
use crate::backoff::{Backoff, Jitter};
use crate::breaker;
use crate::kind::{Category, FailureKind};

/// Every template: its name and where its numbers come from.
pub const TEMPLATES: [(&str, &str); 6] = [
    ("default", "our own best, tuned with the simulator"),
    ("hardened", "network failures: 5 retries, then restart; provider failures: next model at once"),
    ("escalating", "3 retries, then the next model; a full context climbs the ladder"),
    ("patterns", "3 quick retries from 100 ms; a 500 is not retried"),
    ("council", "3 tries, defer, ask, degrade: no voice lost"),
    ("session-manager", "rate limits: 3 retries 5 s apart, then the next model"),
];

/// The shipped policy of this name.
pub fn template(name: &str) -> Option<Policy> {
    match name {
        "default" => Some(default()),
        "hardened" => Some(hardened()),
        "escalating" => Some(escalating()),
        "patterns" => Some(patterns()),
        "council" => Some(council()),
        "session-manager" => Some(session_manager()),
        _ => None,
    }
}

/// Our own best: see the README for the table it was tuned against.
fn default() -> Policy {
    // Transient failures pass within a second or two; full jitter keeps a thousand callers from
    // returning together. Throttling passes more slowly, so it rests longer (resilience.md S14).
    let transient = retry(2, Backoff::doubling(millis(250), secs(8), Jitter::Full));
    let throttled = retry(2, Backoff::doubling(secs(1), secs(30), Jitter::Spread(0.5)));
    let context = Step::Retry(Retry { with_context: true, ..once(millis(250)) });
    Policy {
        name: "default".to_owned(),
        vendor_boundary: VendorBoundary::Open,
        stream: StreamMode::Fast,
        deadline: minutes(10),
        // Seven attempts turn 30 % random failures into two in ten thousand; with five, three in
        // a thousand requests are lost.
        attempts_max: 8,
        session_retries: SessionRetries { max: 30, warn: 20 },
        retry_share: 0.2,
        fallback_share: 1.0,
        breaker: breaker::Settings {
            adaptive: true,
            // A half-broken endpoint still serves half: above that, others do better.
            ratio: 0.6,
            cooldown: secs(10),
            cooldown_max: minutes(1),
            ..breaker::Settings::default()
        },
        escalate: Escalate { auto: false, after_retries: 3 },
        quota_rest: minutes(60),
        // Holding a request for hours is a choice: somebody may be waiting at a screen.
        park: Duration::ZERO,
        // Clients come back within seconds to minutes of their own timeout.
        journal: minutes(5),
        timeouts: Timeouts {
            // A handshake takes well under a second; DNS and a lost packet or two add a few.
            connect: secs(10),
            // Models that think before they speak take minutes, and most say nothing meanwhile.
            first_token: minutes(3),
            // Providers that think aloud send pings every 10 to 30 s.
            idle: secs(90),
            // Shorter than the shortest idle timeout seen in a proxy (15 s). Once it is sent the status is
            // spent, so it is not sent early.
            heartbeat: secs(12),
        },
        on: table([
            (kind(FailureKind::RateLimit), vec![throttled.clone(), Step::Fallback]),
            (kind(FailureKind::Overloaded), vec![throttled, Step::Fallback]),
            (kind(FailureKind::QuotaExhausted), vec![Step::Fallback]),
            (kind(FailureKind::ContextLimit), vec![Step::Fallback, Step::Escalate]),
            (kind(FailureKind::ContentFilter), vec![Step::Fallback]),
            (kind(FailureKind::ModelUnavailable), vec![Step::Fallback]),
            (kind(FailureKind::AuthError), vec![Step::Fallback]),
            (kind(FailureKind::NetworkPermanent), vec![Step::Fallback]),
            (kind(FailureKind::InvalidRequest), vec![Step::GiveUp]),
            (kind(FailureKind::Cancelled), vec![Step::GiveUp]),
            (kind(FailureKind::BadOutput), vec![context, Step::Fallback]),
            (kind(FailureKind::StateLost), vec![Step::Repair { max: 2 }, Step::GiveUp]),
            (kind(FailureKind::ProcessDied), vec![retry_once(secs(1)), Step::Fallback, restart()]),
            // A timeout has cost a minute already: elsewhere first.
            (kind(FailureKind::Timeout), vec![Step::Fallback, transient.clone(), restart()]),
            (category(Category::NetworkTransient), vec![transient.clone(), Step::Fallback, restart()]),
            (Trigger::Default, vec![transient, Step::Fallback]),
        ]),
    }
}

/// Seed document 000: Subagent fallback system hardening.
fn hardened() -> Policy {
    let network = retry(5, Backoff::doubling(secs(1), secs(30), Jitter::Spread(0.2)));
    Policy {
        name: "hardened".to_owned(),
        breaker: breaker::Settings { cooldown: minutes(5), rate_limits_trip: true, ..breaker::Settings::default() },
        on: table([
            (category(Category::NetworkTransient), vec![network.clone(), restart()]),
            (category(Category::NetworkPermanent), vec![Step::Fallback]),
            (category(Category::ProviderRateLimit), vec![network, Step::Fallback]),
            (kind(FailureKind::QuotaExhausted), vec![Step::Fallback]),
            (category(Category::ProviderError), vec![Step::Fallback]),
            (category(Category::ContextLength), vec![Step::Escalate]),
            (kind(FailureKind::StateLost), vec![Step::Repair { max: 2 }]),
            (category(Category::LogicError), vec![Step::GiveUp]),
            (Trigger::Default, vec![Step::GiveUp]),
        ]),
        ..document()
    }
}

/// Seed document 001: Agent retry with escalation.
fn escalating() -> Policy {
    let three = retry(3, Backoff::doubling(secs(1), secs(30), Jitter::Spread(0.2)));
    let context = Step::Retry(Retry { with_context: true, ..once(secs(1)) });
    let retried = [
        FailureKind::RateLimit,
        FailureKind::Overloaded,
        FailureKind::ServerError,
        FailureKind::Timeout,
        FailureKind::NetworkTransient,
        FailureKind::StreamInterrupted,
        FailureKind::ProcessDied,
    ];
    Policy {
        name: "escalating".to_owned(),
        on: table(
            retried.map(|known| (kind(known), vec![three.clone(), Step::Escalate, Step::Fallback])).into_iter().chain(
                [
                    (kind(FailureKind::ContextLimit), vec![Step::Escalate]),
                    (kind(FailureKind::BadOutput), vec![context, Step::Escalate]),
                    (kind(FailureKind::QuotaExhausted), vec![Step::Fallback]),
                    (kind(FailureKind::ModelUnavailable), vec![Step::Fallback]),
                    (kind(FailureKind::StateLost), vec![Step::Repair { max: 2 }]),
                    (Trigger::Default, vec![Step::GiveUp]),
                ],
            ),
        ),
        ..document()
    }
}

/// Seed document 002: Resilience patterns.
fn patterns() -> Policy {
    let quick = retry(3, Backoff::doubling(millis(100), secs(5), Jitter::Full));
    Policy {
        name: "patterns".to_owned(),
        on: table([
            (Trigger::Status(500), vec![Step::GiveUp]),
            (kind(FailureKind::RateLimit), vec![quick.clone(), Step::Fallback]),
            (kind(FailureKind::Overloaded), vec![quick.clone(), Step::Fallback]),
            (kind(FailureKind::ServerError), vec![quick.clone(), Step::Fallback]),
            (category(Category::NetworkTransient), vec![quick, Step::Fallback]),
            (kind(FailureKind::QuotaExhausted), vec![Step::Fallback]),
            (kind(FailureKind::StateLost), vec![Step::Repair { max: 2 }]),
            (kind(FailureKind::ProcessDied), vec![Step::Repair { max: 2 }, Step::GiveUp]),
            (Trigger::Default, vec![Step::GiveUp]),
        ]),
        ..document()
    }
}

/// Seed document 003: Council resilience. The document's code stops after two waits while its text counts all
/// three ("total max delay: 7 seconds"); the text is what people were promised.
fn council() -> Policy {
    let level_one = retry(3, Backoff::doubling(secs(1), secs(4), Jitter::Spread(0.0)));
    let ask = Step::Ask(Ask { nudge: secs(30), skip: secs(60) });
    let lasting = vec![Step::Defer, ask.clone(), Step::Degrade];
    let gone = vec![ask.clone(), Step::Degrade];
    Policy {
        name: "council".to_owned(),
        vendor_boundary: VendorBoundary::Strict,
        stream: StreamMode::Regenerate,
        // A turn that was deferred waits for the others, and perhaps for a person.
        deadline: minutes(60),
        on: table([
            (kind(FailureKind::QuotaExhausted), gone.clone()),
            (kind(FailureKind::AuthError), gone.clone()),
            (kind(FailureKind::ModelUnavailable), gone.clone()),
            (kind(FailureKind::ContextLimit), gone.clone()),
            (kind(FailureKind::InvalidRequest), vec![Step::Degrade]),
            (kind(FailureKind::Cancelled), vec![Step::GiveUp]),
            (kind(FailureKind::NetworkPermanent), gone),
            (kind(FailureKind::ContentFilter), lasting),
            (Trigger::Default, vec![level_one, Step::Defer, ask, Step::Degrade]),
        ]),
        ..document()
    }
}

/// Seed document 004: Session manager.
fn session_manager() -> Policy {
    let fixed = retry(3, Backoff::every(secs(5)));
    let unknown = retry(2, Backoff::doubling(secs(5), secs(30), Jitter::Spread(0.0)));
    Policy {
        name: "session-manager".to_owned(),
        on: table([
            (kind(FailureKind::RateLimit), vec![fixed, Step::Fallback]),
            (kind(FailureKind::QuotaExhausted), vec![Step::Fallback]),
            (kind(FailureKind::Timeout), vec![retry_once(secs(5)), Step::Fallback]),
            (kind(FailureKind::ModelUnavailable), vec![Step::Fallback]),
            (kind(FailureKind::Overloaded), vec![Step::Fallback]),
            (kind(FailureKind::InvalidRequest), vec![Step::Fallback]),
            (kind(FailureKind::Cancelled), vec![Step::GiveUp]),
            (Trigger::Default, vec![unknown, Step::Fallback]),
        ]),
        ..document()
    }
}

/// What the documents leave open, the same for all of them: the breaker is 000's, everything
/// else as in `default` (where 30 retries a session with a warning at 20 are 003's).
fn document() -> Policy {
    Policy { attempts_max: 20, breaker: breaker::Settings::default(), ..default() }
}

/// Seed document 000: at most three restarts, one, two and four minutes apart.
fn restart() -> Step {
    Step::Restart(Restart { max: 3, backoff: Backoff::doubling(minutes(1), minutes(4), Jitter::Spread(0.0)) })
}

fn retry(max: u32, backoff: Backoff) -> Step {
    Step::Retry(Retry { max, backoff, with_context: false })
}

fn retry_once(delay: Duration) -> Step {
    Step::Retry(once(delay))
}

fn once(delay: Duration) -> Retry {
    Retry { max: 1, backoff: Backoff::every(delay), with_context: false }
}

fn table(entries: impl IntoIterator<Item = (Trigger, Vec<Step>)>) -> StepTable {
    StepTable::new(
        entries.into_iter().map(|(trigger, steps)| (trigger, steps.into_iter().map(StepRule::from).collect())),
    )
}

fn kind(kind: FailureKind) -> Trigger {
    Trigger::Kind(kind)
}

fn category(category: Category) -> Trigger {
    Trigger::Category(category)
}

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

const fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(60 * minutes)
}
