//! Reports for people: aligned text, side by side, and the README's table.

use std::fmt::{self, Write};

use steadfast_core::policy::{TEMPLATES, template};

use super::{Report, Target, run};
use crate::scenario::{NAMES, Scenario};
use crate::trouble::Trouble;

/// Reports side by side.
pub fn comparison(reports: &[Report]) -> String {
    let Some(first) = reports.first() else { return String::new() };
    let mut head = vec![String::new()];
    head.extend(reports.iter().map(|report| report.policy.clone()));
    let mut lines = vec![head];
    let columns: Vec<_> = reports.iter().map(rows).collect();
    for (row, (name, _)) in rows(first).into_iter().enumerate() {
        let mut line = vec![name.to_owned()];
        line.extend(columns.iter().map(|column| column[row].1.clone()));
        lines.push(line);
    }
    format!("{}\n\n{}", headline(first), aligned(&lines))
}

/// Every template in every scenario, as Markdown.
pub fn table(clients: u32, seeds: u64) -> Result<String, Trouble> {
    let mut text = String::from("| scenario |");
    for (name, _) in TEMPLATES {
        let _ = write!(text, " `{name}` |");
    }
    text.push_str("\n|---|");
    text.push_str(&"---|".repeat(TEMPLATES.len()));
    text.push('\n');
    for (scenario, about) in NAMES {
        let _ = write!(text, "| `{scenario}`: {about} |");
        for (policy, _) in TEMPLATES {
            let (Some(scenario), Some(policy)) = (Scenario::named(scenario), template(policy)) else { continue };
            let report = run(&scenario.with_clients(clients), &policy, 0, seeds)?;
            let _ = write!(text, " {} |", report.cell());
        }
        text.push('\n');
    }
    text.push_str(
        "\nEach cell: requests served / upstream attempts per request / mean time from first failure to success.\n",
    );
    Ok(text)
}

impl Report {
    /// Its cell in the README's table.
    pub fn cell(&self) -> String {
        let recovery = self.recovery_mean_secs.map_or("-".to_owned(), |secs| format!("{secs:.1} s"));
        format!("{} / {:.2} / {recovery}", percent(self.success), self.attempts_per_request)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\npolicy {}\n", headline(self), self.policy)?;
        let lines: Vec<Vec<String>> =
            rows(self).into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
        f.write_str(&aligned(&lines))
    }
}

fn headline(report: &Report) -> String {
    format!(
        "{}: {}\n{} clients, {} s, {} seeds, {} requests",
        report.scenario, report.about, report.clients, report.seconds, report.seeds, report.requests
    )
}

fn rows(report: &Report) -> Vec<(&'static str, String)> {
    let secs = |value: Option<f64>| value.map_or("-".to_owned(), |secs| format!("{secs:.1} s"));
    let amplification = |value: Option<super::Amplification>| {
        value.map_or("-".to_owned(), |value| format!("{:.3} (worst seed {:.3})", value.all, value.worst))
    };
    let latency = report.latency_ms;
    let mut rows = vec![
        ("served", format!("{} (worst seed {})", percent(report.success), percent(report.success_worst))),
        ("attempts per request", format!("{:.3}", report.attempts_per_request)),
        ("  trouble, before all breakers open", amplification(report.before_open)),
        ("  trouble, once they are open", amplification(report.once_open)),
        ("normal again after the trouble", secs(report.recovered_after_secs)),
        ("latency p50 / p95 / p99", format!("{} / {} / {} ms", latency.p50, latency.p95, latency.p99)),
        ("retries, fallbacks, panics", format!("{}, {}, {}", report.retries, report.fallbacks, report.panics)),
        ("breakers opened", report.opens.to_string()),
        ("spent on failures", format!("${:.2} of ${:.2}", report.failed_usd, report.spent_usd)),
    ];
    rows.extend(report.targets.iter().map(|target| (target.name, verdict(target))));
    rows
}

fn verdict(target: &Target) -> String {
    let word = if target.passed { "ok" } else { "MISSED" };
    let in_percent = target.goal.ends_with('%');
    let value = match target.value {
        None => return format!("-  (goal {})", target.goal),
        Some(value) if in_percent => percent(value),
        Some(value) => format!("{value:.2}"),
    };
    format!("{value}  {word} (goal {})", target.goal)
}

fn percent(share: f64) -> String {
    // 99.99 % must not be shown as 100 %.
    if share < 1.0 && share > 0.9995 {
        return format!("{:.3} %", (share * 100_000.0).floor() / 1000.0);
    }
    format!("{:.1} %", share * 100.0)
}

fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for line in lines {
        let mut row = String::new();
        for (cell, width) in line.iter().zip(&widths) {
            let _ = write!(row, "{cell:width$}  ");
        }
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}
