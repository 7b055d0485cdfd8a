//! Built-in < file < environment < flags.

use steadfast_config::{Credential, Dialect, candidates};

use super::load_with;

#[test]
fn each_layer_wins_over_the_one_before() {
    let file = "listen = \"127.0.0.1:1\"\n";
    let variable = [("STEADFAST_LISTEN", "127.0.0.1:2")];
    let port = |text, environment: &[(&str, &str)], settings: &[&str]| {
        load_with(text, environment, settings).unwrap().config.listen.port()
    };
    assert_eq!(port(None, &[], &[]), 4141);
    assert_eq!(port(Some(file), &[], &[]), 1);
    assert_eq!(port(Some(file), &variable, &[]), 2);
    assert_eq!(port(Some(file), &variable, &["listen=127.0.0.1:3"]), 3);
    assert_eq!(port(Some(file), &variable, &["listen=127.0.0.1:3", "listen=localhost:4"]), 4);
    assert_eq!(port(Some(file), &[("STEADFAST_LISTEN", "")], &[]), 1, "an empty variable says nothing");
}

#[test]
fn variables_reach_every_level_and_find_names_whatever_their_signs() {
    let file = "[policies.mine]\n[projects.acme]\n[models.claude-sonnet-4-5]\nvendor = \"anthropic\"\n";
    let environment = [
        ("STEADFAST_PROJECTS__ACME__POLICY", "mine"),
        ("STEADFAST_PROJECTS__ACME__CHAIN", "[\"claude-haiku-4-5\"]"),
        ("STEADFAST_MODELS__CLAUDE_SONNET_4_5__VENDOR", "me"),
        ("STEADFAST_MODELS__CLAUDE_SONNET_4_5__CONTEXT_WINDOW", "1000"),
        ("STEADFAST_LOG__DECISIONS__PATH", "7"),
        ("STEADFAST_ENABLED", "false"),
        ("STEADFAST_POLICIES__MINE__DEADLINE", "90s"),
    ];
    let config = load_with(Some(file), &environment, &[]).unwrap().config;
    let acme = &config.projects["acme"];
    assert_eq!(acme.policy.name, "mine");
    assert_eq!(acme.policy.deadline.as_secs(), 90);
    assert_eq!(acme.chain.as_ref().unwrap().len(), 1);
    let model = config.catalogue.model("claude-sonnet-4-5").unwrap();
    assert_eq!((&*model.vendor, model.context_window), ("me", Some(1000)));
    assert_eq!(config.decision_log.unwrap().path, "7", "a number is text where text is wanted");
    assert!(!config.enabled);
}

#[test]
fn without_a_file_three_endpoints_exist_with_the_keys_at_hand() {
    let config = load_with(None, &[("OPENAI_API_KEY", "sk-1")], &[]).unwrap().config;
    let endpoints: Vec<_> = config.endpoints.iter().map(|endpoint| (&*endpoint.name, endpoint.dialect)).collect();
    assert_eq!(
        endpoints,
        [("anthropic", Dialect::Anthropic), ("openai", Dialect::OpenAi), ("gemini", Dialect::Gemini)]
    );
    assert_eq!(config.endpoints[0].credential, Credential::Client);
    assert_eq!(config.endpoints[1].credential.own().unwrap().expose(), "sk-1");
    assert!(load_with(None, &[], &[]).unwrap().warnings.is_empty(), "a missing key is no problem there");
}

#[test]
fn a_variable_can_change_a_built_in_endpoint() {
    let environment = [("STEADFAST_ENDPOINTS__ANTHROPIC__URL", "http://127.0.0.1:9/v1")];
    let config = load_with(None, &environment, &[]).unwrap().config;
    assert_eq!(config.endpoints.len(), 3);
    assert_eq!(config.endpoints[0].url.join("/v1/messages"), "http://127.0.0.1:9/v1/messages");
}

#[test]
fn what_is_in_force_says_who_said_so_and_shows_no_secret() {
    let file = "[endpoints.anthropic]\nkey = { env = \"MY_KEY\" }\nheaders = { x-team = \"blue\" }\n[store]\nurl = \"postgres://me:pw@db/x\"\n";
    let environment = [("MY_KEY", "topsecret"), ("STEADFAST_ENABLED", "false")];
    let loaded = load_with(Some(file), &environment, &["listen=127.0.0.1:3"]).unwrap();
    let shown = loaded.show();
    assert_eq!(
        shown.split("\n[policies").next().unwrap(),
        "\
listen = \"127.0.0.1:3\"  # --set listen=127.0.0.1:3
enabled = false  # STEADFAST_ENABLED

[endpoints.anthropic]
dialect = \"anthropic\"
url = \"https://api.anthropic.com\"
key = \"***\"  # steadfast.toml:2
headers = { x-team = \"***\" }  # steadfast.toml:3
"
    );
    assert!(shown.contains("url = \"postgres://me:***@db/x\"  # steadfast.toml:5"));
    let json = loaded.show_json();
    assert_eq!(json["config"]["endpoints"]["anthropic"]["key"], "***");
    assert_eq!(json["origins"]["listen"], "--set listen=127.0.0.1:3");
    assert_eq!(json["origins"]["endpoints.anthropic.headers.x-team"], "steadfast.toml:3");
    for text in [shown, json.to_string(), format!("{:?}", loaded.config)] {
        assert!(!text.contains("topsecret") && !text.contains("pw@"), "{text}");
    }
}

#[test]
fn the_file_is_looked_for_beside_the_caller_and_in_the_config_folder() {
    let paths = |environment: &[(&str, &str)]| -> Vec<String> {
        let environment: Vec<_> = environment.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        candidates(&environment).iter().map(|path| path.display().to_string()).collect()
    };
    assert_eq!(paths(&[]), ["steadfast.toml"]);
    assert_eq!(paths(&[("HOME", "/h")]), ["steadfast.toml", "/h/.config/steadfast/steadfast.toml"]);
    assert_eq!(paths(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")]), ["steadfast.toml", "/x/steadfast/steadfast.toml"]);
}
