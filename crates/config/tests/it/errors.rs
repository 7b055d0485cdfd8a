//! Every problem with its place, its key and its fix. The texts are the product.

use steadfast_config::{Place, Problem, Problems};

use super::{load_text, load_with};

/// Asserts the whole rendering of what is refused.
#[track_caller]
fn check(text: &str, expected: &str) {
    let problems = load_text(text).expect_err("this must be refused").to_string();
    assert_eq!(problems.trim(), expected.trim(), "\n{problems}");
}

/// The first line of each problem, for tables of many. Whatever it says, it says where, about which key, and what to
/// do about it.
#[track_caller]
fn first_lines(problems: &Problems) -> Vec<String> {
    problems.list.iter().inspect(|problem| assert_is_helpful(problem)).map(first_line).collect()
}

fn first_line(problem: &Problem) -> String {
    format!("{}: {}", problem.severity, problem.what)
}

#[track_caller]
fn assert_is_helpful(problem: &Problem) {
    let Place::Line(line) = &problem.place else { panic!("nobody knows where:\n{problem}") };
    assert!(line.file == "steadfast.toml" && line.line > 0 && line.column > 0 && !line.shown.is_empty(), "{problem}");
    assert!(!problem.key.is_empty(), "of which key?\n{problem}");
    assert!(!problem.help.trim().is_empty(), "what is one to do?\n{problem}");
}

#[track_caller]
fn refused(text: &str, what: &str) {
    let problems = load_text(text).expect_err("this must be refused");
    assert_eq!(first_lines(&problems), [format!("error: {what}")]);
}

/// What loads without a word.
#[track_caller]
fn accepted(text: &str) {
    let loaded = load_text(text).unwrap_or_else(|problems| panic!("{text}\n{problems}"));
    assert_eq!(loaded.warnings.to_string(), "", "{text}");
}

const POLICY: &str = "[projects.default]\npolicy = \"mine\"\n[policies.mine.on]\n";

