//! Runs as a picture: traffic, failures and breakers over time, as one self-contained SVG. Several runs stand one above
//! another, on the same scales.
//!
//! Colours repeat what labels say, so the picture reads in black and white too.

use std::fmt::Write;

use steadfast_core::Instant;
use steadfast_core::breaker::State;

use crate::run::Setup;
use crate::stats::{EndpointStats, Second, Stats};

const WIDTH: f64 = 1000.0;
const LEFT: f64 = 130.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 96.0;
const CHART: f64 = 190.0;
const GAP: f64 = 58.0;
const LANE: f64 = 26.0;
const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#24292f}.t{font-size:17px;font-weight:600}\
.s{fill:#57606a}.g{stroke:#d8dee4;stroke-width:1}.a{stroke:#8c959f;stroke-width:1}.l{fill:none;stroke-width:1.8}";

const REQUESTS: &str = "#57606a";
const SERVED: &str = "#1a7f37";
const LOST: &str = "#cf222e";
const ATTEMPTS: &str = "#0969da";
const FAILURES: &str = "#bc4c00";
const REFUSED: (&str, &str) = ("#cf222e", "open");
const PROBING: (&str, &str) = ("#9a6700", "half-open");

const LANES_TOP: f64 = TOP + 2.0 * (CHART + GAP);

/// The picture of these runs.
pub fn svg(runs: &[(&Setup, &Stats)]) -> String {
    let height: f64 = runs.iter().map(|(_, stats)| panel_height(stats)).sum();
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-size=\"12\">\
         <style>{STYLE}</style><rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>"
    );
    let highest = Highest::of(runs);
    let mut top = 0.0;
    for (setup, stats) in runs {
        let _ = write!(out, "<g transform=\"translate(0 {top})\">");
        panel(setup, stats, highest, &mut out);
        out.push_str("</g>");
        top += panel_height(stats);
    }
    out.push_str("</svg>\n");
    out
}

/// The most of a second in any of the runs: what is beside each other must be comparable.
#[derive(Clone, Copy)]
struct Highest {
    requests: f64,
    attempts: f64,
}

impl Highest {
    fn of(runs: &[(&Setup, &Stats)]) -> Self {
        let seconds =
            || runs.iter().flat_map(|(setup, stats)| stats.seconds.iter().take(setup.scenario.seconds.max(1) as usize));
        let highest = |pick: fn(&Second) -> u32| f64::from(seconds().map(pick).max().unwrap_or(0).max(1));
        Self {
            requests: highest(|second| second.requests.max(second.served).max(second.lost)),
            attempts: highest(|second| second.attempts.max(second.failures)),
        }
    }
}

fn panel_height(stats: &Stats) -> f64 {
    LANES_TOP + LANE * stats.endpoints.len() as f64 + 64.0
}

/// One run.
fn panel(setup: &Setup, stats: &Stats, highest: Highest, out: &mut String) {
    let seconds = setup.scenario.seconds.max(1) as usize;
    let title = format!("{}: {}", setup.scenario.name, setup.scenario.about);
    let _ = write!(out, "<text class=\"t\" x=\"24\" y=\"30\">{}</text>", escaped(&title));
    let served = stats.succeeded as f64 / stats.requests.max(1) as f64;
    let attempts = stats.attempts as f64 / stats.requests.max(1) as f64;
    let about = format!(
        "policy {} · {} clients · seed {} · {} requests, {:.2} % served, {attempts:.2} attempts each",
        setup.policy.name,
        setup.scenario.clients,
        setup.seed,
        stats.requests,
        served * 100.0
    );
    let _ = write!(out, "<text class=\"s\" x=\"24\" y=\"50\">{}</text>", escaped(&about));

    let frame = Frame { seconds, bottom: LANES_TOP + LANE * stats.endpoints.len() as f64 };
    frame.shade_cause(setup, out);
    let column = |pick: fn(&Second) -> u32| -> Vec<f64> {
        (0..seconds).map(|second| stats.seconds.get(second).map_or(0.0, |second| f64::from(pick(second)))).collect()
    };
    frame.chart(
        TOP,
        ("requests per second", highest.requests),
        &[
            ("came in", REQUESTS, "5 4", column(|second| second.requests)),
            ("served", SERVED, "", column(|second| second.served)),
            ("not served", LOST, "2 2", column(|second| second.lost)),
        ],
        out,
    );
    frame.chart(
        TOP + CHART + GAP,
        ("upstream attempts per second", highest.attempts),
        &[
            ("attempts", ATTEMPTS, "", column(|second| second.attempts)),
            ("failed", FAILURES, "2 2", column(|second| second.failures)),
        ],
        out,
    );
    for (index, endpoint) in stats.endpoints.iter().enumerate() {
        frame.lane(LANES_TOP + LANE * index as f64, endpoint, out);
    }
    frame.time_axis(out);
}

struct Frame {
    seconds: usize,
    bottom: f64,
}

