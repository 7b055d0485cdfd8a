//! What a configuration comes to mean.

use std::time::Duration;

use steadfast_config::{Credential, Dialect, Store};
use steadfast_core::FailureKind;
use steadfast_core::backoff::{Backoff, Jitter};
use steadfast_core::policy::{Ask, Restart, Retry, Step, StreamMode, Trigger, VendorBoundary};

use super::{CONTRACT, load_text, load_with};

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

#[test]
fn the_example_of_the_contract_loads_word_for_word() {
    let environment = [
        ("ANTHROPIC_API_KEY", "a"),
        ("ACME_STEADFAST_KEY", "b"),
        ("STEADFAST_TOKEN", "c"),
        ("OPENROUTER_API_KEY", "d"),
    ];
    let loaded = load_with(Some(CONTRACT), &environment, &[]).unwrap();
    let config = loaded.config;
    assert_eq!(config.listen.to_string(), "127.0.0.1:4141");
    assert_eq!(config.endpoints[0].health.as_ref().unwrap().every, secs(30));
    let sonnet = config.catalogue.model("claude-sonnet-4-5").unwrap();
    assert_eq!(sonnet.endpoints[1].alias.as_deref(), Some("anthropic/claude-sonnet-4.5"));
    assert_eq!(sonnet.price.unwrap().output_usd_micros, 15_000_000);
    assert_eq!(config.ladders[0].1.len(), 3);
    let mine = &config.policies["mine"];
    assert_eq!((mine.vendor_boundary, mine.stream), (VendorBoundary::Strict, StreamMode::Safe));
    assert_eq!((mine.breaker.cooldown, mine.breaker.cooldown_max), (secs(300), secs(300)));
    let rate_limit = mine.on.get(Trigger::Kind(FailureKind::RateLimit)).unwrap();
    let retry = Retry { max: 3, backoff: Backoff::every(secs(5)), with_context: false };
    assert_eq!(rate_limit, [Step::Retry(retry).into(), Step::Fallback.into()]);
    assert_eq!(mine.on.get(Trigger::Status(529)).unwrap(), [Step::Fallback.into()]);
    assert!(mine.on.get(Trigger::Default).is_some(), "what is not written comes from `default`");
    let acme = &config.projects["acme"];
    assert_eq!(acme.keys[0].expose(), "b");
    assert_eq!((acme.usd_micros_per_day, acme.usd_micros_per_session), (Some(20_000_000), Some(2_000_000)));
    assert_eq!(acme.requests_per_minute, Some(600));
    assert_eq!((config.rules[0].status, config.rules[0].kind), (Some(418), FailureKind::Overloaded));
    assert_eq!(config.agents["claude"].command[2], "{task}");
    assert_eq!(config.services["mail"].cooldown, secs(10));
    let council = config.council.unwrap();
    assert_eq!((&*council.members[0].model, council.tool_timeout), ("claude-sonnet-4-5", secs(3)));
    assert_eq!(config.store.unwrap(), Store::Sqlite { path: "steadfast.db".to_owned() });
    let shared = config.shared.unwrap();
    assert_eq!((shared.url.expose(), &*shared.prefix), ("redis://127.0.0.1:6379", "steadfast"));
    assert_eq!(config.decision_log.unwrap().rotate_bytes, 64 << 20);
    assert_eq!(config.admin_token.unwrap().expose(), "c");
    // What the example leaves open: two members without models, and a webhook of three dots.
    assert_eq!(loaded.warnings.list.len(), 3);
}

