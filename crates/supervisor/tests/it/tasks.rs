//! Tasks and what becomes of them.

use std::sync::Arc;

use steadfast_core::FailureKind;
use steadfast_supervisor::process::Stop;
use steadfast_supervisor::{Batch, Task, TaskOutcome, run_all};
use tokio::sync::watch;

use super::{Folder, Story, eventually, run, run_until};

/// Policies as shipped, with waits that a test can wait for.
const QUICK: &str = r#"
[policies.quick]
extends = "session-manager"
[policies.quick.on]
rate_limit = [{ retry = 3, every = "10ms" }, "fallback"]
timeout = [{ retry = 1, every = "10ms" }, "fallback"]
process_died = [{ retry = 1, every = "10ms" }, "fallback", { restart = 3, base = "20ms", multiplier = 2.0, cap = "80ms" }]
network_transient = [{ retry = 1, every = "10ms" }, { restart = 3, base = "20ms", multiplier = 2.0, cap = "80ms" }]
default = [{ retry = 2, every = "10ms" }, "fallback"]
[projects.default]
policy = "quick"
"#;

fn command(parts: &[&str]) -> Task {
    Task { command: parts.iter().map(|part| (*part).to_owned()).collect(), ..Task::default() }
}

fn texts(parts: &[&str]) -> Option<Vec<String>> {
    Some(parts.iter().map(|part| (*part).to_owned()).collect())
}

#[tokio::test]
async fn a_command_that_works_is_run_once() {
    let (folder, story) = (Folder::new(), Story::default());
    let result = run(&folder.fleet(QUICK), command(&["echo", "hi"]), &story).await;
    assert!(result.success);
    assert_eq!((result.attempts, result.result.as_str(), result.outcome), (1, "hi\n", TaskOutcome::Succeeded));
    assert!(story.decisions().is_empty());
}

#[tokio::test]
async fn a_rate_limit_is_retried_three_times_and_then_the_next_model_does_it() {
    let (folder, story) = (Folder::new(), Story::default());
    let agent = folder.script(
        "agent",
        r#"[ "$1" = second ] && { echo "done by $1"; exit 0; }
           echo "Error: 429 Too Many Requests" >&2; exit 1"#,
    );
    let task = Task {
        model: Some("first".to_owned()),
        chain: texts(&["second", "third"]),
        label: "w1".to_owned(),
        ..command(&[&agent, "{model}"])
    };
    let result = run(&folder.fleet(QUICK), task, &story).await;
    assert_eq!(story.decisions(), ["rate_limit retry", "rate_limit retry", "rate_limit retry", "rate_limit fallback"]);
    assert!(result.success);
    assert_eq!((result.model_used.as_str(), result.original_model.as_str(), result.attempts), ("second", "first", 5));
    assert_eq!(result.fallback_chain, ["first", "second"]);
}

#[tokio::test]
async fn what_cannot_be_started_is_not_tried_again() {
    let (folder, story) = (Folder::new(), Story::default());
    let result = run(&folder.fleet(QUICK), command(&["/no/such/agent"]), &story).await;
    assert_eq!((result.attempts, result.outcome), (1, TaskOutcome::GaveUp));
    assert!(result.error.unwrap().contains("cannot run `/no/such/agent`"));
}

#[tokio::test]
async fn a_process_that_is_killed_is_run_anew_and_told_so() {
    let (folder, story) = (Folder::new(), Story::default());
    let agent = folder.script(
        "agent",
        &format!(
            r#"cd {}; echo "$STEADFAST_ATTEMPT $STEADFAST_FAILURE" >> runs
               [ "$STEADFAST_ATTEMPT" -lt 4 ] && kill -KILL $$
               cat "$STEADFAST_TASK_FILE""#,
            folder.0.display()
        ),
    );
    let task = Task { task: "count to ten".to_owned(), ..command(&[&agent]) };
    let result = run(&folder.fleet(QUICK), task, &story).await;
    assert!(result.success, "{result:?}");
    assert_eq!(folder.read("runs"), "1 \n2 process_died\n3 process_died\n4 process_died\n");
    assert_eq!(
        story.decisions(),
        ["process_died retry", "process_died restart", "process_died retry"],
        "a retry in each run, and a new run in between"
    );
    assert_eq!(result.restarts, 1);
    assert!(result.result.contains("Previous attempt failed") && result.result.contains("count to ten"), "{result:?}");
}

