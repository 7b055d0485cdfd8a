//! Processes and their ends.

use std::ops::ControlFlow;
use std::time::Duration;

use steadfast_core::evidence::Exit;
use steadfast_supervisor::process::output::{Stream, Taker};
use steadfast_supervisor::process::{self, Ended, EndedBy, Launch, Limits, Stop, end_marked_with_prefix};
use tokio::sync::watch;
use tokio::time::Instant;

use super::eventually;

/// Keeps everything.
#[derive(Default)]
struct Kept {
    out: String,
    err: String,
}

impl Taker for Kept {
    fn take(&mut self, stream: Stream, piece: &[u8]) -> ControlFlow<()> {
        let text = String::from_utf8_lossy(piece);
        match stream {
            Stream::Out => self.out.push_str(&text),
            Stream::Err => self.err.push_str(&text),
        }
        ControlFlow::Continue(())
    }
}

fn shell(script: &str, mark: &str) -> Launch {
    Launch {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), script.into()],
        environment: vec![("GREETING".to_owned(), "hello".to_owned())],
        folder: None,
        mark: format!("{mark}-{}", std::process::id()),
        thorough: true,
        pane: None,
    }
}

fn limits() -> Limits {
    Limits {
        deadline: Instant::now() + Duration::from_secs(60),
        silence: Duration::from_secs(60),
        grace: Duration::from_millis(300),
    }
}

async fn run(launch: &Launch, limits: Limits) -> (Ended, Kept) {
    let (_keep, mut stop) = watch::channel(Stop::No);
    let mut kept = Kept::default();
    let ended = process::run(launch, limits, &mut kept, None, &mut stop).await.unwrap();
    (ended, kept)
}

pub(super) fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    // A zombie is dead, only nobody has looked yet.
    !stat.is_empty() && !stat.contains(") Z ")
}

#[tokio::test]
async fn output_and_exit_come_through() {
    let (ended, kept) = run(&shell("echo $GREETING; echo oops >&2; exit 3", "plain"), limits()).await;
    assert_eq!(ended, Ended { exit: Exit::Code(3), by: EndedBy::Itself, left_others: false });
    assert_eq!((kept.out.as_str(), kept.err.as_str()), ("hello\n", "oops\n"));
}

#[tokio::test]
async fn more_output_than_a_pipe_holds_comes_through() {
    let (ended, kept) = run(&shell("head -c 3000000 /dev/zero | tr '\\0' x; echo end", "much"), limits()).await;
    assert_eq!(ended.exit, Exit::Code(0));
    assert_eq!(kept.out.len(), 3_000_004);
}

#[tokio::test]
async fn a_signal_of_others_is_told_from_ours() {
    let (ended, _) = run(&shell("kill -SEGV $$", "signal"), limits()).await;
    assert_eq!((ended.exit, ended.by), (Exit::Signal(11), EndedBy::Itself));
}

#[tokio::test]
async fn a_silent_process_is_ended() {
    let limits = Limits { silence: Duration::from_millis(300), ..limits() };
    let (ended, kept) = run(&shell("echo begin; sleep 60", "silent"), limits).await;
    assert_eq!((ended.exit, ended.by), (Exit::Signal(15), EndedBy::Silence));
    assert_eq!(kept.out, "begin\n");
}

#[tokio::test]
async fn who_does_not_listen_is_ended_firmly() {
    let limits = Limits { deadline: Instant::now() + Duration::from_millis(300), ..limits() };
    let (ended, _) = run(&shell("trap '' TERM; while true; do sleep 0.05; done", "deaf"), limits).await;
    assert_eq!((ended.exit, ended.by), (Exit::Signal(9), EndedBy::Deadline));
}

#[tokio::test]
async fn children_left_behind_end_too() {
    let (ended, kept) = run(&shell("sleep 300 & echo $!; exit 0", "child"), limits()).await;
    assert!(ended.left_others && ended.exit == Exit::Code(0), "{ended:?}");
    eventually("the child is gone", || !is_alive(&kept.out)).await;
}

#[tokio::test]
async fn children_that_left_the_group_and_hold_no_pipe_end_too() {
    let script = "setsid sh -c 'echo $$; exec sleep 300 >/dev/null 2>&1' & wait -n 2>/dev/null; sleep 0.3; exit 0";
    let (ended, kept) = run(&shell(script, "daemon"), limits()).await;
    assert!(ended.left_others, "{ended:?}");
    eventually("the child is gone", || !is_alive(&kept.out)).await;
}