#[test]
fn steps_can_be_written_in_every_form() {
    let text = r#"
        [policies.default.on]
        timeout = [
            "retry", "repair", "restart", "ask",
            { retry = 2, base = "250ms", multiplier = 1.5, cap = "2s", jitter = "full", with_context = true, tool = "bash" },
            { retry = 1, jitter = "decorrelated", cap = "500ms" },
            { retry = 1, every = "5s", jitter = 0.1 },
            { repair = 1 },
            { restart = 1, every = "1m" },
            { ask = true, nudge = "5s", skip = "10s" },
            { fallback = true, tool = "x" },
            "fallback", "escalate", "defer", "give_up",
        ]
    "#;
    let config = load_text(text).unwrap().config;
    let steps = config.policies["default"].on.get(Trigger::Kind(FailureKind::Timeout)).unwrap();
    let growing = |base, multiplier, cap, jitter| Backoff::new(base, multiplier, cap, jitter).unwrap();
    let retry = |max, backoff, with_context| Step::Retry(Retry { max, backoff, with_context });
    let half = Duration::from_millis(500);
    let expected = [
        retry(3, growing(secs(1), 2.0, secs(30), Jitter::Spread(0.2)), false),
        Step::Repair { max: 2 },
        Step::Restart(Restart { max: 3, backoff: growing(secs(60), 2.0, secs(240), Jitter::Spread(0.0)) }),
        Step::Ask(Ask { nudge: secs(30), skip: secs(60) }),
        retry(2, growing(Duration::from_millis(250), 1.5, secs(2), Jitter::Full), true),
        retry(1, growing(half, 2.0, half, Jitter::Decorrelated), false),
        retry(1, growing(secs(5), 1.0, secs(5), Jitter::Spread(0.1)), false),
        Step::Repair { max: 1 },
        Step::Restart(Restart { max: 1, backoff: Backoff::every(secs(60)) }),
        Step::Ask(Ask { nudge: secs(5), skip: secs(10) }),
        Step::Fallback,
        Step::Fallback,
        Step::Escalate,
        Step::Defer,
        Step::GiveUp,
    ];
    let found: Vec<&Step> = steps.iter().map(|rule| &rule.step).collect();
    assert_eq!(found, expected.iter().collect::<Vec<_>>());
    let tools: Vec<&str> = steps.iter().filter_map(|rule| rule.tool.as_deref()).collect();
    assert_eq!(tools, ["bash", "x"]);
}

#[test]
fn a_policy_extends_its_parent_trigger_by_trigger() {
    let text = r#"
        [projects.default]
        policy = "child"
        [policies.child]
        extends = "parent"
        session_retries = { max = 9 }
        [policies.child.on]
        timeout = ["fallback"]
        [policies.parent]
        extends = "hardened"
        deadline = "1m"
        [policies.parent.on]
        timeout = ["give_up"]
        server_error = ["give_up"]
        [policies.hardened]
        attempts_max = 3
    "#;
    let child = &load_text(text).unwrap().config.policies["child"];
    assert_eq!(child.deadline, secs(60));
    assert_eq!(child.attempts_max, 3, "a policy named like a template changes it for its children");
    assert_eq!((child.session_retries.max, child.session_retries.warn), (9, 6), "the warning follows a lower limit");
    assert!(child.breaker.rate_limits_trip);
    assert_eq!(child.on.get("timeout".parse().unwrap()).unwrap(), [Step::Fallback.into()]);
    assert_eq!(child.on.get("server_error".parse().unwrap()).unwrap(), [Step::GiveUp.into()]);
    assert_eq!(child.on.get("ProviderError".parse().unwrap()).unwrap(), [Step::Fallback.into()]);
}

#[test]
fn a_shared_endpoint_gets_the_strictest_of_all_policies_in_use() {
    let text = r#"
        [policies.a]
        retry_share = 0.1
        breaker = { failures = 9, cooldown = "1m", probes = 3 }
        [policies.b]
        retry_share = 0.3
        breaker = { failures = 3, cooldown = "10s", probes = 2, rate_limits_trip = true, adaptive = false }
        [policies.unused]
        breaker = { failures = 1 }
        [projects.default]
        policy = "a"
        [projects.b]
        policy = "b"
    "#;
    let endpoint = &load_text(text).unwrap().config.endpoints[0];
    let breaker = endpoint.breaker;
    assert_eq!((breaker.failures, breaker.probes, breaker.cooldown), (3, 2, secs(60)));
    assert!(breaker.rate_limits_trip && !breaker.adaptive);
    assert!((endpoint.retry_share - 0.1).abs() < f64::EPSILON);
}