#[test]
fn an_unknown_kind_is_pointed_at_and_the_near_one_named() {
    check(
        "[policies.default.on]\nrate_limits = [\"fallback\"]\n",
        "
error: unknown kind `rate_limits`
 --> steadfast.toml:2:1
  |
2 | rate_limits = [\"fallback\"]
  | ^^^^^^^^^^^
  = key: policies.default.on.rate_limits
  = help: did you mean `rate_limit`?",
    );
}

#[test]
fn everything_wrong_is_said_at_once_from_top_to_bottom() {
    check(
        "listn = \"127.0.0.1:1\"
[endpoints.claude]
dialect = \"antropic\"
url = \"api.anthropic.com\"
[models.claude-sonnet-4-5]
endpoints = [\"cluade\"]
fallback = [\"claude-haiku-4-4\"]
[policies.default.on]
server_error = [{ retry = 3, evry = \"5s\" }]
",
        "
error: unknown key `listn`
 --> steadfast.toml:1:1
  |
1 | listn = \"127.0.0.1:1\"
  | ^^^^^
  = key: listn
  = help: did you mean `listen`?

error: unknown dialect `antropic`
 --> steadfast.toml:3:11
  |
3 | dialect = \"antropic\"
  |           ^^^^^^^^^^
  = key: endpoints.claude.dialect
  = help: did you mean `anthropic`?

error: `api.anthropic.com` is not an address
 --> steadfast.toml:4:7
  |
4 | url = \"api.anthropic.com\"
  |       ^^^^^^^^^^^^^^^^^^^
  = key: endpoints.claude.url
  = help: write it in full: https://host/path

error: unknown endpoint `cluade`
 --> steadfast.toml:6:14
  |
6 | endpoints = [\"cluade\"]
  |              ^^^^^^^^
  = key: models.claude-sonnet-4-5.endpoints[0]
  = help: did you mean `claude`?

error: unknown model `claude-haiku-4-4`
 --> steadfast.toml:7:13
  |
7 | fallback = [\"claude-haiku-4-4\"]
  |             ^^^^^^^^^^^^^^^^^^
  = key: models.claude-sonnet-4-5.fallback[0]
  = help: did you mean `claude-haiku-4-5`?

error: unknown key `evry`
 --> steadfast.toml:9:30
  |
9 | server_error = [{ retry = 3, evry = \"5s\" }]
  |                              ^^^^
  = key: policies.default.on.server_error[0].evry
  = help: did you mean `every`?",
    );
}

#[test]
fn there_is_no_endless_retry() {
    for (count, what) in [
        ("0", "`retry` is 0 but must be between 1 and 20"),
        ("1000", "`retry` is 1000 but must be between 1 and 20"),
        ("-1", "`retry` is -1 but must be between 1 and 20"),
        ("\"forever\"", "`retry` must be a whole number between 1 and 20, not text"),
        ("inf", "`retry` must be a whole number between 1 and 20, not a number with a fraction"),
        ("99999999999999999999", "`retry` must be a whole number between 1 and 20, not a number beyond 64 bits"),
    ] {
        refused(&format!("{POLICY}rate_limit = [{{ retry = {count} }}]\n"), what);
    }
    check(
        &format!("{POLICY}rate_limit = [\"fallback\", {{ retry = 1000, every = \"5s\" }}]\n"),
        "
error: `retry` is 1000 but must be between 1 and 20
 --> steadfast.toml:4:37
  |
4 | rate_limit = [\"fallback\", { retry = 1000, every = \"5s\" }]
  |                                     ^^^^
  = key: policies.mine.on.rate_limit[1].retry
  = help: 3 is a good number",
    );
}

#[test]
fn impossible_policies_are_refused() {
    for (line, what) in [
        ("default = [\"give_up\", \"fallback\"]", "`give_up` ends the operation, so the steps after it can never run"),
        ("quota_exhausted = [{ retry = 1 }]", "`retry` waits for a quota that does not come back in seconds"),
        ("default = []", "`default` has no steps"),
        ("default = \"fallback\"", "`default` must be a list, not text"),
        ("default = [\"retyr\"]", "unknown step `retyr`"),
        ("default = [3]", "a step must be a name or a table, not a whole number"),
        ("default = [{ every = \"5s\" }]", "this step does not say what to do"),
        ("default = [{ retry = 1, fallback = true }]", "a step cannot both `retry` and `fallback`"),
        ("default = [{ fallback = false }]", "`fallback = false` is no step"),
        ("default = [{ fallback = true, every = \"5s\" }]", "`every` means nothing to `fallback`"),
        ("default = [{ retry = 1, every = \"5s\", cap = \"9s\" }]", "`cap` contradicts `every`"),
        ("default = [{ retry = 1, base = \"9s\", cap = \"5s\" }]", "`cap`: cap must be between the base and 24h"),
        ("default = [{ retry = 1, every = \"25h\" }]", "`every` must be at most 24h"),
        ("default = [{ retry = 1, multiplier = 0.5 }]", "`multiplier`: multiplier must be between 1 and 10"),
        ("default = [{ retry = 1, multiplier = nan }]", "`multiplier` must be a finite number"),
        (
            "default = [{ retry = 1, jitter = 1.5 }]",
            "`jitter`: jitter must be between 0 and 1, or \"full\" or \"decorrelated\"",
        ),
        ("default = [{ retry = 1, jitter = \"ful\" }]", "unknown jitter `ful`"),
        (
            "default = [{ ask = true, nudge = \"2m\", skip = \"1m\" }]",
            "`skip` must come after `nudge` and within an hour",
        ),
        ("http_99 = [\"fallback\"]", "unknown kind `http_99`"),
    ] {
        refused(&format!("{POLICY}{line}\n"), what);
    }
    for (line, what) in [
        ("deadline = \"0s\"", "`deadline` is zero or longer than 7 days"),
        ("deadline = \"8d\"", "`deadline` is zero or longer than 7 days"),
        ("deadline = 600", "`deadline` is a number without a unit"),
        ("deadline = \"soon\"", "`soon` is not a duration"),
        ("attempts_max = 0", "`attempts_max` is 0 but must be between 1 and 100"),
        ("attempts_max = -1", "`attempts_max` is -1 but must be between 1 and 100"),
        ("retry_share = 1.5", "`retry_share` is 1.5 but must be between 0 and 1"),
        ("session_retries = { max = 10, warn = 20 }", "`warn` is above `max`"),
        ("breaker = { failures = 0 }", "`failures` is 0 but must be between 1 and 1000"),
        (
            "breaker = { cooldown = \"30s\", cooldown_max = \"5s\" }",
            "`cooldown_max` must be between `cooldown` and 24h",
        ),
        ("escalate = { after_retries = 1000 }", "`after_retries` is 1000 but may be at most 20"),
        ("extends = \"hardned\"", "unknown policy `hardned`"),
        ("stream = \"slow\"", "unknown stream mode `slow`"),
        ("vendor_boundary = \"stirct\"", "unknown vendor boundary `stirct`"),
    ] {
        refused(&format!("[policies.default]\n{line}\n"), what);
    }
}

#[test]
fn policies_that_extend_each_other_are_refused() {
    check(
        "[projects.default]\npolicy = \"a\"\n[policies.a]\nextends = \"b\"\n[policies.b]\nextends = \"a\"\n",
        "
error: policies extend each other in a circle: `a` -> `b` -> `a`
 --> steadfast.toml:4:11
  |
4 | extends = \"b\"
  |           ^^^
  = key: policies.a.extends
  = help: let one of them extend a template, such as \"hardened\", or its own name where it is called like one",
    );
    refused(
        "[projects.default]\npolicy = \"a\"\n[policies.a]\nextends = \"a\"\n",
        "policies extend each other in a circle: `a` -> `a`",
    );
    check(
        "[projects.x]\npolicy = \"mine\"\n[policies.mine]\nattempts_max = 3\n[policies.default]\nextends = \"mine\"\n",
        "
error: policies extend each other in a circle: `mine` -> `default` -> `mine`
 --> steadfast.toml:6:11
  |
6 | extends = \"mine\"
  |           ^^^^^^
  = key: policies.default.extends
  = help: let one of them extend a template, such as \"hardened\", or its own name where it is called like one",
    );
}

#[test]
fn chains_that_cannot_be_walked_are_refused() {
    let model = |fallback: &str| format!("[models.claude-sonnet-4-5]\nfallback = {fallback}\n");
    refused(&model("[\"claude-haiku-4-5\", \"claude-sonnet-4-5\"]"), "`claude-sonnet-4-5` falls back to itself");
    refused(&model("[\"claude-haiku-4-5\", \"claude-haiku-4-5\"]"), "`claude-haiku-4-5` appears twice");
    refused(&model("[\"nosuch\"]"), "unknown model `nosuch`");
    accepted(&model("[\"claude-sonnet-4-5\"]"));
    let many: String = (0..40).map(|number| format!("[models.m{number}]\nvendor = \"openai\"\n")).collect();
    let names: Vec<String> = (0..20).map(|number| format!("\"m{number}\"")).collect();
    refused(&format!("{many}[projects.default]\nchain = [{}]\n", names.join(", ")), "a chain holds at most 15 models");
    refused(&format!("{many}[ladders]\nx = [{}]\n", names.join(", ")), "a ladder holds at most 16 models");
    refused("[ladders]\nx = [\"claude-haiku-4-5\"]\n", "the ladder `x` has nowhere to climb");
    refused("[ladders]\nx = [\"claude-haiku-4-5\", \"claude-haiku-4-5\"]\n", "`claude-haiku-4-5` appears twice");
    refused("[projects.default]\nchain = [\"nosuch\"]\n", "unknown model `nosuch`");
    refused("chain = [\"nosuch\"]\n", "unknown model `nosuch`");
    refused("chain = [\"gpt-5.2\", \"gpt-5.2\"]\n", "`gpt-5.2` appears twice");
}

#[test]
fn every_circle_is_refused_with_its_place_and_a_way_out() {
    check(
        "[models.claude-sonnet-4-5]\nfallback = [\"claude-haiku-4-5\", \"claude-sonnet-4-5\"]\n",
        "
error: `claude-sonnet-4-5` falls back to itself
 --> steadfast.toml:2:33
  |
2 | fallback = [\"claude-haiku-4-5\", \"claude-sonnet-4-5\"]
  |                                 ^^^^^^^^^^^^^^^^^^^
  = key: models.claude-sonnet-4-5.fallback[1]
  = help: take it out; alone, [\"claude-sonnet-4-5\"] would mean never to fall back",
    );
    check(
        "[projects.x]\nchain = [\"claude-haiku-4-5\", \"gpt-5.2\", \"claude-haiku-4-5\"]\n",
        "
error: `claude-haiku-4-5` appears twice
 --> steadfast.toml:2:41
  |
2 | chain = [\"claude-haiku-4-5\", \"gpt-5.2\", \"claude-haiku-4-5\"]
  |                                         ^^^^^^^^^^^^^^^^^^
  = key: projects.x.chain[2]
  = help: each model is visited once: take one out",
    );
    let member = |fallback: &str| {
        format!(
            "[council]\nmembers = [\"a\"]\n[council.member.a]\nmodel = \"claude-sonnet-4-5\"\nfallback = {fallback}\n"
        )
    };
    check(
        &member("[\"claude-haiku-4-5\", \"claude-sonnet-4-5\"]"),
        "
error: `claude-sonnet-4-5` falls back to itself
 --> steadfast.toml:5:33
  |
5 | fallback = [\"claude-haiku-4-5\", \"claude-sonnet-4-5\"]
  |                                 ^^^^^^^^^^^^^^^^^^^
  = key: council.member.a.fallback[1]
  = help: take it out; alone, [\"claude-sonnet-4-5\"] would mean never to fall back",
    );
    refused(&member("[\"claude-haiku-4-5\", \"claude-haiku-4-5\"]"), "`claude-haiku-4-5` appears twice");
    accepted(&member("[\"claude-sonnet-4-5\"]"));
}

#[test]
fn models_that_fall_back_to_each_other_are_no_circle() {
    accepted(
        "[models.claude-sonnet-4-5]
fallback = [\"claude-haiku-4-5\"]
[models.claude-haiku-4-5]
fallback = [\"claude-sonnet-4-5\"]
",
    );
    accepted(
        "[ladders]
up = [\"claude-haiku-4-5\", \"claude-sonnet-4-5\"]
down = [\"claude-sonnet-4-5\", \"claude-haiku-4-5\"]
",
    );
}

#[test]
fn a_strict_chain_never_leaves_its_vendor() {
    check(
        "[policies.mine]
vendor_boundary = \"strict\"
[projects.acme]
policy = \"mine\"
[models.claude-sonnet-4-5]
fallback = [\"claude-haiku-4-5\", \"gpt-5.2\"]
",
        "
error: `gpt-5.2` is made by `openai` and `claude-sonnet-4-5` by `anthropic`: a chain under a strict boundary never leaves its vendor
 --> steadfast.toml:6:33
  |
6 | fallback = [\"claude-haiku-4-5\", \"gpt-5.2\"]
  |                                 ^^^^^^^^^
  = key: models.claude-sonnet-4-5.fallback[1]
  = help: take it out, or set vendor_boundary = \"open\" in the policy `mine` of the project `acme`",
    );
    refused(
        "[policies.default]\nvendor_boundary = \"strict\"\n[projects.default]\nchain = [\"gpt-5.2\", \"claude-haiku-4-5\"]\n",
        "`claude-haiku-4-5` is made by `anthropic` and `gpt-5.2` by `openai`: a chain under a strict boundary never leaves its vendor",
    );
    let council =
        "[models.claude-sonnet-4-5]\nfallback = [\"gpt-5.2\"]\n[council]\nmembers = [\"claude-sonnet-4-5\"]\n";
    let vendors = "`gpt-5.2` is made by `openai` and `claude-sonnet-4-5` by `anthropic`: a chain under a strict boundary never leaves its vendor";
    refused(council, vendors);
}

#[test]
fn what_nobody_may_walk_to_its_end_is_refused() {
    let ladder = "[ladders]\nx = [\"claude-haiku-4-5\", \"claude-sonnet-4-5\", \"gpt-5.2\"]\n";
    let acme = "[projects.acme]\npolicy = \"mine\"\n[policies.mine]\nvendor_boundary = \"strict\"\n";
    check(
        &format!("{acme}{ladder}"),
        "
error: the ladder `x` goes from `anthropic` to `gpt-5.2`, made by `openai`: under a strict boundary nobody goes there
 --> steadfast.toml:6:47
  |
6 | x = [\"claude-haiku-4-5\", \"claude-sonnet-4-5\", \"gpt-5.2\"]
  |                                               ^^^^^^^^^
  = key: ladders.x[2]
  = help: take it out, or set vendor_boundary = \"open\" in the policy `mine` of the project `acme`",
    );
    refused(
        &format!("[policies.default]\nvendor_boundary = \"strict\"\n{ladder}"),
        "the ladder `x` goes from `anthropic` to `gpt-5.2`, made by `openai`: under a strict boundary nobody goes there",
    );
    refused(
        &format!("chain = [\"claude-haiku-4-5\", \"gpt-5.2\"]\n{acme}"),
        "everybody's chain goes from `anthropic` to `gpt-5.2`, made by `openai`: under a strict boundary nobody goes there",
    );
    accepted(ladder);
    accepted(&format!("{acme}[ladders]\nx = [\"claude-haiku-4-5\", \"claude-sonnet-4-5\"]\n"));

    let loaded = load_text(&format!("{acme}[projects.lab]\n{ladder}")).expect("the laboratory climbs there");
    assert_eq!(
        loaded.warnings.to_string().trim(),
        "\
warning: the ladder `x` goes from `anthropic` to `gpt-5.2`, made by `openai`: the project `acme` stays with one vendor and never goes there
 --> steadfast.toml:7:47
  |
7 | x = [\"claude-haiku-4-5\", \"claude-sonnet-4-5\", \"gpt-5.2\"]
  |                                               ^^^^^^^^^
  = key: ladders.x[2]
  = help: leave it if that is meant; otherwise take it out, or set vendor_boundary = \"open\" in the policy `mine` of the project `acme`",
    );
    let (acme, lab) = (loaded.config.project(Some("acme")), loaded.config.project(Some("lab")));
    let rungs = |project| {
        let route = loaded.config.route(project, "claude-haiku-4-5", steadfast_config::Dialect::Anthropic);
        route.ladder().iter().map(|model| model.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(rungs(acme), ["claude-sonnet-4-5"]);
    assert_eq!(rungs(lab), ["claude-sonnet-4-5", "gpt-5.2"]);
}

#[test]
fn numbers_out_of_bounds_are_told_the_bounds_that_hold() {
    for (text, key, bounds) in [
        ("[policies.default]\nattempts_max = {}", "attempts_max", "between 1 and 100"),
        ("[policies.default]\nsession_retries = { max = {} }", "max", "between 0 and 10000"),
        ("[policies.default]\nsession_retries = { warn = {} }", "warn", "between 0 and 10000"),
        ("[policies.default]\nbreaker = { failures = {} }", "failures", "between 1 and 1000"),
        ("[policies.default]\nbreaker = { floor = {} }", "floor", "between 1 and 1000000"),
        ("[policies.default]\nbreaker = { probes = {} }", "probes", "between 1 and 100"),
        ("[policies.default]\nbreaker = { successes = {} }", "successes", "between 1 and 100"),
        ("[policies.default]\nescalate = { after_retries = {} }", "after_retries", "between 0 and 20"),
        ("[policies.default.on]\ntimeout = [{ retry = {} }]", "retry", "between 1 and 20"),
        ("[policies.default.on]\ntimeout = [{ repair = {} }]", "repair", "between 1 and 20"),
        ("[policies.default.on]\ntimeout = [{ restart = {} }]", "restart", "between 1 and 20"),
        ("[projects.x]\nrate = { requests_per_minute = {} }", "requests_per_minute", "between 1 and 4294967295"),
        ("[models.claude-x]\ncontext_window = {}", "context_window", "between 1 and 4294967295"),
        ("[store]\nkeep_days = {}", "keep_days", "between 1 and 3650"),
        ("[log]\ndecisions = { path = \"x\", keep = {} }", "keep", "between 0 and 1000"),
        ("[[rules]]\nkind = \"timeout\"\nmatch = { status = {} }", "status", "between 100 and 599"),
        ("[clients.x]\nfinal = { default = { status = {} } }", "status", "between 400 and 599"),
    ] {
        let of = |number: &str| text.replace("{}", number);
        refused(&of("-1"), &format!("`{key}` is -1 but must be {bounds}"));
        refused(&of("1.5"), &format!("`{key}` must be a whole number {bounds}, not a number with a fraction"));
        let most = bounds.rsplit(' ').next().unwrap().parse::<u64>().unwrap();
        let beyond = first_lines(&load_text(&of(&(most + 1).to_string())).expect_err("more than the most"));
        assert_eq!(beyond.len(), 1, "{beyond:?}");
    }
}

#[test]
fn a_key_in_the_file_is_refused_and_never_shown() {
    let secret = "sk-ant-api03-verysecret";
    check(
        &format!("[endpoints.anthropic]\nkey = \"{secret}\"\n"),
        "
error: `key` holds a secret in plain text
 --> steadfast.toml:2:7
  |
2 | key = ***
  |       ^^^
  = key: endpoints.anthropic.key
  = help: keep it outside this file: { env = \"NAME\" } or { file = \"path\" }",
    );
    for text in [
        format!("[endpoints.anthropic]\nkey = {secret}\n"),
        format!("[endpoints.anthropic]\nkey = \"{secret}\n"),
        format!("[endpoints.anthropic]\napi_key = \"{secret}\"\n"),
        format!("[endpoints.anthropic]\ndialect = \"{secret}\"\n"),
        format!("[endpoints.anthropic]\nkey = {{ env = \"X\", env = \"{secret}\" }}\n"),
        format!("[endpoints.anthropic]\nheaders = {{ x-api-key = \"{secret}\" }}\n"),
        format!("[endpoints.anthropic]\nurl = \"https://me:{secret}@host\"\n"),
        format!("[endpoints.\"{secret}\"]\n"),
        format!("[admin]\ntoken = \"{secret}\"\n"),
        format!("[projects.x]\nkeys = [\"{secret}\"]\n"),
        format!("{secret} = 1\n"),
        "[projects.x]\nkeys = [\n  \"verysecret\",\n]\n".to_owned(),
        "[projects.x]\nkeys = [\n  \"verysecret\",\n".to_owned(),
        "[projects.x]\nkeys = [\n  \"verysecret\n]\n".to_owned(),
        "[admin]\ntoken = \"\"\"\nverysecret\"\"\"\n".to_owned(),
        "[admin]\ntoken = \"verysecret\" x\n".to_owned(),
        format!("[store]\nurl = \"postgres://me:{secret}@host:x y/\"\n[shared]\nurl = \"http://a:{secret}@b\"\n"),
    ] {
        let problems = load_text(&text).expect_err("this must be refused");
        assert!(!problems.to_string().contains("verysecret"), "{problems}");
        assert!(!format!("{problems:?}").contains("verysecret"), "{problems:?}");
    }
    let flag = format!("endpoints.anthropic.key={secret}");
    for problems in [
        load_with(None, &[("STEADFAST_ENDPOINTS__ANTHROPIC__KEY", secret)], &[]).unwrap_err(),
        load_with(None, &[], &[&flag]).unwrap_err(),
    ] {
        assert!(!problems.to_string().contains("verysecret"), "{problems}");
    }
}

#[test]
fn variables_and_flags_are_named_when_they_are_wrong() {
    let problems = load_with(None, &[("STEADFAST_LISTEN", "nowhere")], &["store.ulr=sqlite:x"]).unwrap_err();
    assert_eq!(
        problems.to_string(),
        "\
error: unknown key `ulr`
 --> flag --set store.ulr=sqlite:x
  = key: store.ulr
  = help: did you mean `url`?

error: `nowhere` is not an address to listen on
 --> environment variable STEADFAST_LISTEN
  = key: listen
  = help: a numeric address and a port, such as \"127.0.0.1:4141\" or \"[::1]:4141\"
"
    );
}

#[test]
fn text_that_is_not_toml_is_pointed_at() {
    check(
        "listen = \"127.0.0.1:4141\"\n[endpoints\nurl = \"x\"\n",
        "
error: this is not TOML: unclosed table, expected `]`
 --> steadfast.toml:2:11
  |
2 | [endpoints
  |           ^
  = help: see https://toml.io for the format",
    );
    check(
        "listen = \"a\"\nlisten = \"b\"\n",
        "
error: this is not TOML: duplicate key
 --> steadfast.toml:2:1
  |
2 | listen = \"b\"
  | ^^^^^^
  = help: keep one of the two",
    );
}

#[test]
fn files_that_cannot_be_read_say_so() {
    let bytes =
        |bytes: Vec<u8>| steadfast_config::ConfigFile::from_bytes("steadfast.toml", bytes).unwrap_err().to_string();
    assert_eq!(
        bytes(b"listen = \"\xff\"".to_vec()),
        "\
error: this is not UTF-8
 --> steadfast.toml:1:11
  |
1 | listen = \"\u{fffd}\"
  |           ^
  = help: save the file as UTF-8
"
    );
    assert!(bytes(vec![b' '; (1 << 20) + 1]).starts_with("error: the file is larger than 1 MiB"));
    let missing = steadfast_config::ConfigFile::open("/nonexistent/steadfast.toml".as_ref()).unwrap_err().to_string();
    assert!(missing.contains("cannot read the file") && missing.contains("steadfast config init"), "{missing}");
}

#[test]
fn sections_of_the_faces_are_checked() {
    for (text, what) in [
        ("listen = \"0.0.0.0:4141\"", "`0.0.0.0:4141` can be reached from other machines, and there is no admin token"),
        ("[store]\nurl = \"mysql://x\"", "`mysql://x` is no store"),
        ("[shared]\nurl = \"memcached://x\"", "`memcached://x` is nothing to share through"),
        ("[log]\ndecisions = { rotate_mb = 64 }", "`path` is missing"),
        ("[log]\ndecisions = { path = \"x\", rotate_mb = 0 }", "`rotate_mb` is 0 but must be between 1 and 65536"),
        ("[alerts]\nwebhook = \"example.com\"", "`webhook` is not an address"),
        ("[agents.x]\ncommand = []", "the command names no program"),
        ("[agents.x]", "`command` is missing"),
        ("[services.x]\ncooldown = \"10s\"", "the service `x` has nothing to watch"),
        ("[services.x]\nhealth = \"localhost:1\"", "`localhost:1` is not an address"),
        ("[council]\nmembers = [\"a\"]\n[council.member.a]\nmodel = \"nosuch\"", "unknown model `nosuch`"),
        ("[council]\npolicy = \"nosuch\"", "unknown policy `nosuch`"),
        ("[[rules]]\nkind = \"overloaded\"", "`match` is missing"),
        ("[[rules]]\nmatch = { status = 418 }", "`kind` is missing"),
        ("[[rules]]\nmatch = {}\nkind = \"overloaded\"", "this rule matches everything"),
        ("[[rules]]\nmatch = { status = 99 }\nkind = \"timeout\"", "`status` is 99 but must be between 100 and 599"),
        ("[[rules]]\nmatch = { status = 418 }\nkind = \"teapot\"", "unknown kind `teapot`"),
        (
            "[[rules]]\nmatch = { pattern = \"(\" }\nkind = \"timeout\"",
            "the pattern is no regular expression: unclosed group",
        ),
        ("[projects.x]\npolicy = \"nosuch\"", "unknown policy `nosuch`"),
        (
            "[projects.x]\nspend = { usd_per_day = -1 }",
            "`usd_per_day` is -1 but must be between 0 and a million dollars",
        ),
        ("[projects.x]\nrate = { requests_per_minute = 0 }", "`requests_per_minute` is 0, which refuses everything"),
        ("[endpoints]", "there are no endpoints"),
        ("[endpoints.x]\nurl = \"https://x\"", "`dialect` is missing"),
        ("[endpoints.x]\ndialect = \"openai\"", "`url` is missing"),
        ("[endpoints.anthropic]\nurl = \"https://x?y=1\"", "`url` has a query or a fragment"),
        ("[endpoints.anthropic]\nhealth = { path = \"v1\" }", "`v1` is not a path"),
        ("[endpoints.anthropic]\nkey = {}", "`key` must name exactly one place"),
        ("[models.x]\nendpoints = []", "no endpoint serves `x`"),
        ("[models.claude-x]\nprice = { input = 3.0 }", "`output` is missing"),
        (
            "[models.claude-x]\nprice = { input = -3.0, output = 1 }",
            "`input` is -3 but must be between 0 and a million dollars",
        ),
        ("[models.claude-x]\ncontext_window = 0", "`context_window` is 0"),
        ("[projects.x]\nspend = \"5$\"", "`spend` must be a table, not text"),
        ("endpoints = 3", "`endpoints` must be a table, not a whole number"),
        ("enabled = \"yes\"", "`enabled` must be true or false, not text"),
        ("listen = 1979-05-27", "`listen` must be text, not a date"),
    ] {
        let lines = first_lines(&load_text(text).expect_err("this must be refused"));
        assert_eq!(lines.first(), Some(&format!("error: {what}")), "{text}: {lines:?}");
    }
}

#[test]
fn warnings_are_said_and_load_all_the_same() {
    for (text, what) in [
        ("[policies.spare]", "no project uses the policy `spare`"),
        ("[endpoints.anthropic]\nkey = { env = \"NOPE\" }", "the environment variable NOPE is not set"),
        ("[endpoints.anthropic]\nkey = { file = \"nope\" }", "cannot read the file `nope`: no such file"),
        ("[agents.x]\ncommand = [\"x\", \"{task}\", \"{modle}\"]", "nothing fills in `{modle}`"),
        ("[council]\nmembers = [\"nobody\"]", "the member `nobody` has no model and stays silent"),
    ] {
        let loaded = load_text(text).unwrap_or_else(|problems| panic!("{text}\n{problems}"));
        assert_eq!(first_lines(&loaded.warnings), [format!("warning: {what}")]);
    }
    let loaded = load_with(None, &[("STEADFAST_LISTN", "x"), ("STEADFAST_TOKEN", "x")], &[]).unwrap();
    let warnings = loaded.warnings.to_string();
    assert_eq!(
        warnings,
        "warning: the environment variable STEADFAST_LISTN names no key\n  = help: did you mean STEADFAST_LISTEN?\n"
    );
}

#[test]
fn clients_are_checked() {
    let of = |text: &str| format!("[clients.mine]\n{text}");
    refused(&of("like = \"codexx\""), "unknown client `codexx`");
    refused(&of("final = { http_400 = 500 }"), "`http_400` always passes untouched");
    refused(&of("final = { default = 200 }"), "a failure's status is between 400 and 599");
    refused(&of("final = { overload = 400 }"), "unknown kind `overload`");
    refused(&of("final = { default = \"stop\" }"), "`default` does not say how it is told");
    refused(&of("waits = \"30s\"\nhead_wait = \"40s\""), "the head is held back for longer than the client waits");
    refused(&of("waits = \"2h\""), "`waits` must be between 1s and 1h");
    refused(&of("heartbeat = \"pong\""), "unknown heartbeat `pong`");
    refused(&of("match = [\"user agent: x\"]"), "this tells nothing about `mine`");
    refused(&of("session = [\"x session\"]"), "this is no name of a header");
    refused("[clients.\"a/b\"]\nretry_after = false", "a client's name has letters, digits, `-`, `_` and `.`");
    refused("[clients.unknown]\nmatch = [\"user-agent\"]", "`unknown` is whoever nothing tells");
}

#[test]
fn a_wrong_client_is_pointed_at_with_the_near_one() {
    check(
        "[clients.mine]\nlike = \"opencod\"\n",
        "
error: unknown client `opencod`
 --> steadfast.toml:2:8
  |
2 | like = \"opencod\"
  |        ^^^^^^^^^
  = key: clients.mine.like
  = help: did you mean `opencode`?",
    );
}
