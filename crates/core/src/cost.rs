//! Money: prices, what an attempt may cost at most, and what an escalation would change.
//!
//! All amounts are whole micro-dollars, so sums are exact and budgets cannot drift.

use serde::{Deserialize, Serialize};

/// What a model costs, in micro-dollars per million tokens (that is, dollars per million × 10^6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// Per million input tokens.
    pub input_usd_micros: u64,
    /// Per million output tokens.
    pub output_usd_micros: u64,
}

/// Tokens an attempt used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
}

/// A session's running average, from which an estimate is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AverageUsage {
    total: Usage,
    turns: u64,
}

/// What moving a session from one model to another changes per turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// A turn on the old model.
    pub from_usd_micros: u64,
    /// A turn on the new model.
    pub to_usd_micros: u64,
}

impl Price {
    /// From dollars per million tokens, as price lists write them; negative or absurd is `None`.
    pub fn from_usd_per_million(input: f64, output: f64) -> Option<Self> {
        let micros = |usd: f64| {
            let sane = (0.0..=1_000_000.0).contains(&usd);
            sane.then(|| (usd * 1e6).round() as u64)
        };
        Some(Self { input_usd_micros: micros(input)?, output_usd_micros: micros(output)? })
    }

    /// The cost of this many tokens, rounded up: a budget must never be underestimated.
    pub fn cost_usd_micros(&self, usage: Usage) -> u64 {
        let part = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        let sum = part(usage.input_tokens, self.input_usd_micros) + part(usage.output_tokens, self.output_usd_micros);
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

impl AverageUsage {
    /// Adds one turn.
    pub fn add(&mut self, usage: Usage) {
        self.total.input_tokens = self.total.input_tokens.saturating_add(usage.input_tokens);
        self.total.output_tokens = self.total.output_tokens.saturating_add(usage.output_tokens);
        self.turns += 1;
    }

    /// Tokens per turn, or `None` before the first.
    pub fn per_turn(&self) -> Option<Usage> {
        let per_turn = |total: u64| total.checked_div(self.turns);
        Some(Usage {
            input_tokens: per_turn(self.total.input_tokens)?,
            output_tokens: per_turn(self.total.output_tokens)?,
        })
    }
}

impl Estimate {
    /// What an average turn costs on either model.
    pub fn new(usage: Usage, from: Price, to: Price) -> Self {
        Self { from_usd_micros: from.cost_usd_micros(usage), to_usd_micros: to.cost_usd_micros(usage) }
    }

    /// The change in percent of the old cost, or `None` where the old one is free.
    pub fn percent(&self) -> Option<i64> {
        let from = i128::from(self.from_usd_micros);
        let change = (i128::from(self.to_usd_micros) - from) * 100;
        i64::try_from(change.checked_div(from)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_costs_tokens_times_price_rounded_up() {
        let price = Price::from_usd_per_million(3.0, 15.0).unwrap();
        let usage = Usage { input_tokens: 1_000, output_tokens: 200 };
        assert_eq!(price.cost_usd_micros(usage), 3_000 + 3_000);
        assert_eq!(price.cost_usd_micros(Usage { input_tokens: 1, output_tokens: 0 }), 3);
        let cheap = Price::from_usd_per_million(0.1, 0.0).unwrap();
        assert_eq!(cheap.cost_usd_micros(Usage { input_tokens: 1, output_tokens: 0 }), 1);
    }

    #[test]
    fn absurd_prices_and_usage_do_no_harm() {
        assert_eq!(Price::from_usd_per_million(-1.0, 1.0), None);
        assert_eq!(Price::from_usd_per_million(1.0, f64::NAN), None);
        assert_eq!(Price::from_usd_per_million(1e9, 1.0), None);
        let price = Price::from_usd_per_million(1e6, 1e6).unwrap();
        assert_eq!(price.cost_usd_micros(Usage { input_tokens: u64::MAX, output_tokens: u64::MAX }), u64::MAX);
    }

    #[test]
    fn an_estimate_comes_from_the_sessions_own_average() {
        let mut average = AverageUsage::default();
        assert_eq!(average.per_turn(), None);
        average.add(Usage { input_tokens: 1_000, output_tokens: 100 });
        average.add(Usage { input_tokens: 3_000, output_tokens: 300 });
        let usage = average.per_turn().unwrap();
        assert_eq!(usage, Usage { input_tokens: 2_000, output_tokens: 200 });
        let haiku = Price::from_usd_per_million(1.0, 5.0).unwrap();
        let sonnet = Price::from_usd_per_million(3.0, 15.0).unwrap();
        let estimate = Estimate::new(usage, haiku, sonnet);
        assert_eq!(estimate, Estimate { from_usd_micros: 3_000, to_usd_micros: 9_000 });
        assert_eq!(estimate.percent(), Some(200));
        assert_eq!(Estimate::new(usage, sonnet, haiku).percent(), Some(-66));
    }
}