#[tokio::test]
async fn work_that_fails_is_not_restarted() {
    let (folder, story) = (Folder::new(), Story::default());
    let result = run(&folder.fleet(QUICK), command(&["sh", "-c", "echo 2 tests failed; exit 1"]), &story).await;
    assert_eq!(story.decisions(), ["unknown retry", "unknown retry", "unknown give_up"]);
    assert_eq!((result.outcome, result.error_type), (TaskOutcome::GaveUp, Some(FailureKind::Unknown)));
}

#[tokio::test]
async fn a_restart_that_never_helps_ends() {
    let (folder, story) = (Folder::new(), Story::default());
    let script = "echo connect ECONNREFUSED 10.0.0.1:443 >&2; exit 1";
    let result = run(&folder.fleet(QUICK), command(&["sh", "-c", script]), &story).await;
    assert_eq!(story.decisions().iter().filter(|told| told.ends_with("restart")).count(), 3);
    assert_eq!((result.restarts, result.outcome), (3, TaskOutcome::NotNow));
}

#[tokio::test]
async fn not_now_is_what_75_means() {
    let (folder, story) = (Folder::new(), Story::default());
    let result = run(&folder.fleet(QUICK), command(&["sh", "-c", "exit 75"]), &story).await;
    assert_eq!((result.error_type, result.outcome), (Some(FailureKind::RateLimit), TaskOutcome::NotNow));
    assert_eq!(result.outcome.exit_code(), 75);
}

#[tokio::test]
async fn a_silent_agent_is_ended_and_the_next_model_goes_on() {
    let (folder, story) = (Folder::new(), Story::default());
    let task = Task {
        model: Some("sleepy".to_owned()),
        chain: texts(&["quick"]),
        silence: Some(0.3),
        ..command(&["sh", "-c", "[ $STEADFAST_MODEL = quick ] || sleep 60; echo done"])
    };
    let result = run(&folder.fleet(QUICK), task, &story).await;
    assert_eq!(story.decisions(), ["timeout retry", "timeout fallback"]);
    assert_eq!((result.success, result.model_used.as_str()), (true, "quick"));
}

#[tokio::test]
async fn somebody_who_stops_it_has_the_last_word() {
    let (folder, story) = (Folder::new(), Story::default());
    let (stop, stopped) = watch::channel(Stop::No);
    let fleet = folder.fleet(QUICK);
    let begun = folder.0.join("begun");
    let script = format!("touch {}; sleep 60", begun.display());
    let stopping = async {
        eventually("it runs", || begun.exists()).await;
        stop.send_replace(Stop::Politely);
    };
    let (result, ()) = tokio::join!(run_until(&fleet, command(&["sh", "-c", &script]), &story, stopped), stopping);
    assert_eq!((result.outcome, result.attempts), (TaskOutcome::Cancelled, 1));
    assert!(story.decisions().is_empty());
}

#[tokio::test]
async fn a_wait_between_attempts_can_be_stopped_too() {
    let (folder, story) = (Folder::new(), Story::default());
    let (stop, stopped) = watch::channel(Stop::No);
    let fleet = folder.fleet("[projects.default]\npolicy = \"session-manager\"\n");
    let task = command(&["sh", "-c", "echo 429 Too Many Requests >&2; exit 1"]);
    let stopping = async {
        eventually("it waits", || !story.decisions().is_empty()).await;
        stop.send_replace(Stop::Politely);
    };
    let (result, ()) = tokio::join!(run_until(&fleet, task, &story, stopped), stopping);
    assert_eq!((result.outcome, result.attempts), (TaskOutcome::Cancelled, 1));
}

