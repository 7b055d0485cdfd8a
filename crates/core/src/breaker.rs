//! Per-endpoint breaker: refuses an endpoint that keeps failing, then lets a few probes through.
//!
//! ```text
//! Closed --failures in a row, or too high a ratio--> Open --cooldown--> HalfOpen --success--> Closed
//!                                                     ^------failure or degraded------'
//! ```
//!
//! Every permit carries the generation it was given in. A result from an older generation counts
//! nowhere: a model call outlives a cooldown, so stragglers from before a trip are the normal
//! case. Every probe has a lease; one that hangs, is cancelled or ends neutral gives its place
//! to the next, or one lost caller would shut the endpoint for good. A stream is judged by its
//! first content ([`Breaker::begun`]): its end may be minutes away, and nobody else is let through
//! until then.
//!
//! Knows no providers and no clock. While closed, admitting is one atomic load and recording a
//! success one compare-and-swap; everything else takes a short lock.

mod machine;
mod suspicion;

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::health::Verdict;
use crate::time::Instant;
use crate::window::Window;

use machine::Machine;
use suspicion::{Mark, Suspicion};

/// When a breaker trips and how it comes back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Failures in a row that trip it.
    pub failures: u32,
    /// Ask for longer runs under heavy traffic, where five in a row happen by chance.
    pub adaptive: bool,
    /// The share of bad outcomes in the window that trips it.
    pub ratio: f64,
    /// How far back the ratio looks. Longer than a call lasts, or a slow outage hides in it.
    pub window: Duration,
    /// Outcomes in the window below which the ratio says nothing.
    pub floor: u32,
    /// How long it stays open at first.
    pub cooldown: Duration,
    /// How long it stays open at most; each failed probe doubles the time.
    pub cooldown_max: Duration,
    /// Probes in flight while half-open.
    pub probes: u32,
    /// Successful probes that close it.
    pub successes: u32,
    /// How long a probe may take before its place is given away.
    pub lease: Duration,
    /// Rate limits and overload count as failures in a row, not only in the ratio.
    pub rate_limits_trip: bool,
}

/// How an attempt ended, as far as the endpoint's health is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It served.
    Success,
    /// It failed.
    Failure,
    /// It is alive but asks for less: counts in the ratio, not in a row.
    Degraded,
    /// The caller's own fault, or the caller left: counts nowhere.
    Neutral,
}

/// Leave to make one attempt. Hand it back to [`Breaker::record`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permit {
    generation: u64,
    role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Ordinary traffic, with the suspicion it was admitted under.
    Traffic(Mark),
    Probe(u64),
    /// A probe whose verdict is in, while others are still asked for theirs.
    Judged,
    /// Admitted against the breaker's advice (forced closed, shadow, panic): proves nothing.
    Extra,
}

/// Why an attempt may not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The earliest moment at which asking again may help.
    pub until: Instant,
    /// What refused.
    pub cause: Cause,
}

/// What refused an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The breaker is open.
    Open,
    /// The breaker is half-open and its probes are under way.
    Probing,
    /// A person forced it open.
    Forced,
}

/// What a breaker is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Traffic flows.
    Closed,
    /// Refused until then.
    Open {
        /// When probes begin.
        until: Instant,
    },
    /// Probes decide.
    HalfOpen,
}

/// One change of state, for logs and live events. That an open breaker has cooled is no event:
/// nothing happens until somebody asks, and then the attempt is a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The state left.
    pub from: State,
    /// The state entered.
    pub to: State,
    /// Why.
    pub reason: Reason,
}

/// Why a breaker changed its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// This many failures in a row.
    InARow(u32),
    /// This share of bad outcomes, in percent.
    Ratio(u8),
    /// A probe failed.
    ProbeFailed,
    /// The probes succeeded.
    ProbesSucceeded,
    /// The endpoint fails its health checks.
    HealthChecks,
    /// Another replica says so.
    Told,
}

/// What another replica says about the same endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// Its breaker opened.
    Opened {
        /// For how long from now.
        left: Duration,
        /// How often it opened since it was last closed.
        trips: u32,
    },
    /// Its probes succeeded.
    Closed,
}

/// A person's word over the breaker's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// What it does while it lasts.
    pub mode: Mode,
    /// Who and why, in words.
    pub reason: String,
    /// When the breaker decides by itself again.
    pub until: Instant,
}

/// What an override does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Admits nothing.
    ForcedOpen,
    /// Admits everything.
    ForcedClosed,
    /// Decides as ever, but refuses nobody.
    Shadow,
}