#[test]
fn a_model_nobody_listed_goes_to_the_endpoints_of_the_clients_dialect() {
    let text = r#"
        [endpoints.b]
        dialect = "openai"
        url = "https://b"
        [endpoints.anthropic]
        [endpoints.a]
        dialect = "openai"
        url = "https://a"
        [projects.acme]
        chain = ["claude-haiku-4-5", "claude-opus-4-5"]
    "#;
    let config = load_text(text).unwrap().config;
    let route = config.route(config.project(None), "some-model", Dialect::OpenAi);
    let served: Vec<&str> =
        route.primary().endpoints.iter().map(|served| &*config.endpoint(served.endpoint).unwrap().name).collect();
    assert_eq!(served, ["b", "a"], "in file order");
    assert_eq!(route.chain().len(), 1);
    let acme = config.project(Some("acme"));
    let names = |model: &str| -> Vec<String> {
        config.route(acme, model, Dialect::OpenAi).chain().iter().map(|model| model.name.to_string()).collect()
    };
    assert_eq!(names("some-model"), ["some-model", "claude-haiku-4-5", "claude-opus-4-5"]);
    assert_eq!(names("claude-haiku-4-5"), ["claude-haiku-4-5", "claude-opus-4-5"], "not itself again");
    assert_eq!(config.project(Some("nosuch")).name, "default");
}

#[test]
fn under_a_strict_boundary_a_projects_chain_serves_only_its_vendor() {
    let text = "[policies.default]\nvendor_boundary = \"strict\"\n[projects.default]\nchain = [\"claude-haiku-4-5\"]\n";
    let config = load_text(text).unwrap().config;
    let chain = |model: &str, dialect| config.route(config.project(None), model, dialect).chain().len();
    assert_eq!(chain("claude-sonnet-4-5", Dialect::Anthropic), 2);
    assert_eq!(chain("gpt-5.2", Dialect::OpenAi), 1);
}

