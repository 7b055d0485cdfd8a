//! How long a classification takes: `cargo bench -p steadfast-core --bench classify`.
//!
//! Each case runs in batches and the fastest batch counts: the rest is the machine's noise.
//! Guards: a typical provider error under 2 µs, a 64 KiB page under 100 µs, no more work for a
//! page ten times as long, and work that grows with the body below the cap. Providers state a wait in
//! their headers; the same error without them, as it stands in a log, must read it out of the prose
//! and may cost half as much again. The last lines show
//! what one `RegexSet` over the same phrases costs, which is why the table has its own matcher.

#![allow(missing_docs, reason = "a program, not a library")]
#![expect(clippy::print_stdout, reason = "the report is the program's output")]
#![expect(clippy::disallowed_methods, reason = "a benchmark is no core code: it reads the clock")]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use regex::bytes::RegexSetBuilder;
use steadfast_core::Evidence;
use steadfast_core::classify::Classifier;

const BATCHES: u32 = 100;
const BATCH: Duration = Duration::from_millis(2);

const OPENAI_429: &[u8] = br#"{"error":{"message":"Rate limit reached for gpt-4o in organization org-1234567890 on tokens per min (TPM): Limit 30000, Used 29500, Requested 1200. Please try again in 1.4s. Visit https://platform.openai.com/account/rate-limits to learn more.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#;
const ANTHROPIC_529: &[u8] = br#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_011BVNrhkCDlc61GkF6SyBoh"}"#;
const HEADERS: &[(&str, &str)] = &[
    ("content-type", "application/json"),
    ("retry-after-ms", "1400"),
    ("x-ratelimit-limit-tokens", "30000"),
    ("x-ratelimit-remaining-tokens", "0"),
    ("x-ratelimit-reset-tokens", "1.4s"),
    ("x-request-id", "req_1234567890"),
];

fn main() -> ExitCode {
    // `cargo test --all-targets` runs this too, unoptimised: nothing to measure then.
    if !std::env::args().any(|argument| argument == "--bench") {
        return ExitCode::SUCCESS;
    }
    let started = Instant::now();
    let classifier = Classifier::builtin();
    println!("compile the table          {:>10.1} ms", started.elapsed().as_secs_f64() * 1e3);
    let rules = classifier.rules().count();
    let patterns: usize = classifier.rules().map(|rule| rule.texts.len() + rule.codes.len()).sum();
    println!("rules; codes and phrases   {rules:>6} {patterns:>6}");
    let started = Instant::now();
    black_box(classifier.classify(&Evidence::http(429, HEADERS, OPENAI_429)));
    println!("first call                 {:>10.1} us", started.elapsed().as_secs_f64() * 1e6);

    let typical = case("openai 429, 300 bytes", &Evidence::http(429, HEADERS, OPENAI_429));
    let prose = case("the same, wait in prose", &Evidence::http(429, &[], OPENAI_429));
    case("anthropic 529", &Evidence::http(529, &[], ANTHROPIC_529));
    case("text, connection refused", &Evidence::text("Error: connect ECONNREFUSED 127.0.0.1:11434"));
    let html = case("html page, 64 KiB", &Evidence::http(502, &[], &html_page(64 * 1024)));
    case("traceback, 64 KiB", &Evidence::http(500, &[], &traceback(64 * 1024)));
    let longer = case("html page, 640 KiB", &Evidence::http(502, &[], &html_page(640 * 1024)));
    let half = case("traceback, 4 KiB", &Evidence::http(500, &[], &traceback(4 * 1024)));
    let whole = case("traceback, 8 KiB", &Evidence::http(500, &[], &traceback(8000)));
    regex_set(classifier);

    let guards = [
        ("typical error under 2 us", typical < 2_000.0),
        ("a wait in prose costs half as much again at most", prose < 1.5 * typical),
        ("64 KiB page under 100 us", html < 100_000.0),
        ("a longer page costs no more", longer < 1.3 * html),
        ("linear below the cap", whole < 3.0 * half),
    ];
    guards.iter().for_each(|(name, good)| println!("{} {name}", if *good { "ok  " } else { "FAIL" }));
    if guards.iter().all(|(_, good)| *good) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn case(name: &str, evidence: &Evidence<'_>) -> f64 {
    let classifier = Classifier::builtin();
    let nanos = fastest(|| {
        black_box(classifier.classify(black_box(evidence)));
    });
    let rate = evidence.body.len() as f64 / nanos * 1e3;
    println!("{name:<26} {nanos:>10.0} ns {rate:>8.0} MB/s");
    nanos
}

/// Nanoseconds per call in the fastest batch.
fn fastest(mut work: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..BATCHES {
        let started = Instant::now();
        let mut calls = 0_u32;
        while started.elapsed() < BATCH {
            (0..8).for_each(|_| work());
            calls += 8;
        }
        best = best.min(started.elapsed().as_nanos() as f64 / f64::from(calls));
    }
    best
}

fn regex_set(classifier: &Classifier) {
    let patterns: Vec<String> = classifier
        .rules()
        .flat_map(|rule| rule.texts)
        .map(|text| text.replace('~', ".{0,60}").replace('&', "(?:failed to|unable to|could not|cannot)"))
        .collect();
    let started = Instant::now();
    let set = RegexSetBuilder::new(&patterns).unicode(false).size_limit(1 << 30).build();
    let Ok(set) = set else { return println!("one RegexSet does not compile") };
    println!("one RegexSet: compile      {:>10.1} ms", started.elapsed().as_secs_f64() * 1e3);
    let lower = OPENAI_429.to_ascii_lowercase();
    let started = Instant::now();
    (0..20).for_each(|_| drop(black_box(set.matches(&lower))));
    println!("one RegexSet: openai 429   {:>10.0} ns", started.elapsed().as_nanos() as f64 / 20.0);
}

fn html_page(bytes: usize) -> Vec<u8> {
    let mut page =
        b"<!DOCTYPE html><html><head><title>502 Bad Gateway</title><style>.a{margin:0}</style></head><body>".to_vec();
    for row in 0.. {
        if page.len() >= bytes {
            break;
        }
        let html =
            format!("<div class=\"row c{row}\"><p>The web server reported a bad gateway error {row}.</p></div>\n");
        page.extend_from_slice(html.as_bytes());
    }
    page
}

fn traceback(bytes: usize) -> Vec<u8> {
    let mut text = b"Traceback (most recent call last):\n".to_vec();
    for line in 0.. {
        if text.len() >= bytes {
            break;
        }
        let frame = format!(
            "  File \"/srv/app/module_{line}.py\", line {line}, in call\n    return await self.send(request)\n"
        );
        text.extend_from_slice(frame.as_bytes());
    }
    text.extend_from_slice(b"httpx.ConnectError: [Errno 111] Connection refused");
    text
}