/// The breaker of one endpoint. Shared by reference between all its callers.
#[derive(Debug)]
pub struct Breaker {
    settings: Settings,
    gate: AtomicU64,
    /// Failures in a row while closed.
    run: AtomicU32,
    /// The last failure while closed, in nanoseconds.
    failed: AtomicU64,
    /// The last trip while closed, in nanoseconds; zero for never.
    tripped: AtomicU64,
    suspicion: Suspicion,
    window: Window,
    /// Whether much went on when an attempt last failed.
    busy: AtomicBool,
    machine: Mutex<Machine>,
}

/// How many more failures in a row than a quiet breaker needs make a busy one doubtful. Lower, a
/// 50 % brown-out looks doubtful all the time; higher, an outage is found out later.
const DOUBTFUL: u32 = 3;

/// How long a run of failures speaks against extra attempts.
const FRESH: Duration = Duration::from_millis(500);

/// Where fewer attempts end in a second, so few are in flight that each can be answered for: they
/// need not wait for a verdict.
const QUIET_PER_SEC: f64 = 15.0;

/// How many failures in a row a quiet endpoint shows before it is no longer tried in place of another.
const UNTRIED_RUN_MAX: u32 = 1;

/// How long a trip speaks against extra attempts elsewhere: until it shows whether the others
/// live. In a total outage the whole chain trips within this time.
const SETTLING: Duration = Duration::from_secs(3);

/// The part of the state that the fast path needs, packed into one word: the generation and
/// whether the breaker is plainly closed.
#[derive(Clone, Copy)]
struct Gate(u64);

impl Breaker {
    /// A closed breaker; the seed spreads its cooldowns.
    pub fn new(settings: Settings, seed: u64) -> Self {
        Self {
            settings,
            gate: AtomicU64::new(Gate::new(0, true).0),
            run: AtomicU32::new(0),
            failed: AtomicU64::new(0),
            tripped: AtomicU64::new(0),
            suspicion: Suspicion::default(),
            window: Window::new(settings.window),
            busy: AtomicBool::new(false),
            machine: Mutex::new(Machine::new(seed)),
        }
    }

    /// Says whether an attempt may start, and claims a probe once the cooldown is over.
    pub fn admit(&self, now: Instant) -> Result<Permit, Refusal> {
        let gate = Gate(self.gate.load(Ordering::Acquire));
        if gate.plainly_closed() {
            let mark = if self.settings.adaptive { self.suspicion.admit() } else { Mark::default() };
            return Ok(Permit { generation: gate.generation(), role: Role::Traffic(mark) });
        }
        self.change(|machine, settings| machine.admit(settings, now))
    }

    /// A permit that proves nothing: for attempts made although the breaker refuses.
    pub fn admit_in_panic(&self) -> Permit {
        Permit { generation: 0, role: Role::Extra }
    }

    /// Takes an attempt's outcome; `hint` is how long the endpoint itself asks to be left alone.
    pub fn record(&self, permit: Permit, outcome: Outcome, hint: Option<Duration>, now: Instant) -> Option<Transition> {
        let outcome = match outcome {
            Outcome::Degraded if self.settings.rate_limits_trip => Outcome::Failure,
            outcome => outcome,
        };
        let gate = Gate(self.gate.load(Ordering::Acquire));
        match permit.role {
            Role::Extra => None,
            Role::Probe(probe) => self
                .change(|machine, settings| machine.probed(settings, (probe, permit.generation), outcome, hint, now)),
            Role::Judged => {
                self.change(|machine, settings| machine.broke_off(settings, permit.generation, outcome, hint, now))
            }
            Role::Traffic(_) if gate.generation() != permit.generation => None,
            Role::Traffic(mark) => match outcome {
                Outcome::Neutral => {
                    self.suspicion.end(mark);
                    None
                }
                Outcome::Success => {
                    // A load is cheaper than a store to a line that other threads read.
                    let ends_run = self.suspicion.lift(mark) || !self.settings.adaptive;
                    if ends_run && self.run.load(Ordering::Relaxed) != 0 {
                        self.run.store(0, Ordering::Relaxed);
                    }
                    self.window.good(now);
                    None
                }
                Outcome::Failure | Outcome::Degraded => self.suffer(permit.generation, mark, outcome, hint, now),
            },
        }
    }

