//! Questions to the person: one at a time, with a reminder and an end.

use steadfast_core::recovery::{self, Answer};
use steadfast_core::time::Instant;

use super::turn::Turn;
use super::{Action, Coordinator, Metric, record, words};

impl Coordinator {
    /// The member that has the floor waits for the person's word.
    pub(super) fn ask(&mut self, now: Instant) {
        let Some(turn) = self.floor.take() else { return };
        self.questions.push_back(turn);
        if self.questions.len() == 1 {
            self.put_question(now);
        }
    }

    /// Puts the first question of those that wait, with its whole time from now on.
    fn put_question(&mut self, now: Instant) {
        self.nudged = false;
        let Some(turn) = self.questions.front_mut() else { return };
        turn.recovery.put_question(now);
        turn.asked = Some(now);
        let (seat, to) = (turn.seat, turn.question().and_then(|question| turn.model_at(question.to)));
        let Some(to) = to else { return };
        let from = turn.model();
        let name = self.seats[seat].member.name.clone();
        self.measure(Metric::fallback("fallback_asked", &name, &from, &to));
        self.note(words::question(&name, &from, &to));
    }

    /// Reminds the person once, and goes on without an answer when its time is over.
    pub(super) fn look_at_question(&mut self, now: Instant) {
        let Some(question) = self.questions.front().and_then(Turn::question) else { return };
        if now >= question.skip {
            let Some(turn) = self.questions.front() else { return };
            let waited = now.since(turn.asked.unwrap_or(now));
            let name = self.seats[turn.seat].member.name.clone();
            self.note(words::no_answer(&name, waited));
            self.measure(Metric::about("fallback_timeout", &name));
            self.close_question(None, "nobody answered", now);
        } else if now >= question.nudge {
            self.nudged = true;
        }
    }

    pub(super) fn answered(&mut self, answer: Answer, now: Instant) {
        let Some(turn) = self.questions.front() else { return };
        let Some(to) = turn.question().and_then(|question| turn.model_at(question.to)) else { return };
        let (seat, from) = (turn.seat, turn.model());
        let name = self.seats[seat].member.name.clone();
        match answer {
            Answer::Yes => {
                self.measure(Metric::fallback("fallback_accepted", &name, &from, &to));
                self.note(words::routing(&name, &to));
            }
            Answer::No => {
                self.measure(Metric::fallback("fallback_declined", &name, &from, &to));
                self.note(words::declined(&name));
            }
        }
        self.close_question(Some(answer), "its fallback was declined", now);
    }

    /// Ends the open question, and puts the next.
    fn close_question(&mut self, answer: Option<Answer>, reason: &str, now: Instant) {
        let Some(mut turn) = self.questions.pop_front() else { return };
        let to = turn.question().map(|question| question.to);
        let decision = match answer {
            Some(answer) => turn.recovery.answered(answer, &self.setup.world, now),
            None => match turn.recovery.next(&self.setup.world, now) {
                recovery::Action::Decided(decision) => Some(decision),
                _ => turn.recovery.answered(Answer::No, &self.setup.world, now),
            },
        };
        if let Some(decision) = decision {
            let record = record::decision(&turn, &decision, None, &self.setup.world);
            self.out.push(Action::Record(Box::new(record)));
        }
        turn.was_out = true;
        if answer == Some(Answer::Yes) {
            if let Some(at) =
                to.and_then(|to| turn.model_at(to)).and_then(|model| self.seats[turn.seat].member.position(&model))
            {
                self.seats[turn.seat].at = at;
            }
            turn.fell_back = true;
            self.agreed.push_back(turn);
        } else {
            turn.last_words = reason.to_owned();
            self.finish(turn, now);
        }
        self.put_question(now);
    }
}
