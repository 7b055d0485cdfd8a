//! What an adaptive breaker makes of failures while others are still under way.
//!
//! Failures are fast and successes slow. Where one attempt in three fails, a closed breaker hears
//! of dozens of failures before the first success can possibly arrive; and after an outage began,
//! successes of calls from before it drip in for seconds. Going by the order in which results
//! *arrive* it trips on the first and misses the second. So an adaptive breaker goes by the order
//! in which attempts *started*: in a row means that none started in between and is still under
//! way, and only a success that was admitted after the first failure ends the suspicion.
//!
//! While nothing is wrong, admitting reads one word and writes none.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The attempts admitted since a failure raised suspicion.
#[derive(Debug, Default)]
pub(super) struct Suspicion {
    /// Upper half: the suspicion's number, odd while it lasts. Lower half: attempts admitted.
    word: AtomicU64,
    /// How many of them have ended.
    ended: AtomicU32,
}

/// Under which suspicion an attempt was admitted, and as which of its attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// Zero for none.
    suspicion: u32,
    /// Its place among those looked at, if it is one of them.
    place: Option<u32>,
}

/// Failures by the order in which their attempts started: the last 128, newest in bit 0.
#[derive(Debug, Default)]
pub(super) struct Streak {
    bits: u128,
    newest: u32,
}

impl Suspicion {
    /// One more is admitted.
    pub(super) fn admit(&self) -> Mark {
        if !lasts(self.word.load(Ordering::Relaxed)) {
            return Mark::default();
        }
        let word = self.word.fetch_add(1, Ordering::Relaxed);
        // The first place belongs to the failure that began it.
        if lasts(word) { Mark { suspicion: number(word), place: place(word as u32 + 1) } } else { Mark::default() }
    }