    /// The attempt's first content has come. Of a probe that is the verdict; of any other attempt it
    /// says nothing, and costs a look at its permit. The permit is changed to what the attempt is
    /// from here on, so that how it ends is not taken for a second verdict.
    pub fn begun(&self, permit: &mut Permit, now: Instant) -> Option<Transition> {
        let Role::Probe(probe) = permit.role else { return None };
        self.change(|machine, settings| {
            let transition = machine.probed(settings, (probe, permit.generation), Outcome::Success, None, now);
            *permit = match transition {
                // Whoever closed it is the first attempt of the closed breaker. Should it break off, it is
                // the first failure there: nowhere would hide an endpoint that begins well and never ends.
                Some(_) => Permit { generation: machine.generation, role: Role::Traffic(Mark::default()) },
                None => Permit { role: Role::Judged, ..*permit },
            };
            transition
        })
    }

    /// Takes the verdict of health checks. An unhealthy endpoint is refused at least until `until`,
    /// by when the next verdict is due; should none come, probes decide again. A healthy one that
    /// was refused for its health is probed at once: that its checks answer does not prove that it
    /// serves. What traffic alone tripped is left to its cooldown.
    pub fn checked(&self, verdict: Verdict, until: Instant, now: Instant) -> Option<Transition> {
        self.change(|machine, settings| match verdict {
            Verdict::Unhealthy => machine.refuse_unhealthy(settings, until, now),
            Verdict::Healthy => {
                machine.end_unhealthy(now);
                None
            }
        })
    }

    /// Takes another replica's word. A trip there opens it here, and probes that succeeded there close
    /// it. Who has found an endpoint well by its own probes after such a word does not listen to the
    /// next one for a while: that the other's way there is broken must not shut everybody's.
    pub fn told(&self, news: News, now: Instant) -> Option<Transition> {
        self.change(|machine, settings| machine.told(settings, news, now))
    }

    /// How often it opened since it was last closed.
    pub fn trips(&self) -> u32 {
        self.lock().trips()
    }

    /// What the breaker is doing now.
    pub fn state(&self, now: Instant) -> State {
        self.lock().state(now)
    }

    /// How many times it has opened or closed; grows with every such change.
    pub fn generation(&self) -> u64 {
        Gate(self.gate.load(Ordering::Acquire)).generation()
    }

    /// Whether a probe has just begun: most are over within a second or two, and then it is known
    /// whether the endpoint is back.
    pub fn has_young_probe(&self, now: Instant) -> bool {
        self.lock().has_young_probe(&self.settings, now)
    }

    /// Probes in flight.
    pub fn probes_in_flight(&self, now: Instant) -> usize {
        self.lock().probes_in_flight(now)
    }

    /// A number that changes with everything the breaker remembers, and with nothing else: two
    /// equal ones mean that nothing was counted in between. For tests and simulations.
    pub fn fingerprint(&self) -> u64 {
        let machine = self.lock().fingerprint();
        let gate = self.gate.load(Ordering::Acquire);
        let run = u64::from(self.run.load(Ordering::Relaxed));
        [gate, run, self.suspicion.fingerprint(), self.window.fingerprint()]
            .into_iter()
            .fold(machine, crate::window::mix)
    }

    /// Puts a person's word over the breaker's own, or takes it back.
    pub fn set_override(&self, word: Option<Override>) {
        self.change(|machine, _| machine.word = word);
    }

    /// The person's word in force, if any.
    pub fn current_override(&self, now: Instant) -> Option<Override> {
        self.lock().word_in_force(now).cloned()
    }

    /// Whether a person forced it open.
    pub fn is_forced_open(&self, now: Instant) -> bool {
        self.lock().word_in_force(now).is_some_and(|word| word.mode == Mode::ForcedOpen)
    }

    /// Whether it would refuse an attempt now.
    pub fn is_open(&self, now: Instant) -> bool {
        let gate = Gate(self.gate.load(Ordering::Acquire));
        !gate.plainly_closed() && self.lock().refuses(&self.settings, now)
    }

    /// Whether an outage is just being found out here: a long run of failures that has not tripped
    /// it yet, or a trip a moment ago. Extra attempts sent now would only multiply what is about to
    /// be known. Both pass quickly: a quiet endpoint must get the chance to do better.
    pub fn in_doubt(&self, now: Instant) -> bool {
        if !self.settings.adaptive {
            return false;
        }
        let since = |moment: &AtomicU64| now.since(Instant::from_nanos(moment.load(Ordering::Relaxed)));
        let tripped = self.tripped.load(Ordering::Relaxed) != 0 && since(&self.tripped) < SETTLING;
        let long_run = self.run.load(Ordering::Relaxed) >= self.settings.failures.saturating_add(DOUBTFUL);
        tripped || long_run && since(&self.failed) < FRESH
    }

