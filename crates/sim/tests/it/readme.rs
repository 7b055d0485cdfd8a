//! The README's table says what the simulator says.

use steadfast_core::policy::TEMPLATES;
use steadfast_sim::scenario::NAMES;
use steadfast_sim::{Scenario, run};

use crate::policy;

/// As `cargo xtask readme-table` measures.
const CLIENTS: u32 = 1_000;
const SEEDS: u64 = 5;

/// The cells of a row, without its name.
fn cells(row: &str) -> Vec<&str> {
    row.trim_matches('|').split('|').skip(1).map(str::trim).collect()
}

fn rows() -> Vec<&'static str> {
    let (_, table) = include_str!("../../../../README.md").split_once("<!-- table -->\n").expect("a table");
    table.lines().take_while(|line| line.starts_with('|')).collect()
}

#[test]
fn the_table_has_every_template_in_every_scenario() {
    let rows = rows();
    let names: Vec<String> = TEMPLATES.iter().map(|(name, _)| format!("`{name}`")).collect();
    assert_eq!(cells(rows[0]), names);
    assert_eq!(rows.len(), 2 + NAMES.len());
    for ((scenario, about), row) in NAMES.iter().zip(&rows[2..]) {
        assert!(row.starts_with(&format!("| `{scenario}`: {about} |")), "{row}");
        assert_eq!(cells(row).len(), TEMPLATES.len(), "{row}");
    }
}

/// One cell of each template and of the rows that tell most; all of them would take a minute.
#[test]
fn the_table_is_current() {
    let measured = [
        ("outage", "default"),
        ("brownout", "default"),
        ("transient", "hardened"),
        ("correlated", "escalating"),
        ("primary_down", "patterns"),
        ("council", "council"),
        ("rate_limits", "session-manager"),
        ("tasks", "default"),
    ];
    for (scenario, template) in measured {
        let row = 2 + NAMES.iter().position(|(name, _)| *name == scenario).expect("a named scenario");
        let column = TEMPLATES.iter().position(|(name, _)| *name == template).expect("a shipped template");
        let setting = Scenario::named(scenario).expect("a named scenario").with_clients(CLIENTS);
        let report = run(&setting, &policy(template), 0, SEEDS).unwrap_or_else(|trouble| panic!("{trouble}"));
        let told = "run `cargo xtask readme-table`";
        assert_eq!(cells(rows()[row])[column], report.cell(), "{scenario}, {template}: {told}");
    }
}
