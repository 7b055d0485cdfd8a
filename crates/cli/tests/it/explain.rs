//! `steadfast explain`.

use crate::Folder;

const OVERLOADED: &str = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;

#[test]
fn an_error_as_an_argument() {
    let told = Folder::new().run(&["explain", "--status", "529", OVERLOADED]);
    assert_eq!((told.code, told.stderr.as_str()), (0, ""));
    assert!(told.stdout.starts_with("overloaded (ProviderError)\n  why      rule "), "{}", told.stdout);
    assert!(told.stdout.contains("\nWhat policy `default` does about `overloaded` if it keeps failing:\n"));
    assert!(told.stdout.contains("fallback to the next model"), "{}", told.stdout);
}

#[test]
fn an_error_on_standard_input_under_another_policy() {
    let folder = Folder::new();
    let told = folder.pipe(OVERLOADED, &["explain", "--policy", "council", "--face", "council"]);
    assert_eq!(told.code, 0);
    let steps: Vec<&str> = told.stdout.lines().skip(5).filter_map(|line| line.split_whitespace().nth(1)).collect();
    assert_eq!(
        steps,
        ["retry", "retry", "retry", "defer", "retry", "retry", "retry", "ask", "degrade"],
        "{}",
        told.stdout
    );
}

#[test]
fn a_stated_wait_is_told_and_kept() {
    let told = Folder::new().run(&["explain", "--status", "429", "--header", "retry-after: 7", "slow down"]);
    assert!(told.stdout.contains("  wait     the other side asks for 7s\n"), "{}", told.stdout);
    assert!(told.stdout.contains("retry in 7s "), "{}", told.stdout);
}

#[test]
fn for_programs_as_one_object() {
    let told = Folder::new().run(&["explain", "--json", "--signal", "9", "--face", "task", "--policy", "hardened"]);
    let value: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(value["kind"], "process_died");
    assert_eq!(value["category"], "NetworkTransient");
    assert_eq!(value["steps"][0]["step"], "retry");
    assert_eq!(value["steps"][0]["wait_ms"], 1000);
    let restarts = value["steps"].as_array().unwrap().iter().filter(|step| step["step"] == "restart").count();
    assert_eq!(restarts, 3);
}

const FOR_A_TOOL: &str = r#"
[policies.careful.on]
bad_output = [{ give_up = true, tool = "bash" }, { retry = 1, every = "5s", tool = "edit" }, "fallback"]
"#;

#[test]
fn a_step_for_one_tool_is_shown_where_that_tool_failed() {
    let folder = Folder::new();
    folder.write("steadfast.toml", FOR_A_TOOL);
    let explain = |tool: &[&str]| {
        let arguments = [&["explain", "--policy", "careful", "Failed to parse tool call arguments as JSON"], tool];
        let told = folder.run(&arguments.concat());
        assert_eq!((told.code, told.stderr.as_str()), (0, ""));
        let rules = told.stdout.lines().filter(|line| !line.starts_with("  why ")).map(|line| format!("{line}\n"));
        rules.collect::<String>()
    };
    assert_eq!(
        explain(&["--tool", "bash"]),
        "\
bad_output (LogicError)
  message  Failed to parse tool call arguments as JSON
  tool     a call of bash failed

What policy `careful` does about `bad_output` if it keeps failing:
        0s  give_up                        the policy gives up on this
"
    );
    let edit = explain(&["--tool", "edit"]);
    assert!(
        edit.contains("        0s  retry in 5s                    retry 1 of 1 (the step is for another tool)\n"),
        "{edit}"
    );
    let none = explain(&[]);
    assert!(none.contains("fallback to the next model") && none.contains("(the step is for another tool)"), "{none}");
    assert!(!none.contains("  tool  ") && !none.contains("retry"), "{none}");
}