    /// Whether so little went on here, when it last failed, that nobody need wait for a verdict: what
    /// falls back while an outage is found out comes one by one, and the first tells whether the next
    /// endpoint lives.
    pub fn is_quiet(&self) -> bool {
        !self.busy.load(Ordering::Relaxed)
    }

    /// Whether nothing yet speaks against an attempt here in place of another endpoint.
    pub fn is_untried(&self, now: Instant) -> bool {
        self.run.load(Ordering::Relaxed) < UNTRIED_RUN_MAX && !self.is_open(now)
    }

    /// What it was told to do.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// A bad outcome while closed: the only way to trip.
    fn suffer(
        &self,
        generation: u64,
        mark: Mark,
        outcome: Outcome,
        hint: Option<Duration>,
        now: Instant,
    ) -> Option<Transition> {
        let mut machine = self.lock();
        if Gate(self.gate.load(Ordering::Acquire)).generation() != generation {
            // Another thread tripped it between the check and the lock.
            return None;
        }
        self.window.bad(now);
        self.failed.store(now.as_nanos(), Ordering::Relaxed);
        let run = if self.settings.adaptive {
            self.streak(&mut machine, mark, outcome)
        } else {
            match outcome {
                Outcome::Failure => self.run.fetch_add(1, Ordering::Relaxed).saturating_add(1),
                _ => self.run.load(Ordering::Relaxed),
            }
        };
        let total = self.window.counts(now).total() as f64;
        self.busy.store(total >= QUIET_PER_SEC * self.settings.window.as_secs_f64(), Ordering::Relaxed);
        let troubled_since = *machine.troubled_since.get_or_insert(now);
        let ratio_counts = !self.settings.adaptive || now.since(troubled_since) >= self.settings.window / 4;
        let reason = self.trip_reason(run, ratio_counts, now)?;
        self.tripped.store(now.as_nanos(), Ordering::Relaxed);
        let transition = machine.trip(&self.settings, reason, hint, now);
        self.publish(&machine);
        Some(transition)
    }

    /// The failures in a row by the order in which attempts started.
    fn streak(&self, machine: &mut Machine, mark: Mark, outcome: Outcome) -> u32 {
        if self.suspicion.begin() {
            machine.streak.begin(outcome == Outcome::Failure);
        } else if self.suspicion.holds(mark) {
            self.suspicion.end(mark);
            if outcome == Outcome::Failure {
                machine.streak.fail(mark);
            }
        }
        let run = machine.streak.longest();
        self.run.store(run, Ordering::Relaxed);
        run
    }

    /// In the first moments after closing, an adaptive breaker leaves the ratio aside: failures
    /// arrive at once and successes only after a whole call.
    fn trip_reason(&self, run: u32, ratio_counts: bool, now: Instant) -> Option<Reason> {
        let counts = self.window.counts(now);
        let under_way = u64::from(self.suspicion.under_way());
        if run >= self.run_needed(counts.good + under_way) {
            return Some(Reason::InARow(run));
        }
        let share = counts.bad as f64 / counts.total() as f64;
        let tripped = ratio_counts && counts.total() >= u64::from(self.settings.floor) && share >= self.settings.ratio;
        tripped.then_some(Reason::Ratio((share * 100.0) as u8))
    }

    /// The failures in a row that prove an outage. At 500 attempts a second and 30 % random
    /// failures, five in a row come once a second by chance. Each doubling of what else was going
    /// on asks for one failure more: chance does not keep up with that, an outage does at once.
    fn run_needed(&self, others: u64) -> u32 {
        if !self.settings.adaptive {
            return self.settings.failures;
        }
        self.settings.failures.saturating_add(others.saturating_add(1).ilog2())
    }

    fn lock(&self) -> MutexGuard<'_, Machine> {
        // A panic while holding the lock cannot leave the machine half-changed: each change is
        // one assignment. Going on is better than taking the gateway down.
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the machine and lets the fast path know.
    fn change<T>(&self, change: impl FnOnce(&mut Machine, &Settings) -> T) -> T {
        let mut machine = self.lock();
        let before = machine.generation;
        let answer = change(&mut machine, &self.settings);
        if machine.generation == before {
            self.gate.store(machine.gate().0, Ordering::Release);
        } else {
            self.publish(&machine);
        }
        answer
    }

