use std::time::Duration;

use super::parse;
use crate::script::{Condition, Script};
use crate::spec::{Answer, Body, Fault, Pace, RetryAfter, Spec};
use crate::trouble::Trouble;

fn script(text: &str) -> Script {
    parse(text).unwrap_or_else(|problem| panic!("`{text}`: {problem}"))
}

fn spec(text: &str) -> Spec {
    (*script(text).steps[0].spec).clone()
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    let problem = parse(text).unwrap_err().to_string();
    assert_eq!(problem, expected, "`{text}`");
}

#[test]
fn every_fault_has_a_name() {
    let cases = [
        ("ok", Fault::Ok),
        ("status=529", Fault::Status(529)),
        ("refuse", Fault::Refuse),
        ("reset", Fault::Reset),
        ("reset-after-headers", Fault::ResetAfterHeaders),
        ("reset_after_headers", Fault::ResetAfterHeaders),
        ("close", Fault::Close),
        ("cut=0", Fault::Cut(0)),
        ("cutfin=3", Fault::CutFin(3)),
        ("end=3", Fault::End(3)),
        ("cut-in-tool", Fault::CutInTool),
        ("end-in-tool", Fault::EndInTool),
        ("malformed=3", Fault::Malformed(3)),
        ("error=0", Fault::Error(0, Trouble::Overloaded)),
        ("error=4:rate_limit", Fault::Error(4, Trouble::RateLimit)),
        ("error200", Fault::Error200(Trouble::Overloaded)),
        ("error200=quota", Fault::Error200(Trouble::Quota)),
        ("empty", Fault::Empty),
        ("no-done", Fault::NoDone),
        ("stall", Fault::Stall),
        ("stall-after-headers", Fault::StallAfterHeaders),
        ("stall=2", Fault::StallAt(2)),
        ("ping=2", Fault::PingAt(2)),
        ("huge=100MB", Fault::Huge(100 << 20)),
        ("endless-headers", Fault::EndlessHeaders),
        ("garbage", Fault::Garbage),
        ("half-head", Fault::HalfHead),
        ("wrong-length", Fault::WrongLength),
    ];
    for (text, fault) in cases {
        assert_eq!(spec(text).fault, fault, "{text}");
        assert_eq!(&*spec(text).written, text);
    }
    for trouble in Trouble::ALL {
        assert_eq!(spec(trouble.name()).fault, Fault::Trouble(*trouble));
        assert_eq!(spec(&trouble.name().replace('_', "-")).fault, Fault::Trouble(*trouble));
    }
}

#[test]
fn settings() {
    let read = spec("ok words=50 delay=20ms first=1.5s wait=2m gzip drip=10/100ms no-usage no-prefill");
    assert_eq!((read.words, read.delay, read.first), (50, Duration::from_millis(20), Duration::from_millis(1500)));
    assert_eq!((read.wait, read.gzip), (Duration::from_secs(120), true));
    assert_eq!(read.pace, Some(Pace { bytes: 10, every: Duration::from_millis(100) }));
    assert!(read.hides_usage && read.refuses_prefill);
    assert_eq!(spec("text=\"a; b, \\\"c\\\"\\n\"").answer, Answer::Literal("a; b, \"c\"\n".into()));
    assert_eq!(spec("text=plain").answer, Answer::Literal("plain".into()));
    assert_eq!(spec("cut-in-tool answer=tools").answer, Answer::TwoTools);
    assert_eq!(spec("cut-in-tool").answer, Answer::Tool);
    assert_eq!(spec("status=429 body=quota").body, Some(Body::Trouble(Trouble::Quota)));
    assert_eq!(spec("status=429 body=\"quota\"").body, Some(Body::Literal("quota".into())));
    assert_eq!(spec("header=\"X-A: b c\"").headers, [("x-a".to_owned(), "b c".to_owned())]);
    for (text, retry_after) in [
        ("7", RetryAfter::Seconds(7)),
        ("7s", RetryAfter::Seconds(7)),
        ("2m", RetryAfter::Seconds(120)),
        ("700ms", RetryAfter::Millis(700)),
        ("date", RetryAfter::Date(Duration::from_secs(5))),
        ("date:7s", RetryAfter::Date(Duration::from_secs(7))),
        ("none", RetryAfter::Never),
        ("\"soon\"", RetryAfter::Literal("soon".into())),
    ] {
        assert_eq!(spec(&format!("overloaded retry-after={text}")).retry_after, Some(retry_after), "{text}");
    }
}