#[tokio::test]
async fn asked_once_it_may_tidy_up_asked_twice_it_ends() {
    let launch = shell("trap 'echo bye; exit 0' TERM; echo ready; while true; do sleep 0.05; done", "polite");
    let (ask, mut stop) = watch::channel(Stop::No);
    let mut kept = Kept::default();
    let (copy, mut heard) = tokio::sync::mpsc::channel(16);
    let asking = async {
        heard.recv().await.unwrap();
        ask.send_replace(Stop::Politely);
        while heard.recv().await.is_some() {}
    };
    let limits = Limits { grace: Duration::from_secs(20), ..limits() };
    let running = async {
        let ended = process::run(&launch, limits, &mut kept, Some(&copy), &mut stop).await.unwrap();
        drop(copy);
        ended
    };
    let (ended, ()) = tokio::join!(running, asking);
    assert_eq!((ended.by, kept.out.as_str()), (EndedBy::Stopped, "ready\nbye\n"));

    let launch = shell("trap '' TERM; echo ready; while true; do sleep 0.05; done", "impolite");
    let (ask, mut stop) = watch::channel(Stop::No);
    let (copy, mut heard) = tokio::sync::mpsc::channel(16);
    let mut kept = Kept::default();
    let asking = async {
        heard.recv().await.unwrap();
        ask.send_replace(Stop::Politely);
        ask.send_replace(Stop::Firmly);
    };
    let (ended, ()) = tokio::join!(process::run(&launch, limits, &mut kept, Some(&copy), &mut stop), asking);
    assert_eq!(ended.unwrap().exit, Exit::Signal(9));
}

#[tokio::test]
async fn a_reader_that_sleeps_does_not_keep_it_from_being_stopped() {
    let launch = shell("while true; do echo line; done", "flood");
    let (ask, mut stop) = watch::channel(Stop::No);
    let (copy, heard) = tokio::sync::mpsc::channel(1);
    let mut kept = Kept::default();
    let asking = async {
        eventually("the queue is full", || copy.capacity() == 0).await;
        ask.send_replace(Stop::Firmly);
    };
    let (ended, ()) = tokio::join!(process::run(&launch, limits(), &mut kept, Some(&copy), &mut stop), asking);
    assert_eq!(ended.unwrap().by, EndedBy::Stopped);
    drop(heard);
}

#[tokio::test]
async fn dropped_in_the_middle_nothing_is_left() {
    let launch = shell("sleep 300 & echo $!; wait", "dropped");
    let (_keep, mut stop) = watch::channel(Stop::No);
    let (copy, mut heard) = tokio::sync::mpsc::channel(16);
    let mut kept = Kept::default();
    let pid = tokio::select! {
        _ = process::run(&launch, limits(), &mut kept, Some(&copy), &mut stop) => panic!("it cannot end"),
        piece = heard.recv() => String::from_utf8(piece.unwrap().1.to_vec()).unwrap(),
    };
    eventually("the child is gone", || !is_alive(&pid)).await;
}

#[tokio::test]
async fn everything_of_one_supervisor_can_be_found_and_ended() {
    let mark = format!("sweep-{}", std::process::id());
    let mut child = std::process::Command::new("setsid")
        .args(["sleep", "300"])
        .env(process::MARK, format!("{mark}.task.1"))
        .spawn()
        .unwrap();
    eventually("it runs", || is_alive(&child.id().to_string())).await;
    let mut ended = 0;
    for _ in 0..20 {
        ended += end_marked_with_prefix(&format!("{mark}.")).await;
        if ended > 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(ended, 1);
    child.wait().unwrap();
    assert_eq!(end_marked_with_prefix(&format!("{mark}.")).await, 0);
}

#[tokio::test]
async fn a_slow_reader_gets_the_end_of_the_output() {
    let launch = shell("head -c 150000 /dev/zero | tr '\\0' x", "slow");
    let (_keep, mut stop) = watch::channel(Stop::No);
    let (copy, mut pieces) = tokio::sync::mpsc::channel::<(Stream, bytes::Bytes)>(1);
    let mut kept = Kept::default();
    let reading = async {
        let mut bytes = 0;
        let mut slow = 3;
        while let Some((_, piece)) = pieces.recv().await {
            bytes += piece.len();
            if slow > 0 {
                slow -= 1;
                // Longer than the pipe of one that is gone is waited for.
                tokio::time::sleep(Duration::from_millis(1300)).await;
            }
        }
        bytes
    };
    let running = async {
        let ended = process::run(&launch, limits(), &mut kept, Some(&copy), &mut stop).await.unwrap();
        drop(copy);
        ended
    };
    let (ended, bytes) = tokio::join!(running, reading);
    assert_eq!((ended.exit, bytes), (Exit::Code(0), 150_000));
}