impl Frame {
    fn x(&self, second: f64) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * (second / self.seconds as f64).clamp(0.0, 1.0)
    }

    /// The trouble, behind everything.
    fn shade_cause(&self, setup: &Setup, out: &mut String) {
        let Some(cause) = setup.scenario.cause else { return };
        let (from, to) = (self.x(secs(cause.from)), self.x(secs(cause.to)));
        let (width, height) = (to - from, self.bottom - TOP);
        let _ = write!(
            out,
            "<rect x=\"{from:.1}\" y=\"{TOP}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"#fff1e5\"/>\
             <text class=\"s\" x=\"{:.1}\" y=\"{:.1}\">trouble</text>",
            from + 5.0,
            TOP + 14.0
        );
    }

    fn chart(&self, top: f64, (name, highest): (&str, f64), lines: &[(&str, &str, &str, Vec<f64>)], out: &mut String) {
        let step = nice_step(highest / 4.0);
        let ceiling = (highest / step).ceil() * step;
        let y = |value: f64| top + CHART - CHART * value / ceiling;
        let mut value = 0.0;
        while value <= ceiling + step / 2.0 {
            let at = y(value);
            let _ = write!(
                out,
                "<line class=\"g\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
                 <text class=\"s\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>",
                WIDTH - RIGHT,
                LEFT - 8.0,
                at + 4.0
            );
            value += step;
        }
        let _ = write!(out, "<text x=\"{LEFT}\" y=\"{:.1}\" font-weight=\"600\">{name}</text>", top - 10.0);
        let mut legend = WIDTH - RIGHT - 110.0 * lines.len() as f64;
        for (label, colour, dash, values) in lines {
            let mut path = String::new();
            for (second, value) in values.iter().enumerate() {
                let command = if second == 0 { 'M' } else { 'L' };
                let _ = write!(path, "{command}{:.1} {:.1}", self.x(second as f64 + 0.5), y(*value));
            }
            let _ = write!(
                out,
                "<path class=\"l\" stroke=\"{colour}\" stroke-dasharray=\"{dash}\" d=\"{path}\"/>\
                 <line class=\"l\" stroke=\"{colour}\" stroke-dasharray=\"{dash}\" x1=\"{legend:.1}\" x2=\"{:.1}\" \
                 y1=\"{:.1}\" y2=\"{:.1}\"/><text x=\"{:.1}\" y=\"{:.1}\">{label}</text>",
                legend + 24.0,
                top - 14.0,
                top - 14.0,
                legend + 30.0,
                top - 10.0
            );
            legend += 110.0;
        }
    }

    /// One breaker over time: closed is a thin line, open and half-open are labelled blocks.
    fn lane(&self, top: f64, endpoint: &EndpointStats, out: &mut String) {
        let middle = top + LANE / 2.0;
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
             <line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{middle:.1}\" y2=\"{middle:.1}\" stroke=\"{SERVED}\" stroke-width=\"3\"/>",
            LEFT - 8.0,
            middle + 4.0,
            escaped(&endpoint.name),
            WIDTH - RIGHT
        );
        let end = Instant::from_millis(self.seconds as u64 * 1000);
        let until = endpoint.changes.iter().skip(1).map(|(at, _)| *at).chain([end]);
        for ((from, state), to) in endpoint.changes.iter().zip(until) {
            match state {
                State::Closed => {}
                State::HalfOpen => self.block(top, *from, to, PROBING, out),
                State::Open { until } => {
                    self.block(top, *from, to.min(*until), REFUSED, out);
                    // Cooled and not asked since: whoever comes next is a probe.
                    if *until < to {
                        self.block(top, *until, to, PROBING, out);
                    }
                }
            }
        }
    }

    fn block(&self, top: f64, from: Instant, to: Instant, (fill, word): (&str, &str), out: &mut String) {
        let (from, to) = (self.x(secs(from)), self.x(secs(to)));
        let width = (to - from).max(1.2);
        let _ = write!(
            out,
            "<rect x=\"{from:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\" rx=\"2\" fill=\"{fill}\"/>",
            top + 4.0,
            LANE - 8.0
        );
        if width > 8.0 * word.len() as f64 {
            let _ = write!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" style=\"fill:#ffffff\">{word}</text>",
                from + width / 2.0,
                top + LANE / 2.0 + 4.0
            );
        }
    }

    fn time_axis(&self, out: &mut String) {
        let step = nice_step(self.seconds as f64 / 8.0);
        let mut second = 0.0;
        while second <= self.seconds as f64 {
            let x = self.x(second);
            let _ = write!(
                out,
                "<line class=\"a\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{:.1}\"/>\
                 <text class=\"s\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{second} s</text>",
                self.bottom + 4.0,
                self.bottom + 10.0,
                self.bottom + 26.0
            );
            second += step;
        }
        let y = self.bottom + 50.0;
        let _ = write!(
            out,
            "<text x=\"{LEFT}\" y=\"{y:.1}\" class=\"s\">breakers:</text>\
             <line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" stroke=\"{SERVED}\" stroke-width=\"3\"/>\
             <text x=\"{:.1}\" y=\"{y:.1}\">closed: thin line</text>",
            LEFT + 62.0,
            LEFT + 86.0,
            y - 4.0,
            y - 4.0,
            LEFT + 92.0
        );
        for (offset, fill, word) in
            [(210.0, REFUSED.0, "open: refused"), (330.0, PROBING.0, "half-open: the next request is a probe")]
        {
            let _ = write!(
                out,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"24\" height=\"12\" rx=\"2\" fill=\"{fill}\"/>\
                 <text x=\"{:.1}\" y=\"{y:.1}\">{word}</text>",
                LEFT + offset,
                y - 10.0,
                LEFT + offset + 30.0
            );
        }
    }
}

fn secs(at: Instant) -> f64 {
    at.as_nanos() as f64 / 1e9
}

/// The next of 1, 2, 5, 10, 20, 50 …
fn nice_step(at_least: f64) -> f64 {
    let magnitude = 10f64.powf(at_least.max(1.0).log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|step| step * magnitude)
        .find(|step| *step >= at_least)
        .unwrap_or(10.0 * magnitude)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        let steps: Vec<f64> = [0.2, 1.5, 3.0, 26.0, 37.5, 60.0].into_iter().map(nice_step).collect();
        assert_eq!(steps, [1.0, 2.0, 5.0, 50.0, 50.0, 100.0]);
    }
}