#[test]
fn the_nearest_chain_counts_projects_before_models_and_everybodys_last() {
    let text = "chain = [\"gpt-5.2\", \"claude-haiku-4-5\"]\n[models.claude-sonnet-4-5]\nfallback = [\"claude-opus-4-5\"]\n[models.claude-opus-4-5]\nfallback = [\"claude-opus-4-5\"]\n[projects.acme]\nchain = [\"gemini-2.5-pro\"]\n";
    let config = load_text(text).unwrap().config;
    let chain = |project, model: &str| {
        let route = config.route(config.project(project), model, Dialect::Anthropic);
        route.chain().iter().skip(1).map(|model| model.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(chain(Some("acme"), "claude-sonnet-4-5"), ["gemini-2.5-pro"]);
    assert_eq!(chain(None, "claude-sonnet-4-5"), ["claude-opus-4-5"]);
    assert_eq!(chain(None, "some-model"), ["gpt-5.2", "claude-haiku-4-5"]);
    assert_eq!(chain(None, "claude-haiku-4-5"), ["gpt-5.2"], "not itself again");
    assert!(chain(None, "claude-opus-4-5").is_empty(), "its own name alone means never");
}

#[test]
fn its_own_name_alone_means_never_even_where_the_project_has_a_chain() {
    let text = "[models.claude-sonnet-4-5]\nfallback = [\"claude-sonnet-4-5\"]\n[projects.default]\nchain = [\"claude-haiku-4-5\"]\n";
    let config = load_text(text).unwrap().config;
    assert_eq!(config.route(config.project(None), "claude-sonnet-4-5", Dialect::Anthropic).chain().len(), 1);
}

#[test]
fn secrets_come_from_variables_and_files() {
    let text = "[endpoints.anthropic]\nkey = { file = \"secret.txt\" }\n[endpoints.openai]\nkey = { env = \"NOPE\" }\n";
    let config = load_text(text).unwrap().config;
    assert_eq!(config.endpoints[0].credential.own().unwrap().expose(), "from-a-file");
    assert_eq!(config.endpoints[1].credential, Credential::Missing { wanted: "NOPE".to_owned() });
}

#[test]
fn two_projects_cannot_share_a_key() {
    let text = "[projects.a]\nkeys = [{ env = \"K\" }]\n[projects.b]\nkeys = [{ env = \"K\" }]\n";
    let problems = load_with(Some(text), &[("K", "same")], &[]).unwrap_err();
    assert_eq!(problems.list[0].what, "the projects `a` and `b` have the same key");
}

#[test]
fn off_loopback_a_token_is_needed() {
    let text = "listen = \"0.0.0.0:4141\"\n[admin]\ntoken = { env = \"T\" }\n";
    assert_eq!(load_text(text).unwrap_err().errors(), 1);
    assert!(load_with(Some(text), &[("T", "x")], &[]).is_ok());
}

#[test]
fn money_can_be_a_number_or_text() {
    let text = "[projects.a]\nspend = { usd_per_day = \"$2.50\", usd_per_session = 1 }\n";
    let project = &load_text(text).unwrap().config.projects["a"];
    assert_eq!((project.usd_micros_per_day, project.usd_micros_per_session), (Some(2_500_000), Some(1_000_000)));
}

#[test]
fn traces_go_where_the_file_says_and_rather_where_the_standard_variables_say() {
    let file = "[traces]\nendpoint = \"http://127.0.0.1:4318\"\nheaders = { x-team = \"a\" }";
    let traces = |environment: &[(&str, &str)]| {
        load_with(Some(file), environment, &[]).unwrap_or_else(|problems| panic!("{problems}")).config.traces
    };
    let plain = traces(&[]).unwrap();
    assert_eq!((&*plain.url, &*plain.service), ("http://127.0.0.1:4318/v1/traces", "steadfast"));
    assert_eq!((&*plain.headers[0].0, plain.headers[0].1.expose()), ("x-team", "a"));
    let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector.example/base/");
    let told = traces(&[base, ("OTEL_SERVICE_NAME", "mine"), ("OTEL_EXPORTER_OTLP_HEADERS", "X-Team=b")]).unwrap();
    assert_eq!((&*told.url, &*told.service), ("https://collector.example/base/v1/traces", "mine"));
    assert_eq!((told.headers.len(), told.headers[0].1.expose()), (1, "b"));
    let full = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://other.example/otlp");
    assert_eq!(traces(&[base, full]).unwrap().url, "http://other.example/otlp");
    assert_eq!(traces(&[base, ("OTEL_SDK_DISABLED", "true")]), None);
    assert_eq!(load_with(None, &[("OTEL_SERVICE_NAME", "mine")], &[]).unwrap().config.traces, None);
    let set = ["traces.endpoint=http://flag.example"];
    let flag = load_with(Some(file), &[base], &set).unwrap().config.traces.unwrap();
    assert_eq!(flag.url, "http://flag.example/v1/traces", "flags win over everything");
}

#[test]
fn a_proxy_is_the_files_and_rather_the_one_of_the_standard_variables() {
    let file = "[proxy]\nurl = \"http://me:hunter22@proxy.example:3128/\"\nexcept = [\"internal.example\"]";
    let proxy = |environment: &[(&str, &str)]| {
        let loaded = load_with(Some(file), environment, &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let proxy = loaded.config.proxy.unwrap();
        (proxy.url.expose().to_owned(), proxy.except.join(" "))
    };
    let told = |url: &str, except: &str| (url.to_owned(), except.to_owned());
    assert_eq!(proxy(&[]), told("http://me:hunter22@proxy.example:3128", "internal.example"));
    assert_eq!(proxy(&[("https_proxy", "other.example:80")]), told("http://other.example:80", "internal.example"));
    let large = [("HTTPS_PROXY", "http://a.example"), ("ALL_PROXY", "socks5://b.example"), ("no_proxy", " c, ,d ")];
    assert_eq!(proxy(&large), told("http://a.example", "c d"));
    assert_eq!(load_with(None, &[("NO_PROXY", "*")], &[]).unwrap().config.proxy, None);
    let Err(problems) = load_with(None, &[("ALL_PROXY", "socks5://me:hunter22@proxy.example")], &[]) else {
        panic!("it was taken");
    };
    let said = problems.to_string();
    assert!(said.contains("ALL_PROXY") && said.contains("CONNECT") && !said.contains("hunter22"), "{said}");
}

#[test]
fn an_address_for_traces_that_cannot_be_used_is_refused_where_it_was_written() {
    let refused = |text: &str, environment: &[(&str, &str)]| match load_with(Some(text), environment, &[]) {
        Err(problems) => problems.to_string(),
        Ok(_) => panic!("it was taken"),
    };
    let password = refused("[traces]\nendpoint = \"http://me:hunter22@collector\"", &[]);
    assert!(password.contains("holds a user or a password") && !password.contains("hunter22"), "{password}");
    let variable = refused("", &[("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317")]);
    assert!(variable.contains("OTEL_EXPORTER_OTLP_ENDPOINT") && variable.contains("is not an address"), "{variable}");
    let secret = refused("[traces]\nendpoint = \"http://c\"\nheaders = { authorization = \"Basic abc\" }", &[]);
    assert!(secret.contains("holds a secret in plain text"), "{secret}");
}
