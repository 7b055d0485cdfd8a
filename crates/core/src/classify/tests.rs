//! The table proves itself: every rule's example, and properties that hold for any input.

use std::collections::HashSet;
use std::time::Duration;

use proptest::prelude::*;

use super::*;

fn classify(text: &str) -> Failure {
    Classifier::builtin().classify(&Evidence::text(text))
}

#[test]
fn every_example_is_decided_by_its_rule() {
    let mut wrong = Vec::new();
    for rule in Classifier::builtin().rules() {
        let mut evidence = Evidence::text(rule.example);
        evidence.status = rule.statuses.first().copied();
        // Statuses of success keep the text's origin unknown but its quotations meant.
        let failure = Classifier::builtin().classify(&evidence);
        if failure.rule != rule.name {
            wrong.push(format!("{} is decided by {} ({}): {}", rule.name, failure.rule, failure.kind, rule.example));
        }
        for text in rule.not {
            let failure = classify(text);
            if failure.rule == rule.name {
                wrong.push(format!("{} must not decide: {text}", rule.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_rule_is_well_formed() {
    let mut names = HashSet::new();
    for rule in Classifier::builtin().rules() {
        assert!(names.insert(rule.name), "{} twice", rule.name);
        assert!(!rule.example.is_empty(), "{} has no example", rule.name);
        assert!(!rule.codes.is_empty() || !rule.texts.is_empty(), "{} matches nothing", rule.name);
        assert!(rule.name.contains('.'), "{}", rule.name);
        for text in rule.texts {
            let pattern = anchor::expand(text);
            let anchors = anchor::anchors(&pattern).unwrap_or_else(|| panic!("{}: {text} has no anchor", rule.name));
            assert!(anchors.len_max < 1000, "{}: {text}", rule.name);
            let shortest = anchors.literals.iter().map(Vec::len).min().unwrap();
            assert!(shortest >= 2, "{}: {text} hangs on {:?}", rule.name, anchors.literals);
            let shouts = text.replace("\\S", "").replace("\\W", "").replace("\\D", "");
            assert_eq!(shouts, shouts.to_lowercase(), "{}: texts are matched in lower case", rule.name);
            regex::bytes::RegexBuilder::new(&pattern).unicode(false).build().unwrap();
        }
    }
}
