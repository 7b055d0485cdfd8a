//! Steps: one verb each, with the numbers that belong to it.

use std::time::Duration;

use steadfast_core::backoff::{Backoff, BackoffError, Jitter};
use steadfast_core::policy::{Ask, Restart, Retry, Step, StepRule};

use crate::node::Path;
use crate::problem::Report;
use crate::raw::{JitterWord, RawJitter, RawStep, RawStepTable, StepWord};
use crate::read::Words;
use crate::value::Times;

/// The waits of a step that does not say: what the seed documents agree on.
struct Waits {
    base: Duration,
    multiplier: f64,
    cap: Duration,
    jitter: f64,
}

const RETRY: Waits = Waits { base: Duration::from_secs(1), multiplier: 2.0, cap: Duration::from_secs(30), jitter: 0.2 };
const RESTART: Waits =
    Waits { base: Duration::from_secs(60), multiplier: 2.0, cap: Duration::from_secs(240), jitter: 0.0 };
const RETRIES: u32 = 3;
const REPAIRS: u32 = 2;
const RESTARTS: u32 = 3;
const NUDGE: Duration = Duration::from_secs(30);
const SKIP: Duration = Duration::from_secs(60);

/// The steps of one trigger, or `None` where one of them makes no sense.
pub(super) fn resolve(steps: &[RawStep], at: &Path, report: &Report<'_>) -> Option<Vec<StepRule>> {
    let resolved = steps.iter().enumerate().map(|(index, step)| {
        let at = at.index(index);
        match step {
            RawStep::Word(word) => build(*word, &RawStepTable::default(), &at, report).map(StepRule::from),
            RawStep::Table(table) => {
                let word = verb(table, &at, report)?;
                let step = build(word, table, &at, report)?;
                Some(StepRule { step, tool: table.tool.clone() })
            }
        }
    });
    resolved.collect::<Vec<_>>().into_iter().collect()
}

/// The one verb of a table, and nothing beside it that belongs to another.
fn verb(table: &RawStepTable, at: &Path, report: &Report<'_>) -> Option<StepWord> {
    let flag = |flag: Option<bool>| flag.is_some();
    let verbs = [
        (table.retry.is_some(), StepWord::Retry),
        (flag(table.fallback), StepWord::Fallback),
        (flag(table.escalate), StepWord::Escalate),
        (table.repair.is_some(), StepWord::Repair),
        (flag(table.defer), StepWord::Defer),
        (flag(table.ask), StepWord::Ask),
        (table.restart.is_some(), StepWord::Restart),
        (flag(table.degrade), StepWord::Degrade),
        (flag(table.give_up), StepWord::GiveUp),
    ];
    let written: Vec<StepWord> =
        verbs.into_iter().filter(|(is_written, _)| *is_written).map(|(_, word)| word).collect();
    let word = match written.as_slice() {
        [word] => *word,
        [] => {
            if !report.refused_below(at) {
                report.refuse(
                    at,
                    "this step does not say what to do",
                    "{ retry = 3, every = \"5s\" }, or a name such as \"fallback\"",
                );
            }
            return None;
        }
        [first, second, ..] => {
            let what = format!("a step cannot both `{}` and `{}`", first.word(), second.word());
            report.refuse(at, what, "write them as two steps, in order");
            return None;
        }
    };
    let switched_off = [table.fallback, table.escalate, table.defer, table.ask, table.degrade, table.give_up];
    if switched_off.contains(&Some(false)) {
        report.refuse(&at.key(word.word()), format!("`{} = false` is no step", word.word()), "leave the step out");
        return None;
    }
    refuse_strangers(word, table, at, report).then_some(word)
}