    /// A new generation starts with clean counts.
    fn publish(&self, machine: &Machine) {
        self.run.store(0, Ordering::Relaxed);
        self.suspicion.clear();
        self.window.clear();
        self.gate.store(machine.gate().0, Ordering::Release);
    }
}

impl Permit {
    /// Whether this attempt decides about a half-open breaker.
    pub const fn is_probe(&self) -> bool {
        matches!(self.role, Role::Probe(_))
    }
}

impl Gate {
    const CLOSED: u64 = 1;
    const PLAIN: u64 = 2;

    fn new(generation: u64, closed: bool) -> Self {
        let flags = if closed { Self::CLOSED | Self::PLAIN } else { 0 };
        Self(generation << 2 | flags)
    }

    const fn generation(self) -> u64 {
        self.0 >> 2
    }

    /// Closed, and nobody overrides it.
    const fn plainly_closed(self) -> bool {
        self.0 & (Self::CLOSED | Self::PLAIN) == Self::CLOSED | Self::PLAIN
    }

    const fn overridden(self) -> Self {
        Self(self.0 & !Self::PLAIN)
    }
}

impl Settings {
    /// More failures in a row never trip a breaker, as far as anybody who waits can tell.
    pub const FAILURES_MAX: u32 = 1000;
    /// A million outcomes in a window: above that the ratio would never count.
    pub const FLOOR_MAX: u32 = 1_000_000;
    /// More probes at once are traffic.
    pub const PROBES_MAX: u32 = 100;

    /// Everything that cannot be: field, what is wrong, and the fix.
    pub(crate) fn problems(&self) -> Vec<(&'static str, String, &'static str)> {
        let mut problems = Vec::new();
        let mut refuse = |refused: bool, field, what: &str, fix| {
            if refused {
                problems.push((field, what.to_owned(), fix));
            }
        };
        let day = Duration::from_secs(24 * 60 * 60);
        for (field, count, max, fix) in [
            ("failures", self.failures, Self::FAILURES_MAX, "5 failures in a row"),
            ("floor", self.floor, Self::FLOOR_MAX, "20 outcomes before the ratio counts"),
            ("probes", self.probes, Self::PROBES_MAX, "one probe at a time"),
            ("successes", self.successes, Self::PROBES_MAX, "1 closes at once"),
        ] {
            let what = format!("is {count} but must be between 1 and {max}");
            refuse(!(1..=max).contains(&count), field, &what, fix);
        }
        refuse(!(0.01..=1.0).contains(&self.ratio), "ratio", "must be between 0.01 and 1", "0.5 trips at half");
        refuse(
            self.window < Duration::from_secs(1) || self.window > day,
            "window",
            "must be between 1s and 24h",
            "\"2m\" looks back further than most calls last",
        );
        refuse(self.cooldown.is_zero() || self.cooldown > day, "cooldown", "must be above zero, up to 24h", "\"30s\"");
        refuse(
            self.cooldown_max < self.cooldown || self.cooldown_max > day,
            "cooldown_max",
            "must be between `cooldown` and 24h",
            "\"5m\"",
        );
        refuse(self.lease.is_zero() || self.lease > day, "lease", "must be above zero, up to 24h", "\"60s\"");
        problems
    }
}

impl Default for Settings {
    /// `(000)`'s five in a row; for the rest resilience.md S1 to S8.
    fn default() -> Self {
        Self {
            failures: 5,
            adaptive: false,
            ratio: 0.5,
            window: Duration::from_secs(120),
            floor: 20,
            cooldown: Duration::from_secs(30),
            cooldown_max: Duration::from_secs(300),
            probes: 1,
            successes: 1,
            lease: Duration::from_secs(60),
            rate_limits_trip: false,
        }
    }
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 3] = [Self::ForcedOpen, Self::ForcedClosed, Self::Shadow];

    /// The mode's name, as logs and APIs write it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::ForcedOpen => "forced_open",
            Self::ForcedClosed => "forced_closed",
            Self::Shadow => "shadow",
        }
    }
}

impl State {
    /// The state's name, as logs and APIs write it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open { .. } => "open",
            Self::HalfOpen => "half_open",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InARow(run) => write!(f, "{run} failures in a row"),
            Self::Ratio(percent) => write!(f, "{percent} % of recent attempts failed"),
            Self::ProbeFailed => f.write_str("a probe failed"),
            Self::ProbesSucceeded => f.write_str("the probes succeeded"),
            Self::Told => f.write_str("another replica said so"),
            Self::HealthChecks => f.write_str("the health checks fail"),
        }
    }
}

#[cfg(test)]
mod tests;
