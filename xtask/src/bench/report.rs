//! Medians, ratios, targets, and the table of them.

#![expect(clippy::print_stdout, reason = "the table is the command's output")]

use std::time::Duration;

use super::load::Seen;

/// One side in one round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figure {
    pub(super) per_second: f64,
    /// Of the proxy's processes, per request.
    pub(super) processor_us: f64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    pub(super) first_token_p50_us: f64,
    pub(super) first_token_p99_us: f64,
}

/// A figure of Steadfast alone.
#[derive(Debug)]
pub(super) struct Single {
    pub(super) name: String,
    pub(super) ours: f64,
    pub(super) theirs: Option<f64>,
    pub(super) bound: Bound,
}

/// What a figure must reach.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bound {
    AtLeast(f64),
    AtMost(f64),
    /// Said, not asked.
    None,
}

/// Lines and what missed its target.
#[derive(Debug, Default)]
pub(super) struct Table {
    lines: Vec<String>,
    missed: Vec<String>,
}

impl Figure {
    pub(super) fn of(mut seen: Seen, processor: Duration) -> Self {
        let count = seen.latency_us.len() as f64;
        seen.latency_us.sort_by(f64::total_cmp);
        seen.first_token_us.sort_by(f64::total_cmp);
        Self {
            per_second: count / seen.took.as_secs_f64(),
            processor_us: processor.as_secs_f64() * 1e6 / count,
            p50_us: quantile(&seen.latency_us, 0.5),
            p99_us: quantile(&seen.latency_us, 0.99),
            first_token_p50_us: quantile(&seen.first_token_us, 0.5),
            first_token_p99_us: quantile(&seen.first_token_us, 0.99),
        }
    }
}

impl Table {
    /// Adds a figure of all three: direct, nginx, Steadfast.
    pub(super) fn figure(&mut self, name: &str, rounds: &[[Figure; 3]], of: impl Fn(&Figure) -> f64, bound: Bound) {
        let side = |side: usize| median(rounds.iter().map(|round| of(&round[side])));
        let ratio = median(rounds.iter().map(|round| of(&round[2]) / of(&round[1])));
        let spread = rounds.iter().map(|round| of(&round[2]) / of(&round[1]));
        let (low, high) = spread.fold((f64::MAX, 0.0_f64), |(low, high), ratio| (low.min(ratio), high.max(ratio)));
        let (direct, nginx, ours) = (number(side(0)), number(side(1)), number(side(2)));
        let verdict = self.verdict(name, ratio, bound, " x nginx");
        let ratio = format!("{ratio:.2} ({low:.2} to {high:.2})");
        self.lines.push(format!("| {name} | {direct} | {nginx} | {ours} | {ratio} | {verdict} |"));
    }

    /// Adds a figure with a bound of its own.
    pub(super) fn single(&mut self, single: &Single) {
        let verdict = self.verdict(&single.name, single.ours, single.bound, "");
        let theirs = single.theirs.map_or_else(|| "–".to_owned(), |theirs| format!("{theirs:.1}"));
        self.lines.push(format!("| {} | – | {theirs} | {:.2} | – | {verdict} |", single.name, single.ours));
    }

    /// What missed its target.
    pub(super) fn missed(&self) -> &[String] {
        &self.missed
    }

    pub(super) fn print(&self) {
        println!("| | direct | nginx | Steadfast | Steadfast / nginx (rounds) | target |");
        println!("|---|---|---|---|---|---|");
        for line in &self.lines {
            println!("{line}");
        }
        for missed in &self.missed {
            println!("missed: {missed}");
        }
    }

    fn verdict(&mut self, name: &str, value: f64, bound: Bound, unit: &str) -> String {
        let (met, target) = match bound {
            Bound::AtLeast(least) => (value >= least, format!("at least {least}{unit}")),
            Bound::AtMost(most) => (value <= most, format!("at most {most}{unit}")),
            Bound::None => return "–".to_owned(),
        };
        if met {
            return format!("{target}: met");
        }
        self.missed.push(format!("{name}: {value:.2}, target {target}"));
        format!("{target}: MISSED")
    }
}

/// Of values in order; 0 where there are none.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * share).round() as usize).copied().unwrap_or(0.0)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    quantile(&values, 0.5)
}

fn number(value: f64) -> String {
    if value == 0.0 { "–".to_owned() } else { format!("{value:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_and_a_quantile_are_values_that_were_measured() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), 2.0);
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.99), 4.0);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }

    #[test]
    fn what_misses_its_target_is_listed() {
        let mut table = Table::default();
        table.single(&Single { name: "a".into(), ours: 1.2, theirs: None, bound: Bound::AtMost(1.3) });
        assert!(table.missed().is_empty());
        table.single(&Single { name: "b".into(), ours: 1.2, theirs: None, bound: Bound::AtLeast(3.0) });
        assert_eq!(table.missed(), ["b: 1.20, target at least 3"]);
    }
}
