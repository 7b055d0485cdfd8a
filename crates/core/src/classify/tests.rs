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
    let mut wrong = Vec::new();
    for rule in rules::all() {
        assert!(names.insert(rule.name), "{} twice", rule.name);
        assert!(rule.name.contains('.') && !rule.example.is_empty(), "{}", rule.name);
        assert!(!rule.codes.is_empty() || !rule.texts.is_empty(), "{} matches nothing", rule.name);
        for text in rule.texts {
            let classes = text.replace("\\S", "").replace("\\W", "").replace("\\D", "");
            assert_eq!(classes, classes.to_lowercase(), "{}: texts are matched in lower case", rule.name);
            match phrase::Phrase::new(text) {
                Err(error) => wrong.push(format!("{}: {text}: {error:?}", rule.name)),
                Ok(phrase) => {
                    let is_word =
                        |start: &Vec<u8>| start.len() >= 2 && (start[0].is_ascii_alphanumeric() || start[0] >= 0xc2);
                    if !phrase.starts.iter().all(is_word) {
                        wrong.push(format!("{}: {text} begins with no word", rule.name));
                    }
                }
            }
        }
    }
    for wait in wait::WAITS {
        if let Err(error) = phrase::Phrase::new(&wait.expanded()) {
            wrong.push(format!("{}: {error:?}", wait.expanded()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
