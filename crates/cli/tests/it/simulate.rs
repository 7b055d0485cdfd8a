//! `steadfast simulate`.

use crate::Folder;

/// Small enough for an unoptimised binary.
const SMALL: &[&str] = &["--clients", "50", "--seconds", "120", "--seeds", "1"];

fn simulate(folder: &Folder, arguments: &[&str]) -> crate::Transcript {
    let mut all = vec!["simulate"];
    all.extend(arguments);
    all.extend(SMALL);
    folder.run(&all)
}

#[test]
fn a_report_of_one_policy() {
    let told = simulate(&Folder::new(), &["primary_down"]);
    assert_eq!((told.code, told.stderr.as_str()), (0, ""));
    assert!(
        told.stdout.starts_with("primary_down: the first endpoint is down, the others are well\n50 clients, 120 s")
    );
    for line in ["policy default", "served ", "attempts per request ", "false opens ", "recovery, mean seconds "] {
        assert!(told.stdout.contains(line), "{line} is missing:\n{}", told.stdout);
    }
}

#[test]
fn two_policies_side_by_side() {
    let told = simulate(&Folder::new(), &["transient", "--policy", "patterns", "--against", "hardened"]);
    assert_eq!(told.code, 0);
    let heading = told.stdout.lines().nth(3).unwrap();
    let names: Vec<&str> = heading.split_whitespace().collect();
    assert_eq!(names, ["patterns", "hardened"], "{}", told.stdout);
}

#[test]
fn the_same_seed_tells_the_same_story() {
    let folder = Folder::new();
    let told = |seed: &str| simulate(&folder, &["brownout", "--json", "--seed", seed]).stdout;
    assert_eq!(told("7"), told("7"));
    assert_ne!(told("7"), told("8"));
    let report: serde_json::Value = serde_json::from_str(&told("7")).unwrap();
    assert_eq!(report[0]["scenario"], "brownout");
    assert!(report[0]["success"].as_f64().unwrap() > 0.9, "{report}");
    assert!(report[0]["targets"].as_array().unwrap().len() >= 6);
}

#[test]
fn a_plot_and_a_log_that_can_be_replayed() {
    let folder = Folder::new();
    let told = simulate(&folder, &["outage", "--plot", "day.svg", "--log", "day.jsonl", "--policy", "patterns"]);
    assert_eq!((told.code, told.stderr.as_str()), (0, "wrote day.svg\nwrote day.jsonl\n"));
    let svg = folder.read("day.svg");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    let first: serde_json::Value = serde_json::from_str(folder.read("day.jsonl").lines().next().unwrap()).unwrap();
    assert_eq!(first["event"], "start");

    let told = folder.run(&["simulate", "--replay", "day.jsonl", "--policy", "default"]);
    assert_eq!((told.code, told.stderr.as_str()), (0, ""));
    assert!(told.stdout.contains("replayed under policy `default`"), "{}", told.stdout);
    let told = folder.run(&["simulate", "--replay", "day.jsonl", "--json"]);
    let replayed: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(replayed["requests"].as_u64().unwrap(), served_and_lost(&replayed["recorded"]));
}

#[test]
fn a_plot_of_two_policies_shows_both() {
    let folder = Folder::new();
    let policies = ["--policy", "patterns", "--against", "hardened", "--plot", "day.svg"];
    let told = simulate(&folder, &[&["outage"][..], &policies].concat());
    assert_eq!((told.code, told.stderr.as_str()), (0, "wrote day.svg\n"));
    let svg = folder.read("day.svg");
    let at = |policy: &str| svg.find(&format!("policy {policy} ")).unwrap_or_else(|| panic!("{policy} is not drawn"));
    assert!(at("patterns") < at("hardened"));
    assert_eq!(svg.matches(">requests per second</text>").count(), 2);
}

/// As the gateway wrote it: requests that could go nowhere, one that is still open, lines the simulator never writes.
#[test]
fn a_log_of_the_gateway_can_be_replayed() {
    let folder = Folder::new();
    folder.write("decisions.jsonl", include_str!("../fixtures/decisions.jsonl"));
    let told = folder.run(&["simulate", "--replay", "decisions.jsonl", "--policy", "default", "--json"]);
    assert_eq!((told.code, told.stderr.as_str()), (0, ""));
    let replayed: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!((&replayed["requests"], &replayed["recorded"]["attempts"]), (&2.into(), &4.into()));
    assert_eq!((&replayed["replayed"]["served"], &replayed["unknown"]), (&2.into(), &0.into()));
}

#[test]
fn a_policy_of_the_file_can_be_tried_before_it_is_used() {
    let folder = Folder::new();
    folder.write(
        "steadfast.toml",
        "[policies.mine]\nextends = \"patterns\"\nattempts_max = 2\n[projects.default]\npolicy = \"mine\"\n",
    );
    let told = simulate(&folder, &["transient"]);
    assert!(told.stdout.contains("\npolicy mine\n"), "{}", told.stdout);
}

#[test]
fn what_cannot_be_simulated_is_refused_with_what_can() {
    let folder = Folder::new();
    let told = folder.run(&["simulate", "outtage"]);
    assert_eq!((told.code, told.stdout.as_str()), (1, ""));
    assert!(told.stderr.starts_with("error: there is no scenario `outtage`; there are calm, outage, "));
    let told = folder.run(&["simulate", "--rate", "-1"]);
    assert_eq!(told.code, 2);
    let told = folder.run(&["simulate", "--replay", "nosuch.jsonl"]);
    assert!(told.stderr.starts_with("error: cannot read nosuch.jsonl: "), "{}", told.stderr);
    folder.write("broken.jsonl", "boom\n");
    let told = folder.run(&["simulate", "--replay", "broken.jsonl"]);
    assert!(
        told.stderr.starts_with("error: broken.jsonl: line 1 is not a record of the decision log"),
        "{}",
        told.stderr
    );
}

#[test]
fn every_scenario_is_listed_with_what_happens() {
    let told = Folder::new().run(&["simulate", "--list"]);
    assert_eq!(told.stdout.lines().count(), 15);
    assert!(told.stdout.contains("brownout      every endpoint fails half of the time\n"), "{}", told.stdout);
}

fn served_and_lost(tally: &serde_json::Value) -> u64 {
    tally["served"].as_u64().unwrap() + tally["lost"].as_u64().unwrap()
}
