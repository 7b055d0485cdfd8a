//! What the status bar tells: who does what, and what is open.

use std::fmt::Write as _;
use std::sync::Arc;

use steadfast_core::decision::Reason;
use steadfast_core::time::Instant;

use super::turn::Turn;
use super::{Coordinator, Presence};

/// What the status bar tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Who does what.
    pub doing: Doing,
    /// The question that is open.
    pub asking: Option<Asking>,
    /// How many take part.
    pub active: usize,
    /// Of how many.
    pub all: usize,
    /// Retries of this session that did not help so far.
    pub retries: u32,
    /// So many that a person should know.
    pub warning: bool,
    /// Messages of the person that wait for their round.
    pub waiting: usize,
}

/// Who does what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Nobody speaks: it is the person's turn.
    Idle,
    /// An attempt is under way and has said nothing yet.
    Thinking {
        /// Who.
        name: String,
    },
    /// It failed in the round, the others have spoken, and it is asked again.
    Again {
        /// Who.
        name: String,
    },
    /// An answer is coming.
    Speaking {
        /// Who.
        name: String,
    },
    /// An attempt failed and is made again.
    Retrying {
        /// Who.
        name: String,
        /// When.
        at: Instant,
        /// Which retry, of how many, where it is one.
        retry: Option<(u32, u32)>,
    },
    /// Everybody is offline.
    Paused,
}

/// A question to the person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asking {
    /// Whom it is about.
    pub name: String,
    /// The model that does not answer.
    pub from: Arc<str>,
    /// The model it would go to.
    pub to: Arc<str>,
    /// It has been open for long: a reminder is due.
    pub nudged: bool,
    /// No answer by then counts as no.
    pub skip: Instant,
    /// How many more questions wait.
    pub more: usize,
}

impl Coordinator {
    /// What the status bar tells.
    pub fn status(&self) -> Status {
        Status {
            doing: self.doing(),
            asking: self.questions.front().and_then(|turn| self.asking(turn)),
            active: self.active(),
            all: self.seats.len(),
            retries: self.setup.session.retries_used(),
            warning: self.warned,
            waiting: self.waiting.len(),
        }
    }

    fn doing(&self) -> Doing {
        let Some(turn) = &self.floor else {
            return if self.paused { Doing::Paused } else { Doing::Idle };
        };
        let name = self.seats[turn.seat].member.name.clone();
        match turn.wait_until {
            None if turn.shown_bytes > 0 => Doing::Speaking { name },
            None if turn.was_out && !turn.fell_back => Doing::Again { name },
            None => Doing::Thinking { name },
            Some(at) => {
                let retry = turn.decision.and_then(|decision| match decision.reason {
                    Reason::Backoff { retry, of } | Reason::ProviderWait { retry, of } => Some((retry, of)),
                    _ => None,
                });
                Doing::Retrying { name, at, retry }
            }
        }
    }

    fn asking(&self, turn: &Turn) -> Option<Asking> {
        let question = turn.question()?;
        Some(Asking {
            name: self.seats[turn.seat].member.name.clone(),
            from: turn.model(),
            to: turn.model_at(question.to)?,
            nudged: self.nudged,
            skip: question.skip,
            more: self.questions.len() - 1,
        })
    }

    /// Whether a member is out.
    pub fn is_offline(&self, seat: usize) -> bool {
        self.seats.get(seat).is_some_and(|seat| matches!(seat.presence, Presence::Offline { .. }))
    }
}

impl Status {
    /// What is going on, in words; empty where it is the person's turn.
    pub fn doing_words(&self, now: Instant) -> String {
        match &self.doing {
            Doing::Idle => String::new(),
            Doing::Thinking { name } => format!("{name} is thinking…"),
            Doing::Again { name } => format!("Retrying failed speakers… ({name})"),
            Doing::Speaking { name } => format!("{name} is speaking…"),
            Doing::Retrying { name, at, retry } => {
                let mut words = format!("⚠ {name} error, retrying in {}s…", seconds(now, *at));
                if let Some((retry, of)) = retry {
                    _ = write!(words, " (retry {retry}/{of})");
                }
                words
            }
            Doing::Paused => "⚠ Session paused: all members offline. /retry all or /quit".to_owned(),
        }
    }

    /// The question that is open, in words.
    pub fn asking_words(&self, now: Instant) -> Option<String> {
        let Asking { name, from, to, nudged, skip, more } = self.asking.as_ref()?;
        let mut words = if *nudged {
            format!("Still deciding on {name}? Route to {to}: /yes or /no (auto-skip in {}s)", seconds(now, *skip))
        } else {
            format!("⚠ {name} ({from}) unavailable. Route to {to}? /yes or /no")
        };
        if *more > 0 {
            _ = write!(words, " (+{more} more)");
        }
        Some(words)
    }

    /// How many take part, in words.
    pub fn members_words(&self) -> String {
        format!("{}/{} members", self.active, self.all)
    }
}

/// Whole seconds until then, never less than one where there is anything left.
fn seconds(now: Instant, then: Instant) -> u64 {
    now.until(then).as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX)
}
