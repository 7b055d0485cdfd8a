//! What is shown can be pasted back.

use steadfast_config::{STARTER, policy_toml};
use steadfast_core::policy::{TEMPLATES, template};

use super::{CONTRACT, load_text};

#[test]
fn every_template_loads_back_to_itself() {
    let config = load_text("").unwrap().config;
    for (name, _) in TEMPLATES {
        let text = policy_toml(&config, name).unwrap();
        let pasted = format!("[projects.default]\npolicy = \"{name}\"\n{text}");
        let again = load_text(&pasted).unwrap_or_else(|problems| panic!("{problems}")).config;
        assert_eq!(*again.policies[name], template(name).unwrap(), "{text}");
    }
    assert!(policy_toml(&config, "nosuch").is_none());
}

#[test]
fn a_policy_of_the_file_loads_back_to_itself() {
    let config = load_text(CONTRACT).unwrap().config;
    let text = policy_toml(&config, "mine").unwrap();
    let again = load_text(&text).unwrap().config;
    assert_eq!(again.policies["mine"], config.policies["mine"]);
}

#[test]
fn the_starter_loads_without_a_word() {
    let loaded = load_text(STARTER).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(loaded.warnings.is_empty(), "{}", loaded.warnings);
}
