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

#[test]
fn the_clients_that_are_shown_load_back_to_themselves() {
    let mine = "[clients.codex]\nhead_wait = \"20s\"\nfinal = { rate_limit = \"as_it_is\" }\n\
                [clients.mine]\nmatch = [\"x-mine\", \"/v1/embeddings\"]\nlike = \"opencode\"\nheartbeat = \"never\"\n";
    let loaded = load_text(mine).unwrap_or_else(|problems| panic!("{problems}"));
    let shown = loaded.show();
    let from = shown.find("[clients.").unwrap();
    let again = load_text(&shown[from..]).unwrap_or_else(|problems| panic!("{problems}\n{shown}"));
    for client in &loaded.config.clients {
        assert_eq!(again.config.client(&client.name), Some(client), "{shown}");
    }
    assert_eq!(&*loaded.config.clients[0].name, "mine", "the file's own are looked for first");
}