#[test]
fn steps_and_conditions() {
    let read = script(" 30%:status=529 x3 ;; 0s..5s: stream: reset ; flap=2s/500ms: stall; rpm=5; quota=2: auth; ok ;");
    let conditions: Vec<&[Condition]> = read.steps.iter().map(|step| step.conditions.as_slice()).collect();
    assert_eq!(
        conditions,
        [
            &[Condition::Chance(0.3)][..],
            &[Condition::Window(Duration::ZERO, Some(Duration::from_secs(5))), Condition::Stream],
            &[Condition::Flap(Duration::from_secs(2), Duration::from_millis(500))],
            &[Condition::Rate(5, Duration::from_secs(60))],
            &[Condition::Quota(2)],
            &[],
        ]
    );
    assert_eq!(read.steps[0].times, Some(3));
    assert_eq!(&*read.steps[0].spec.written, "status=529");
    assert_eq!((read.steps[3].spec.fault, &*read.steps[3].spec.written), (Fault::Trouble(Trouble::RateLimit), "rpm=5"));
    assert_eq!(read.steps[4].spec.fault, Fault::Trouble(Trouble::Auth));
    assert!(script("ok; reset; loop").loops && !script("ok").loops);
    assert_eq!(script("").steps, []);
    assert!(script("ok words=5").constant().is_some() && script("ok x2").constant().is_none());
    assert_eq!(script("rate=3/10s").steps[0].conditions, [Condition::Rate(3, Duration::from_secs(10))]);
}

#[test]
fn what_makes_no_sense_is_told_with_its_place() {
    refused("ok; stauts=500", "column 5: expected a fault or a setting, found `stauts=500`; did you mean `status`?");
    refused("frobnicate", "column 1: expected a fault or a setting, found `frobnicate`");
    refused("status=99", "column 1: expected a status from `status=200` to `status=599`, found `status=99`");
    refused("ok status", "column 4: expected a status from `status=200` to `status=599`, found `status`");
    refused("ok delay=20", "column 4: expected a duration such as `delay=20ms` or `delay=2s`, found `delay=20`");
    refused(
        "cut=3 status=500",
        "column 7: expected one fault per step (it has `cut=3`), a setting, `x3` or `;`, found `status=500`",
    );
    refused("30%", "column 4: expected what happens then, such as `status=503`, found the end");
    refused("30% status=503", "column 5: expected `:` and what happens then, or `;`, found `status=503`");
    refused("130%: reset", "column 1: expected a share from `0%` to `100%`, found `130%`");
    refused("1..2s: reset", "column 1: expected a duration such as `20ms` or `2s`, found `1..2s`");
    refused("ok; rpm=x", "column 5: expected a number of requests, as in `rpm=5`, found `rpm=x`");
    refused("flap=2s: reset", "column 1: expected `flap=2s/2s`, found `flap=2s`");
    refused("text=\"abc", "column 6: expected a closing `\"`, found the end");
    refused("huge=1TB", "column 1: expected a size such as `huge=100MB`, found `huge=1TB`");
    refused("ok x0", "column 4: expected a repeat count such as `x3`, found `x0`");
    refused("loop; ok", "column 7: expected the end of the script after `loop`, found `ok`");
    refused(
        "reset, flap=2s/2s: stall",
        "column 8: expected conditions only at the beginning of a step, behind `;`, found `flap=2s/2s:`",
    );
    refused("=3", "column 1: expected a fault or a setting, found `=3`");
    refused("words=9999999", "column 1: expected a number of words, such as `words=5`, found `words=9999999`");
    refused("header=\"a\"", "column 1: expected a header such as `header=\"x-a: b\"`, found `header=\"a\"`");
    refused(
        "header=\"a: b\\nc: d\"",
        "column 1: expected a header such as `header=\"x-a: b\"`, found `header=\"a: b\\nc: d\"`",
    );
    assert!(parse("body=nothing").unwrap_err().to_string().starts_with("column 1: expected one of `overloaded`, "));
    assert_eq!(parse("ö; stauts=500").unwrap_err().column(), 1);
    assert_eq!(parse("text=ö; stauts=500").unwrap_err().column(), 9);
}

#[test]
fn no_text_makes_it_panic() {
    let mut rng = fastrand::Rng::with_seed(7);
    let parts = [
        "ok",
        "status=",
        "503",
        "x2",
        ";",
        ":",
        "30%",
        "..",
        "2s",
        "\"",
        "\\",
        "=",
        " ",
        ",",
        "flap=",
        "/",
        "error=3:",
        "ö",
        "quota",
        "body=",
        "drip=",
        "retry-after=date:",
        "loop",
        "999999999999999999999d",
        "huge=",
        "18446744073709551615GB",
        "-",
        "%",
    ];
    for _ in 0..20_000 {
        let text: String = (0..rng.usize(0..8)).map(|_| parts[rng.usize(0..parts.len())]).collect();
        let _ = parse(&text);
    }
}

#[test]
fn every_word_is_documented() {
    let guide = include_str!("../../../../../docs/fake.md");
    let known = super::WORDS.iter().copied().chain(Trouble::ALL.iter().map(|trouble| trouble.name()));
    for word in known {
        let found = [format!("`{word}`"), format!("`{word}="), format!("`{word}:`"), format!(" {word}`")];
        assert!(found.iter().any(|text| guide.contains(text)), "docs/fake.md does not name {word}");
    }
}