#[tokio::test]
async fn only_those_that_fail_change_their_model() {
    let folder = Folder::new();
    let agent = folder.script(
        "agent",
        r#"[ "$1 $2" = "gpt bad" ] && { echo "Error: model not found: gpt" >&2; exit 1; }; echo "$1""#,
    );
    let fleet = folder.fleet(QUICK);
    let task = |label: &str| {
        let task = Task {
            label: label.to_owned(),
            model: Some("gpt".to_owned()),
            chain: texts(&["sonnet", "haiku"]),
            ..command(&[&agent, "{model}", "{label}"])
        };
        task.named()
    };
    let (_keep, stop) = watch::channel(Stop::No);
    let batch = Batch { fleet, observer: Arc::new(Story::default()), parallel: 2, partial: true, stop };
    let result = run_all(batch.clone(), vec![task("good"), task("bad"), task("fine")]).await.unwrap();
    assert!(result.success && result.failed.is_empty());
    assert_eq!(result.fallback_applied, 1);
    let used: Vec<&str> = result.workers.iter().map(|worker| worker.model_used.as_str()).collect();
    assert_eq!(used, ["gpt", "sonnet", "gpt"], "in the order of the tasks");

    let together = Batch { partial: false, parallel: 1, ..batch };
    let result = run_all(together, vec![task("good"), task("bad"), task("fine")]).await.unwrap();
    let used: Vec<&str> = result.workers.iter().map(|worker| worker.model_used.as_str()).collect();
    assert_eq!(used, ["gpt", "sonnet", "sonnet"], "those that come after it begin where it had to go");
}

#[tokio::test]
async fn a_batch_with_an_impossible_task_does_not_begin() {
    let folder = Folder::new();
    let marker = folder.0.join("ran");
    let fleet = folder.fleet(QUICK);
    let good = Task { label: "good".to_owned(), ..command(&["touch", &marker.display().to_string()]) };
    let bad = Task { label: "bad".to_owned(), agent: "nosuch".to_owned(), ..Task::default() };
    let (_keep, stop) = watch::channel(Stop::No);
    let batch = Batch { fleet, observer: Arc::new(Story::default()), parallel: 2, partial: true, stop };
    let error = run_all(batch, vec![good, bad]).await.unwrap_err();
    assert!(error.to_string().starts_with("the task `bad`: there is no agent `nosuch`; there are claude, codex"));
    assert!(!marker.exists());
}

#[tokio::test]
async fn what_has_not_begun_when_it_is_stopped_does_not_begin() {
    let folder = Folder::new();
    let (_keep, stop) = watch::channel(Stop::Politely);
    let (fleet, observer) = (folder.fleet(QUICK), Arc::new(Story::default()));
    let batch = Batch { fleet, observer, parallel: 2, partial: true, stop };
    let begun = folder.0.join("begun").display().to_string();
    let result = run_all(batch, vec![command(&["touch", &begun]).named(); 5]).await.unwrap();
    assert!(!folder.0.join("begun").exists());
    assert!(result.workers.iter().all(|worker| worker.outcome == TaskOutcome::Cancelled && worker.attempts == 0));
}

#[tokio::test]
async fn a_task_too_long_for_a_command_line_is_refused_once_with_what_would_help() {
    let (folder, story) = (Folder::new(), Story::default());
    let task = Task { task: "x".repeat(200 * 1024), ..command(&["echo", "{task}"]) };
    let result = run(&folder.fleet(QUICK), task, &story).await;
    assert_eq!((result.attempts, result.outcome), (1, TaskOutcome::GaveUp));
    assert!(result.error.unwrap().contains("{task_file}"));
}

#[test]
fn what_a_killed_supervisor_left_is_removed_and_what_runs_stays() {
    let folder = Folder::new();
    let fleet = folder.fleet(QUICK);
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    let left = |name: &str| {
        let path = fleet.folder.join(name);
        std::fs::create_dir_all(&path).unwrap();
        let file = std::fs::File::create(path.join("task.txt")).unwrap();
        std::fs::File::open(&path).unwrap().set_modified(old).unwrap();
        file
    };
    drop(left("killed"));
    let runs = left("runs");
    runs.lock().unwrap();
    std::fs::create_dir_all(fleet.folder.join("begins")).unwrap();
    fleet.tidy();
    let is_there = ["killed", "runs", "begins"].map(|name| fleet.folder.join(name).exists());
    assert_eq!(is_there, [false, true, true]);
}
