//! The promise of a stream over other wires: HTTP/2, gzip, pings.

use crate::harness::{Speaks, Stage, all_at_once, post, read, with};
use crate::streams::quick;

/// Whether the client hears of this fault: after content, and nothing is held back.
fn is_noticed(fault: &str, mode: &str) -> bool {
    mode == "fast" && fault.contains("=5")
}

/// What came of a fault: an error event and no end, or an ordinary answer.
fn check(speaks: Speaks, fault: &str, mode: &str, text: &str) {
    let told = format!("{speaks:?} {fault} {mode} {text}");
    let noticed = is_noticed(fault, mode);
    assert_eq!((speaks.error(text).is_some(), speaks.is_whole(text)), (noticed, !noticed), "{told}");
    assert_eq!(speaks.text(text).matches("word-1 ").count(), 1, "{told}");
}

#[tokio::test]
async fn a_fault_of_one_http2_stream_is_met_and_concerns_no_other() {
    let config = "[endpoints.h2]\ndialect = \"openai\"\nurl = \"FAKE/@h2\"\nhttp2 = true\n\
                  [models.two]\nvendor = \"openai\"\nendpoints = [\"h2\"]\n\
                  [models.other]\nvendor = \"openai\"\nendpoints = [\"h2\"]\n\
                  [policies.quick.on]\ntimeout = [{ retry = 1, every = \"20ms\" }]";
    let ask = |model: &str| {
        let mut body = Speaks::Chat.body(true);
        body["model"] = model.into();
        post("/v1/chat/completions", &body)
    };
    for fault in ["reset", "cut=0", "end=0", "stall", "cut=5", "end=5", "error=5"] {
        for mode in ["fast", "safe"] {
            let stage = Stage::usual(&quick(config)).await;
            stage.fake.script_model("h2", "two", &format!("{fault} x1; ok")).unwrap();
            stage.fake.script_model("h2", "other", "words=60 delay=10ms").unwrap();
            let other = stage.open(ask("other")).await;
            let answer = stage.send(with(ask("two"), "x-steadfast-stream", mode)).await;
            check(Speaks::Chat, fault, mode, &answer.text());
            let other = read(other).await;
            assert!(other.clean && Speaks::Chat.is_whole(&other.text()), "{fault} {mode} {}", other.text());
            assert_eq!(stage.fake.open_connections(), 1, "{fault} {mode}");
            assert!(stage.fake.requests().iter().all(|seen| seen.http2));
        }
    }
}

#[tokio::test]
async fn a_compressed_stream_that_breaks_is_met_as_any_other() {
    let faults = ["gzip cut=5", "gzip end=5", "gzip malformed=5", "gzip stall=5", "gzip error=5", "gzip cut=0"];
    all_at_once(Speaks::STREAMS, |speaks| async move {
        for (fault, mode) in faults.into_iter().flat_map(|fault| ["fast", "safe"].map(|mode| (fault, mode))) {
            let stage = Stage::usual(&quick("")).await;
            stage.script("a", &format!("{fault} x1; gzip"));
            stage.script("b", "gzip");
            let answer = stage.send(with(speaks.request(true), "x-steadfast-stream", mode)).await;
            assert_eq!(answer.header("content-encoding"), "", "{speaks:?} {fault} {mode}");
            check(speaks, fault, mode, &answer.text());
        }
    })
    .await;
}

#[tokio::test]
async fn pings_alone_are_silence() {
    all_at_once(Speaks::ALL, |speaks| async move {
        for (fault, mode) in
            ["ping=0", "ping=5"].into_iter().flat_map(|fault| ["fast", "safe"].map(|mode| (fault, mode)))
        {
            let stage = Stage::usual(&quick("")).await;
            stage.script("a", fault);
            let answer = stage.send(with(speaks.request(true), "x-steadfast-stream", mode)).await;
            check(speaks, fault, mode, &answer.text());
        }
    })
    .await;
}
