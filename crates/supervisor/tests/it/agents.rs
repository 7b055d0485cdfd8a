//! Scripts that write what the real agents write.

use steadfast_core::FailureKind;
use steadfast_supervisor::{Task, TaskOutcome};

use super::{Folder, Story, run};

/// Claude Code by another program, with waits that a test can wait for.
fn config(program: &str) -> String {
    format!(
        r#"
[agents.claude]
command = ["{program}", "-p", "{{task}}", "--model", "{{model}}", "--session-id", "{{session}}"]
resume = ["{program}", "-p", "{{task}}", "--model", "{{model}}", "--resume", "{{session}}"]
[policies.quick]
extends = "default"
[policies.quick.on]
overloaded = [{{ retry = 1, every = "10ms" }}, "fallback"]
process_died = [{{ retry = 1, every = "10ms" }}, "fallback"]
state_lost = [{{ repair = 2 }}, "give_up"]
[projects.default]
policy = "quick"
"#
    )
}

fn task(chain: &[&str]) -> Task {
    Task {
        agent: "claude".to_owned(),
        task: "fix it".to_owned(),
        model: Some("sonnet".to_owned()),
        chain: Some(chain.iter().map(|name| (*name).to_owned()).collect()),
        ..Task::default()
    }
}

/// The beginning of a script: what it was told is kept, and its session is said.
fn told(folder: &Folder) -> String {
    format!(
        r#"echo "$@" >> {}/told
           for last; do :; done; id=$last
           echo '{{"type":"system","subtype":"init","session_id":"'$id'","model":"'$4'"}}'"#,
        folder.0.display()
    )
}

const DONE: &str = r#"echo '{"type":"result","subtype":"success","is_error":false,"result":"fixed","session_id":"'$id'","total_cost_usd":0.02,"usage":{"input_tokens":10,"output_tokens":5}}'"#;
const OVERLOADED: &str = r#"echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"result":"API Error: 529 Overloaded.","session_id":"'$id'","total_cost_usd":0.01}'"#;

#[tokio::test]
async fn an_agent_that_says_success_and_means_failure_goes_on_in_its_conversation() {
    let (folder, story) = (Folder::new(), Story::default());
    let body = format!("{}\nif [ $4 = haiku ]; then {DONE}; else {OVERLOADED}; fi; exit 0", told(&folder));
    let agent = folder.script("agent", &body);
    let result = run(&folder.fleet(&config(&agent)), task(&["haiku"]), &story).await;
    assert!(result.success, "{result:?}");
    assert_eq!(story.decisions(), ["overloaded retry", "overloaded fallback"]);
    assert_eq!((result.result.as_str(), result.model_used.as_str()), ("fixed", "haiku"));
    assert_eq!(result.cost_usd, Some(0.04), "what failed was paid for too");
    let session = result.session_id.unwrap();
    let told = folder.read("told");
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines[0], format!("-p fix it --model sonnet --session-id {session}"));
    assert!(lines[1].contains("Continue the task") && lines[1].ends_with(&format!("--resume {session}")), "{told}");
    assert!(lines[2].contains("--model haiku --resume"), "another model goes on with the same conversation: {told}");
}

#[tokio::test]
async fn an_agent_that_dies_without_its_last_word_has_failed_though_it_exits_with_0() {
    let (folder, story) = (Folder::new(), Story::default());
    let agent = folder.script("agent", &format!("{}\n[ $5 = --resume ] && {DONE}; exit 0", told(&folder)));
    let result = run(&folder.fleet(&config(&agent)), task(&[]), &story).await;
    assert_eq!(story.decisions(), ["process_died retry"]);
    assert!(result.success);
}

#[tokio::test]
async fn a_step_for_a_tool_is_taken_where_that_tool_was_the_end_of_it() {
    let call = r#"echo '{"type":"assistant","message":{"model":"m","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]}}'"#;
    let failed = r#"echo '{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"killed"}]}}'"#;
    let fine = r#"echo '{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}}'"#;
    let narrowed =
        config("PROGRAM").replace("process_died = [", r#"process_died = [{ give_up = true, tool = "Bash" }, "#);
    for (answer, expected) in [
        (failed, &["process_died give_up"][..]),
        ("", &["process_died give_up"]),
        (fine, &["process_died retry", "process_died fallback"]),
        // The agent itself says what went wrong, and it is not the tool.
        (format!("{failed}; {OVERLOADED}").as_str(), &["overloaded retry", "overloaded fallback"]),
    ] {
        let (folder, story) = (Folder::new(), Story::default());
        let body = format!("{}\n[ $4 = haiku ] && {{ {DONE}; exit 0; }}\n{call}\n{answer}\nexit 1", told(&folder));
        let agent = folder.script("agent", &body);
        let result = run(&folder.fleet(&narrowed.replace("PROGRAM", &agent)), task(&["haiku"]), &story).await;
        assert_eq!(story.decisions(), expected, "{answer}: {result:?}");
    }
}

#[tokio::test]
async fn a_conversation_that_is_lost_is_begun_anew() {
    let (folder, story) = (Folder::new(), Story::default());
    let lost = r#"[ $5 = --resume ] && { echo "No conversation found with session ID: $6" >&2; exit 1; }"#;
    let first = format!("[ $(wc -l < {0}/told) = 1 ] && {{ {OVERLOADED}; exit 1; }}", folder.0.display());
    let body = format!("echo \"$@\" >> {}/told\n{lost}\n{}\n{first}\n{DONE}", folder.0.display(), {
        r#"id=$6; echo '{"type":"system","subtype":"init","session_id":"'$id'"}'"#
    });
    let agent = folder.script("agent", &body);
    let result = run(&folder.fleet(&config(&agent)), task(&[]), &story).await;
    assert_eq!(story.decisions(), ["overloaded retry", "state_lost repair"]);
    assert!(result.success, "{result:?}");
    let told = folder.read("told");
    let sessions: Vec<&str> = told.lines().map(|line| line.rsplit(' ').next().unwrap()).collect();
    assert!(sessions[0] == sessions[1] && sessions[2] != sessions[0], "{told}");
}

#[tokio::test]
async fn money_that_is_spent_ends_it() {
    let (folder, story) = (Folder::new(), Story::default());
    let agent = folder.script("agent", &format!("{}\n{OVERLOADED}\nexit 1", told(&folder)));
    let task = Task { budget_usd: Some(0.005), ..task(&["haiku"]) };
    let result = run(&folder.fleet(&config(&agent)), task, &story).await;
    assert_eq!((result.outcome, result.attempts), (TaskOutcome::BudgetSpent, 1));
    assert_eq!(result.outcome.exit_code(), 3);
}

#[tokio::test]
async fn an_agent_that_was_asked_for_events_and_says_nothing_has_failed() {
    let (folder, story) = (Folder::new(), Story::default());
    let agent = folder.script("agent", "exit 0");
    let result = run(&folder.fleet(&config(&agent)), task(&[]), &story).await;
    assert_eq!((result.success, result.error_type), (false, Some(FailureKind::BadOutput)));
}

#[tokio::test]
async fn an_agent_that_was_asked_for_events_and_only_talks_is_not_done() {
    let (folder, story) = (Folder::new(), Story::default());
    let agent = folder.script("agent", "echo Please log in first.; exit 0");
    let result = run(&folder.fleet(&config(&agent)), task(&[]), &story).await;
    assert_eq!((result.success, result.error_type), (false, Some(FailureKind::ProcessDied)), "{result:?}");
    assert!(result.error.unwrap().contains("without saying that it was done"));
}
