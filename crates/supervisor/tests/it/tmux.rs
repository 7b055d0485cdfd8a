//! Real tmux panes.

use std::process::Command;

use steadfast_core::FailureKind;
use steadfast_supervisor::process::{Stop, TMUX_SERVER};
use steadfast_supervisor::{Task, TaskOutcome, TaskResult, pane_name};
use tokio::sync::watch;

use super::{Folder, Story, eventually, run, run_until};

const ONCE: &str = r#"
[policies.once]
extends = "default"
attempts_max = 1
[policies.once.on]
process_died = ["give_up"]
stream_interrupted = ["give_up"]
[projects.default]
policy = "once"
"#;

fn task(script: &str) -> Task {
    let command = ["sh", "-c", script].map(str::to_owned).to_vec();
    Task { command, tmux: true, ..Task::default() }.named()
}

fn tmux(arguments: &[&str]) -> bool {
    let output = Command::new("tmux").args(["-L", TMUX_SERVER]).args(arguments).output().unwrap();
    output.status.success()
}

fn has_session(task: &Task) -> bool {
    tmux(&["has-session", "-t", &format!("={}", pane_name(&task.id))])
}

#[tokio::test]
async fn a_pane_tells_its_output_and_its_exit_code_and_is_gone_afterwards() {
    let (folder, story) = (Folder::new(), Story::default());
    let fleet = folder.fleet(ONCE);
    let good = Task { task: "it's \"quoted\"".to_owned(), ..task("[ -t 1 ] && echo on a terminal: $STEADFAST_TASK") };
    let result = run(&fleet, good.clone(), &story).await;
    assert!(result.success, "{result:?}");
    assert_eq!(result.result.trim(), "on a terminal: it's \"quoted\"");
    assert!(!has_session(&good));
    let result = run(&fleet, task("echo 429 Too Many Requests; exit 3"), &story).await;
    assert_eq!((result.success, result.error_type), (false, Some(FailureKind::RateLimit)));
}

#[tokio::test]
async fn a_pane_that_is_taken_away_is_a_death() {
    let (folder, story) = (Folder::new(), Story::default());
    let fleet = folder.fleet(ONCE);
    let task = task("echo begun; sleep 300");
    let taking = async {
        eventually("the pane is there", || has_session(&task)).await;
        tokio::time::sleep(std::time::Duration::from_millis(600)).await;
        assert!(tmux(&["kill-session", "-t", &format!("={}", pane_name(&task.id))]));
    };
    let (result, ()) = tokio::join!(run(&fleet, task.clone(), &story), taking);
    assert_eq!(result.error_type, Some(FailureKind::ProcessDied), "{result:?}");
}

#[tokio::test]
async fn a_pane_can_be_stopped_with_everything_in_it() {
    let (folder, story) = (Folder::new(), Story::default());
    let fleet = folder.fleet(ONCE);
    let pid = folder.0.join("pid");
    let task = task(&format!("sleep 300 & echo $! > {}; wait", pid.display()));
    let (stop, stopped) = watch::channel(Stop::No);
    let stopping = async {
        eventually("it runs", || !folder.read("pid").is_empty()).await;
        stop.send_replace(Stop::Politely);
    };
    let (result, ()) = tokio::join!(run_until(&fleet, task.clone(), &story, stopped), stopping);
    assert_eq!(result.outcome, TaskOutcome::Cancelled);
    let pid = folder.read("pid").trim().to_owned();
    eventually("the child is gone", || !std::path::Path::new(&format!("/proc/{pid}")).exists()).await;
    assert!(!has_session(&task));
}

#[tokio::test]
async fn a_pane_that_a_killed_supervisor_left_is_no_obstacle_and_much_output_is_not_kept() {
    let (folder, story) = (Folder::new(), Story::default());
    // It waits until what it wrote has been read; were that kept, it would wait until it is ended.
    let task = task(
        "cd $(dirname $STEADFAST_TASK_FILE); head -c 4000000 /dev/zero | tr '\\0' x; echo written; \
         while [ $(ls | grep -c pane.out) -gt 1 ]; do sleep 0.05; done; echo end",
    );
    assert!(tmux(&["new-session", "-d", "-s", &pane_name(&task.id), "sleep", "300"]));
    let task = Task { silence: Some(60.0), ..task };
    let result = run(&folder.fleet(ONCE), task, &story).await;
    assert!(result.success && result.result.trim().ends_with("end"), "{result:?}");
}

#[tokio::test]
async fn an_agent_that_goes_round_in_circles_is_ended_in_a_pane_too() {
    let (folder, story) = (Folder::new(), Story::default());
    let step = r#"{"type":"step_finish","sessionID":"s","part":{"reason":"unknown"}}"#;
    let agent = folder.script("agent", &format!("while true; do echo '{step}'; sleep 0.1; done"));
    let config = format!("{ONCE}[agents.opencode]\ncommand = [\"{agent}\", \"{{task}}\"]\n");
    let task = Task { agent: "opencode".to_owned(), command: Vec::new(), task: "x".to_owned(), ..task("") };
    let result = run(&folder.fleet(&config), task, &story).await;
    assert!(!result.success && result.error.as_ref().unwrap().contains("stream disconnected"), "{result:?}");
}

#[tokio::test]
async fn a_task_that_is_too_long_for_a_command_line_is_refused_in_a_pane_as_everywhere() {
    let (folder, story) = (Folder::new(), Story::default());
    let fleet = folder.fleet(ONCE);
    let told = |tmux| Task { task: "x".repeat(200_000), tmux, command: told_on_a_command_line(), ..task("") };
    let (inside, outside) = (run(&fleet, told(true), &story).await, run(&fleet, told(false), &story).await);
    assert_eq!(inside.error_type, Some(FailureKind::InvalidRequest), "{inside:?}");
    assert_eq!(inside.error, outside.error);
    assert!(inside.error.unwrap().contains("`{task_file}` in the command hands the task over as a file"));
    // As a file it is not.
    let command = ["sh", "-c", "wc -c < $0", "{task_file}"].map(str::to_owned).to_vec();
    let result = run(&fleet, Task { command, ..told(true) }, &story).await;
    assert_eq!((result.success, result.result.trim()), (true, "200000"), "{result:?}");
}

fn told_on_a_command_line() -> Vec<String> {
    ["echo", "{task}"].map(str::to_owned).to_vec()
}

#[tokio::test]
async fn panes_that_come_and_go_together_lose_nothing() {
    // The server goes with its last pane, while others ask it for theirs.
    let (folder, story) = (Folder::new(), Story::default());
    let fleet = folder.fleet(ONCE);
    for round in 0..3 {
        let tasks: Vec<Task> = (0..4).map(|number| task(&format!("echo round {round} task {number}"))).collect();
        let results = futures(&fleet, &tasks, &story).await;
        for (number, result) in results.iter().enumerate() {
            assert!(result.success, "{result:?}");
            assert_eq!(result.result.trim(), format!("round {round} task {number}"));
        }
    }
}

async fn futures(fleet: &steadfast_supervisor::Fleet, tasks: &[Task], story: &Story) -> Vec<TaskResult> {
    let run = |index: usize| run(fleet, tasks[index].clone(), story);
    let (a, b, c, d) = tokio::join!(run(0), run(1), run(2), run(3));
    vec![a, b, c, d]
}
