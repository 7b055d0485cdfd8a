//! One member's turn in a round: its way through the policy and what the person must know of it.

use std::sync::Arc;

use steadfast_core::decision::{Decision, Target};
use steadfast_core::recovery::{Attempt, Face, Plan, Question, Recovery};
use steadfast_core::route::Needs;
use steadfast_core::time::Instant;
use steadfast_core::world;

use super::{Action, Coordinator, record};

/// What a member may say at most, for the budget and the context window.
const ANSWER_TOKENS: u32 = 4096;

/// Bytes of English a token.
const BYTES_PER_TOKEN: usize = 4;

/// One member's turn.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) seat: usize,
    /// Names it in the decision log.
    pub(super) request: Arc<str>,
    pub(super) recovery: Recovery,
    pub(super) began: Instant,
    /// The attempt that is being made.
    pub(super) call: Option<Began>,
    /// How much of the running attempt's answer has been shown.
    pub(super) shown_bytes: usize,
    /// It waits until then for its next attempt.
    pub(super) wait_until: Option<Instant>,
    /// When the person was asked.
    pub(super) asked: Option<Instant>,
    /// What was decided last.
    pub(super) decision: Option<Decision>,
    /// Why it fails, in words.
    pub(super) last_words: String,
    /// It was deferred or asked about: speaking after all is worth a word.
    pub(super) was_out: bool,
    /// The person agreed to another model.
    pub(super) fell_back: bool,
}

/// An attempt under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Began {
    pub(super) number: u64,
    pub(super) attempt: Attempt,
    pub(super) at: Instant,
}

impl Coordinator {
    /// Plans a member's turn. Whoever is last in its round cannot be deferred: there is nobody to go first.
    pub(super) fn begin_turn(&mut self, seat: usize, now: Instant) -> Turn {
        self.turns += 1;
        let last = self.queue.is_empty();
        let route = Arc::clone(self.seats[seat].member.route(self.seats[seat].at));
        let input_tokens = u32::try_from(self.bytes_said / BYTES_PER_TOKEN).unwrap_or(u32::MAX);
        let plan = Plan {
            policy: Arc::clone(&self.setup.policy),
            route,
            needs: Needs { input_tokens, output_tokens: ANSWER_TOKENS, ..Needs::default() },
            face: Face { defer: !last, ..Face::COUNCIL },
            project: Arc::clone(&self.setup.project),
            session: Arc::clone(&self.setup.session),
            turn: world::Turn::New,
            time_limit: None,
            restarts_used: 0,
            seed: self.rng.u64(..),
        };
        let turn = Turn {
            seat,
            request: format!("{}-{}", self.setup.id, self.turns).into(),
            recovery: Recovery::start(plan, now),
            began: now,
            call: None,
            shown_bytes: 0,
            wait_until: None,
            asked: None,
            decision: None,
            last_words: String::new(),
            was_out: false,
            fell_back: false,
        };
        let record = record::start(&turn, &self.setup.id, &self.seats[seat].member.name, &self.setup.world);
        self.out.push(Action::Record(Box::new(record)));
        turn
    }
}

impl Turn {
    /// What the person is asked, where the turn waits for an answer.
    pub(super) fn question(&self) -> Option<Question> {
        self.recovery.question()
    }

    /// The model of a place of its route.
    pub(super) fn model_at(&self, target: Target) -> Option<Arc<str>> {
        Some(Arc::clone(&self.recovery.plan().route.model(target.model.into())?.name))
    }

    /// The model of the running attempt, or of the last one.
    pub(super) fn model(&self) -> Arc<str> {
        let target = self.call.map(|began| began.attempt.target).or(self.decision.map(|decision| decision.from));
        let known = target.and_then(|target| self.model_at(target));
        known.unwrap_or_else(|| Arc::clone(&self.recovery.plan().route.primary().name))
    }
}
