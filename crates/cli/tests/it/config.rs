//! `steadfast config`.

use super::Folder;

const OK: &str = "ok: 3 endpoints, 0 models, 1 project, 0 rules\n";

#[test]
fn check_without_a_file_finds_a_working_set_up() {
    Folder::new().run(&["config", "check"]).assert(0, OK, "");
}

#[test]
fn check_says_everything_that_is_wrong_on_stderr() {
    let folder = Folder::new();
    folder
        .write("steadfast.toml", "[policies.default.on]\nrate_limits = [\"fallback\"]\ntimeout = [{ retry = 1000 }]\n");
    let stderr = "\
error: unknown kind `rate_limits`
 --> steadfast.toml:2:1
  |
2 | rate_limits = [\"fallback\"]
  | ^^^^^^^^^^^
  = key: policies.default.on.rate_limits
  = help: did you mean `rate_limit`?

error: `retry` is 1000 but must be between 1 and 20
 --> steadfast.toml:3:22
  |
3 | timeout = [{ retry = 1000 }]
  |                      ^^^^
  = key: policies.default.on.timeout[0].retry
  = help: 3 is a good number

2 errors
";
    folder.run(&["config", "check"]).assert(1, "", stderr);
    folder.run(&["config", "show"]).assert(1, "", stderr);
}

#[test]
fn the_file_can_be_named_in_three_ways() {
    let folder = Folder::new();
    folder.write("other.toml", "nonsense = 1\n");
    let named = folder.run(&["config", "check", "other.toml"]);
    assert_eq!(named.code, 1);
    assert_eq!(folder.run(&["config", "check", "--config", "other.toml"]), named);
    assert_eq!(folder.run(&["--config", "other.toml", "config", "check"]), named);
    assert_eq!(folder.run_with(&["config", "check"], &[("STEADFAST_CONFIG", "other.toml")]), named);
    folder.run(&["config", "check", "nosuch.toml"]).assert(
        1,
        "",
        "\
error: cannot read the file: No such file or directory (os error 2)
 --> nosuch.toml
  = help: `steadfast config init` writes one to start from

1 error
",
    );
}

#[test]
fn the_users_config_folder_comes_second() {
    let folder = Folder::new();
    folder.write("home/.config/steadfast/steadfast.toml", "listen = \"127.0.0.1:1\"\n");
    let home = folder.0.join("home");
    let environment = [("HOME", home.to_str().unwrap())];
    let listen =
        |folder: &Folder| folder.run_with(&["config", "show"], &environment).stdout.lines().next().unwrap().to_owned();
    assert!(listen(&folder).starts_with("listen = \"127.0.0.1:1\""));
    folder.write("steadfast.toml", "listen = \"127.0.0.1:2\"\n");
    assert_eq!(listen(&folder), "listen = \"127.0.0.1:2\"  # steadfast.toml:1");
}

#[test]
fn flags_win_over_variables_and_variables_over_the_file() {
    let folder = Folder::new();
    folder.write("steadfast.toml", "listen = \"127.0.0.1:1\"\n");
    let environment = [("STEADFAST_LISTEN", "127.0.0.1:2")];
    let first = |arguments: &[&str]| folder.run_with(arguments, &environment).stdout.lines().next().unwrap().to_owned();
    assert_eq!(first(&["config", "show"]), "listen = \"127.0.0.1:2\"  # STEADFAST_LISTEN");
    assert_eq!(
        first(&["config", "show", "--set", "listen=127.0.0.1:3"]),
        "listen = \"127.0.0.1:3\"  # --set listen=127.0.0.1:3"
    );
    assert_eq!(
        first(&["config", "show", "--listen", "127.0.0.1:4", "--set", "listen=127.0.0.1:3"]),
        "listen = \"127.0.0.1:4\"  # --listen 127.0.0.1:4"
    );
}

#[test]
fn init_writes_a_file_that_passes_and_replaces_none() {
    let folder = Folder::new();
    let wrote = "wrote steadfast.toml; `steadfast config check` tells what it means\n";
    folder.run(&["config", "init"]).assert(0, "", wrote);
    folder.run(&["config", "check"]).assert(0, "ok: 3 endpoints, 3 models, 1 project, 0 rules\n", "");
    let refused = "error: steadfast.toml is already there; --force replaces it\n";
    folder.run(&["config", "init"]).assert(1, "", refused);
    folder.run(&["config", "init", "--force"]).assert(0, "", wrote);
}

#[test]
fn show_prints_no_secret_in_any_form() {
    let folder = Folder::new();
    folder.write("key.txt", "filesecret\n");
    folder.write(
        "steadfast.toml",
        "[endpoints.anthropic]\nkey = { file = \"key.txt\" }\n[endpoints.openai]\nkey = { env = \"K\" }\n",
    );
    for arguments in [&["config", "show"][..], &["config", "show", "--json"], &["config", "check"]] {
        let transcript = folder.run_with(arguments, &[("K", "envsecret")]);
        assert_eq!(transcript.code, 0, "{transcript:?}");
        assert!(!format!("{transcript:?}").contains("secret"), "{transcript:?}");
    }
    let json = folder.run_with(&["config", "show", "--json"], &[("K", "envsecret")]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["config"]["endpoints"]["openai"]["key"], "***");
}

#[test]
fn a_shown_policy_can_be_pasted_back() {
    let folder = Folder::new();
    let shown = folder.run(&["config", "show", "--policy", "hardened"]);
    assert_eq!(shown.code, 0);
    folder.write("steadfast.toml", &format!("[projects.default]\npolicy = \"hardened\"\n{}", shown.stdout));
    assert_eq!(folder.run(&["config", "show", "--policy", "hardened"]), shown);
    let unknown = folder.run(&["config", "show", "--policy", "hardend"]);
    assert_eq!(unknown.code, 1);
    assert!(unknown.stderr.starts_with("error: there is no policy `hardend`"), "{}", unknown.stderr);
}

#[test]
fn the_schema_is_json() {
    let schema = Folder::new().run(&["config", "schema"]);
    let schema: serde_json::Value = serde_json::from_str(&schema.stdout).unwrap();
    assert_eq!(schema["title"], "steadfast.toml");
}

#[test]
fn a_command_line_that_makes_no_sense_exits_2() {
    let folder = Folder::new();
    for arguments in [&["confg"][..], &["config", "chek"], &["config", "check", "--set", "nonsense"], &[]] {
        let transcript = folder.run(arguments);
        assert_eq!((transcript.code, transcript.stdout.as_str()), (2, ""), "{transcript:?}");
    }
    assert!(folder.run(&["config", "chek"]).stderr.contains("'check'"));
}