    /// A failure; says whether it raised the suspicion just now.
    pub(super) fn begin(&self) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        if lasts(word) {
            return false;
        }
        self.ended.store(0, Ordering::Relaxed);
        self.word.store(numbered(number(word).wrapping_add(1)), Ordering::Relaxed);
        true
    }

    /// An attempt ended, other than well.
    pub(super) fn end(&self, mark: Mark) {
        if self.holds(mark) {
            self.ended.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A success ends it, if it was admitted since; says whether it did.
    pub(super) fn lift(&self, mark: Mark) -> bool {
        let held = self.holds(mark);
        if held {
            self.word.store(numbered(mark.suspicion.wrapping_add(1)), Ordering::Relaxed);
        }
        held
    }

    /// Ends it, whoever was admitted.
    pub(super) fn clear(&self) {
        let word = self.word.load(Ordering::Relaxed);
        if lasts(word) {
            self.word.store(numbered(number(word).wrapping_add(1)), Ordering::Relaxed);
        }
    }

    /// Whether the attempt was admitted under the suspicion that lasts.
    pub(super) fn holds(&self, mark: Mark) -> bool {
        mark.suspicion != 0 && number(self.word.load(Ordering::Relaxed)) == mark.suspicion
    }

    /// How many attempts admitted under it have not ended.
    pub(super) fn under_way(&self) -> u32 {
        let word = self.word.load(Ordering::Relaxed);
        if lasts(word) { (word as u32).saturating_sub(self.ended.load(Ordering::Relaxed)) } else { 0 }
    }

    /// Without what has ended: an attempt that proves nothing ends too.
    pub(super) fn fingerprint(&self) -> u64 {
        self.word.load(Ordering::Relaxed)
    }
}

impl Streak {
    /// What raised the suspicion: a failure, or a sign of overload that is not one.
    pub(super) fn begin(&mut self, failed: bool) {
        *self = Self { bits: failed.into(), newest: 0 };
    }

    /// The attempt at this mark failed.
    pub(super) fn fail(&mut self, mark: Mark) {
        let Some(place) = mark.place else { return };
        if place > self.newest {
            self.bits = self.bits.checked_shl(place - self.newest).unwrap_or(0);
            self.newest = place;
        }
        self.bits |= 1u128.checked_shl(self.newest - place).unwrap_or(0);
    }

    /// The most failures in a row.
    pub(super) fn longest(&self) -> u32 {
        let (mut bits, mut longest) = (self.bits, 0);
        while bits != 0 {
            bits &= bits << 1;
            longest += 1;
        }
        longest
    }
}

/// Which of the attempts are looked at: all of the first 128, then every second, every fourth …, 64
/// for each doubling. So the last 128 places always reach back over three quarters of the
/// suspicion, however many attempts a second there are: far enough for failures to have arrived.
const fn place(attempt: u32) -> Option<u32> {
    if attempt < 64 {
        return Some(attempt);
    }
    let octave = (attempt / 64).ilog2();
    if !attempt.is_multiple_of(1 << octave) {
        return None;
    }
    Some(64 * octave + (attempt >> octave))
}

const fn lasts(word: u64) -> bool {
    word >> 32 & 1 == 1
}

const fn number(word: u64) -> u32 {
    (word >> 32) as u32
}

const fn numbered(number: u32) -> u64 {
    (number as u64) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_goes_by_when_attempts_started() {
        let (suspicion, mut streak) = (Suspicion::default(), Streak::default());
        assert_eq!(suspicion.admit(), Mark::default());
        assert!(suspicion.begin());
        streak.begin(true);
        let marks: Vec<Mark> = (0..6).map(|_| suspicion.admit()).collect();
        for (failed, longest) in [(5, 1), (0, 2), (4, 2), (1, 3), (2, 4), (3, 7)] {
            streak.fail(marks[failed]);
            suspicion.end(marks[failed]);
            assert_eq!(streak.longest(), longest, "after {failed}");
        }
        assert_eq!(suspicion.under_way(), 0);
    }

    #[test]
    fn places_are_without_gaps_and_grow_with_the_logarithm() {
        let places: Vec<u32> = (0..128 << 10).filter_map(place).collect();
        assert!(places.iter().copied().eq(0..places.len() as u32));
        assert_eq!(places.len(), 128 + 64 * 10, "64 for each doubling");
    }

    #[test]
    fn only_a_success_admitted_since_lifts_it() {
        let suspicion = Suspicion::default();
        let before = suspicion.admit();
        assert!(suspicion.begin());
        let since = suspicion.admit();
        assert!(!suspicion.lift(before));
        assert_eq!(suspicion.under_way(), 1);
        assert!(suspicion.lift(since));
        assert_eq!(suspicion.under_way(), 0);
        assert_eq!(suspicion.admit(), Mark::default());
    }

    #[test]
    fn who_was_admitted_under_another_suspicion_or_none_says_nothing_about_this_one() {
        let suspicion = Suspicion::default();
        assert!(!suspicion.lift(Mark::default()) && !suspicion.holds(Mark::default()), "there is none");
        suspicion.begin();
        let old = suspicion.admit();
        suspicion.clear();
        assert!(!suspicion.holds(old), "it was ended for everybody");
        assert!(suspicion.begin());
        suspicion.admit();
        suspicion.end(old);
        assert!(!suspicion.lift(old) && suspicion.under_way() == 1);
    }

    #[test]
    fn an_attempt_that_is_said_to_fail_twice_failed_once() {
        let mut streak = Streak::default();
        streak.begin(true);
        for place in [1, 1, 2, 2, 1] {
            streak.fail(Mark { suspicion: 1, place: Some(place) });
        }
        assert_eq!(streak.longest(), 3);
    }

    #[test]
    fn a_long_streak_forgets_its_beginning_and_nothing_else() {
        let mut streak = Streak::default();
        streak.begin(true);
        for place in (1..1000).chain([5000]) {
            streak.fail(Mark { suspicion: 1, place: Some(place) });
        }
        assert_eq!(streak.longest(), 1);
        streak.fail(Mark { suspicion: 1, place: Some(4999) });
        streak.fail(Mark { suspicion: 1, place: Some(3) });
        assert_eq!(streak.longest(), 2);
    }
}