#[test]
fn recorded_failures_are_told_with_the_steps_for_a_tool_and_no_other_keys() {
    let folder = Folder::new();
    folder.write("steadfast.toml", FOR_A_TOOL);
    let line = r#"{"id":"a","surface":"text","body":"Failed to parse tool call arguments as JSON"}"#;
    let steps = |tool: &[&str]| {
        let told = folder.pipe(line, &[&["explain", "--jsonl", "--policy", "careful"], tool].concat());
        assert_eq!((told.code, told.stderr.as_str()), (0, ""));
        let value: serde_json::Value = serde_json::from_str(&told.stdout).unwrap();
        let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["category", "id", "kind", "retry_after_ms", "rule", "steps"]);
        value["steps"].to_string()
    };
    assert_eq!(steps(&["--tool", "bash"]), r#"["give_up","fallback"]"#);
    assert_eq!(steps(&["--tool", "edit"]), r#"["retry","fallback"]"#);
    assert_eq!(steps(&[]), r#"["fallback"]"#);
}

#[test]
fn recorded_failures_line_by_line() {
    let lines = r#"{"id":"a","surface":"http","status":429,"headers":{"retry-after":"4"},"body":"slow down"}

{"id":"b","surface":"network","body":"curl: (6) Could not resolve host: api.example.test"}"#;
    let told = Folder::new().pipe(lines, &["explain", "--jsonl"]);
    assert_eq!((told.code, told.stderr.as_str()), (0, ""));
    let lines: Vec<serde_json::Value> = told.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    for (line, id, kind) in [(&lines[0], "a", "rate_limit"), (&lines[1], "b", "network_permanent")] {
        assert_eq!((&line["id"], &line["kind"]), (&id.into(), &kind.into()));
        for key in ["category", "retry_after_ms", "rule", "steps"] {
            assert!(line.get(key).is_some(), "{key} is missing: {line}");
        }
    }
    assert_eq!(lines[0]["retry_after_ms"], 4000);
    assert_eq!(lines[0]["steps"][0], "retry");
}

#[test]
fn a_line_that_is_no_record_is_told_and_the_others_go_on() {
    let told = Folder::new().pipe("boom\n{\"id\":\"b\",\"body\":\"x\"}\n", &["explain", "--jsonl"]);
    assert_eq!(told.code, 1);
    assert!(told.stderr.starts_with("error: line 1 of standard input is not a recorded failure"), "{}", told.stderr);
    assert_eq!(told.stdout.lines().count(), 1);
}

#[test]
fn the_users_own_rules_come_first() {
    let folder = Folder::new();
    folder.write(
        "steadfast.toml",
        "[[rules]]\nname = \"teapot\"\nmatch = { status = 418, body = \"teapot\" }\nkind = \"overloaded\"\n",
    );
    let told = folder.run(&["explain", "--status", "418", "I'm a teapot"]);
    assert!(told.stdout.starts_with("overloaded (ProviderError)\n  why      rule user.teapot"), "{}", told.stdout);
}

#[test]
fn a_status_is_explained_though_standard_input_stays_open_and_silent() {
    let folder = Folder::new();
    let alone = folder.run(&["explain", "--status", "429"]);
    let told = folder.run_beside_an_open_pipe(&["explain", "--status", "429"]);
    let note = "nothing came on standard input for 10s: explained without it; '-' waits until it ends\n";
    told.assert(0, &alone.stdout, note);
    assert!(alone.stdout.starts_with("rate_limit ") && alone.stderr.is_empty(), "{alone:?}");
    let with_a_text = folder.run_beside_an_open_pipe(&["explain", "--status", "429", "slow down"]);
    assert_eq!((with_a_text.code, with_a_text.stderr.as_str()), (0, ""), "nobody asked standard input");
}

#[test]
fn what_a_command_prints_is_read_beside_its_status() {
    let folder = Folder::new();
    for arguments in
        [&["explain", "--status", "500"] as &[&str], &["explain", "--status", "500", "-"], &["explain", "-"]]
    {
        let told = folder.pipe(OVERLOADED, arguments);
        assert_eq!((told.code, told.stderr.as_str()), (0, ""), "{arguments:?}");
        assert!(told.stdout.starts_with("overloaded "), "{arguments:?}: {}", told.stdout);
    }
}

#[test]
fn nothing_to_explain_is_an_error_that_helps() {
    for arguments in [&["explain"] as &[&str], &["explain", ""], &["explain", " ", "\n"]] {
        let told = Folder::new().run(arguments);
        assert_eq!((told.code, told.stdout.as_str()), (1, ""));
        assert_eq!(
            told.stderr,
            "error: nothing to explain: give the error as an argument, pipe it in, or say --status 429\n"
        );
    }
}

#[test]
fn an_unknown_policy_names_those_there_are() {
    let told = Folder::new().run(&["explain", "--policy", "hardend", "x"]);
    assert_eq!(told.code, 1);
    assert_eq!(
        told.stderr,
        "error: there is no policy `hardend`; there are council, default, escalating, hardened, patterns, session-manager\n"
    );
}