/// Whether all numbers of the table belong to its verb; those that do not are reported.
fn refuse_strangers(word: StepWord, table: &RawStepTable, at: &Path, report: &Report<'_>) -> bool {
    let waits = matches!(word, StepWord::Retry | StepWord::Restart);
    let asks = word == StepWord::Ask;
    let fields = [
        (table.every.is_some(), "every", waits),
        (table.base.is_some(), "base", waits),
        (table.multiplier.is_some(), "multiplier", waits),
        (table.cap.is_some(), "cap", waits),
        (table.jitter.is_some(), "jitter", waits),
        (table.with_context.is_some(), "with_context", word == StepWord::Retry),
        (table.nudge.is_some(), "nudge", asks),
        (table.skip.is_some(), "skip", asks),
    ];
    let strangers = fields.into_iter().filter(|(is_written, _, belongs)| *is_written && !belongs);
    let mut all_belong = true;
    for (_, field, _) in strangers {
        all_belong = false;
        report.refuse_key(&at.key(field), format!("`{field}` means nothing to `{}`", word.word()), "leave it out");
    }
    all_belong
}

fn build(word: StepWord, table: &RawStepTable, at: &Path, report: &Report<'_>) -> Option<Step> {
    let times = |times: Option<Times>, otherwise: u32| times.map_or(otherwise, |times| times.0);
    Some(match word {
        StepWord::Retry => Step::Retry(Retry {
            max: times(table.retry, RETRIES),
            backoff: backoff(table, &RETRY, at, report)?,
            with_context: table.with_context.unwrap_or(false),
        }),
        StepWord::Fallback => Step::Fallback,
        StepWord::Escalate => Step::Escalate,
        StepWord::Repair => Step::Repair { max: times(table.repair, REPAIRS) },
        StepWord::Defer => Step::Defer,
        StepWord::Ask => Step::Ask(ask(table)),
        StepWord::Restart => Step::Restart(Restart {
            max: times(table.restart, RESTARTS),
            backoff: backoff(table, &RESTART, at, report)?,
        }),
        StepWord::Degrade => Step::Degrade,
        StepWord::GiveUp => Step::GiveUp,
    })
}

/// A longer nudge alone takes the skip along.
fn ask(table: &RawStepTable) -> Ask {
    let nudge = table.nudge.map_or(NUDGE, |wait| wait.0);
    let skip = table.skip.map_or(SKIP.max(nudge.saturating_mul(2)), |wait| wait.0);
    Ask { nudge: if table.nudge.is_none() { nudge.min(skip) } else { nudge }, skip }
}

fn backoff(table: &RawStepTable, waits: &Waits, at: &Path, report: &Report<'_>) -> Option<Backoff> {
    let jitter = |otherwise: f64| match table.jitter {
        None => Jitter::Spread(otherwise),
        Some(RawJitter::Share(share)) => Jitter::Spread(share),
        Some(RawJitter::Word(JitterWord::Full)) => Jitter::Full,
        Some(RawJitter::Word(JitterWord::Decorrelated)) => Jitter::Decorrelated,
    };
    let (made, cap_key) = match table.every {
        Some(every) => {
            for (is_written, field) in [
                (table.base.is_some(), "base"),
                (table.multiplier.is_some(), "multiplier"),
                (table.cap.is_some(), "cap"),
            ] {
                if is_written {
                    let what = format!("`{field}` contradicts `every`");
                    report.refuse_key(
                        &at.key(field),
                        what,
                        "`every` for the same wait, `base` and `cap` for a growing one",
                    );
                    return None;
                }
            }
            (Backoff::new(every.0, 1.0, every.0, jitter(0.0)), "every")
        }
        None => {
            let base = table.base.map_or(waits.base, |wait| wait.0);
            let cap = table.cap.map_or(waits.cap.max(base), |wait| wait.0);
            // A short cap alone means short waits.
            let base = if table.base.is_none() { base.min(cap) } else { base };
            (Backoff::new(base, table.multiplier.unwrap_or(waits.multiplier), cap, jitter(waits.jitter)), "cap")
        }
    };
    match made {
        Ok(backoff) => Some(backoff),
        Err(error) => {
            let (key, help) = match error {
                BackoffError::Cap => (cap_key, "a duration such as \"30s\""),
                BackoffError::Multiplier => ("multiplier", "2.0 doubles the wait each time"),
                BackoffError::Jitter => ("jitter", "0.2 spreads by a fifth either way"),
            };
            let what = match error {
                BackoffError::Cap if cap_key == "every" => "`every` must be at most 24h".to_owned(),
                error => format!("`{key}`: {error}"),
            };
            report.refuse(&at.key(key), what, help);
            None
        }
    }
}
