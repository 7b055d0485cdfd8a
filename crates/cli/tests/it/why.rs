//! `steadfast why`.

use serde_json::Value;

use crate::{Folder, Transcript};

const LOG: &str = include_str!("../fixtures/decisions.jsonl");

/// Times are told in the zone of whoever reads them.
const UTC: (&str, &str) = ("TZ", "UTC");

fn why(folder: &Folder, arguments: &[&str]) -> Transcript {
    let mut all = vec!["why", "--log", "decisions.jsonl"];
    all.extend(arguments);
    folder.run_with(&all, &[UTC])
}

fn with_log() -> Folder {
    let folder = Folder::new();
    folder.write("decisions.jsonl", LOG);
    folder
}

const STORY: &str = "\
req_aaaa000000000002: recovered, served by claude-haiku-4-5@bedrock after 3 attempts in 9s

  when     2025-11-03 14:00:01.000 +00:00
  project  acme
  session  s-1
  policy   mine, at most 8 attempts
  chain    claude-sonnet-4-5@anthropic, claude-haiku-4-5@bedrock

     0s  attempt 1: claude-sonnet-4-5@anthropic, the target asked for
  300ms    failed: rate_limit, status 429 (rule rate.per_minute); the provider asks for 7s
           retry in 7s: retry 1 of 2, when the provider asked for it
   7.3s  attempt 2: claude-sonnet-4-5@anthropic, the same target again
   8.5s    failed: quota_exhausted, status 429 (rule quota.weekly); the provider asks for 3d 11h
           fallback to claude-haiku-4-5@bedrock: next target of the chain
           not the step before it: the provider asks for 3d 11h, the policy waits at most 30s
           the session has used most of its retries
   8.5s  attempt 3: claude-haiku-4-5@bedrock, the next target after a failure
     9s    served in 499ms, 900 tokens in, 40 out
";

#[test]
fn a_story_is_told_in_words() {
    let folder = with_log();
    why(&folder, &["req_aaaa000000000002"]).assert(0, STORY, "");
    why(&folder, &["req_bbbb"]).assert(
        0,
        "\
req_bbbb000000000003: failed after 0 attempts in <1ms

  when     2025-11-03 14:00:02.000 +00:00
  project  default
  policy   default, at most 8 attempts
  chain    no endpoint serves this model

     0s  gave up: no endpoint serves this model
",
        "",
    );
}

#[test]
fn a_story_that_lies_in_two_files_is_told_whole() {
    let folder = Folder::new();
    let (before, after) = LOG.split_at(LOG.find("{\"time\":1762178408300").unwrap());
    folder.write("decisions.jsonl.1", before);
    folder.write("decisions.jsonl", after);
    why(&folder, &["req_aaaa000000000002"]).assert(0, STORY, "");
}

#[test]
fn without_an_id_the_last_requests_are_listed() {
    why(&with_log(), &[]).assert(
        0,
        "\
when            request               outcome      attempts     took  model
11-03 14:00:02  req_bbbb000000000003  failed              0     <1ms  -
11-03 14:00:01  req_aaaa000000000002  recovered           3       9s  claude-haiku-4-5@bedrock
11-03 14:00:00  req_aaaa000000000001  served              1    420ms  gpt-5@openai
",
        "the last requests in decisions.jsonl, newest first; `steadfast why REQUEST` tells one\n",
    );
}

#[test]
fn programs_get_the_records() {
    let told = why(&with_log(), &["req_aaaa000000000002", "--json"]);
    let records: Value = serde_json::from_str(&told.stdout).unwrap();
    let events: Vec<&str> =
        records.as_array().unwrap().iter().map(|record| record["event"].as_str().unwrap()).collect();
    assert_eq!(
        events,
        ["start", "attempt", "decision", "attempt", "decision", "attempt", "success", "outcome"],
        "{}",
        told.stdout
    );
    let told = why(&with_log(), &["--json"]);
    let requests: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(requests[0][0]["request"], "req_bbbb000000000003");
}

#[test]
fn what_cannot_be_told_is_said_with_what_can() {
    let folder = with_log();
    why(&folder, &["req_aaaa"]).assert(
        1,
        "",
        "error: several requests begin with `req_aaaa`:\n  req_aaaa000000000001\n  req_aaaa000000000002\n",
    );
    why(&folder, &["req_bbbb000000000004"]).assert(
        1,
        "",
        "error: no request `req_bbbb000000000004` in decisions.jsonl; the nearest are req_bbbb000000000003, req_aaaa000000000001, req_aaaa000000000002\n",
    );
    folder.run(&["why", "--log", "nosuch.jsonl"]).assert(1, "", "error: there is no decision log nosuch.jsonl\n");
}

#[test]
fn the_log_is_looked_for_where_serve_writes_it() {
    let folder = Folder::new();
    let state = folder.0.join("state").display().to_string();
    let environment = [UTC, ("XDG_STATE_HOME", state.as_str())];
    let told = folder.run_with(&["why"], &environment);
    assert_eq!(
        told.stderr,
        format!(
            "error: there is no decision log {state}/steadfast/decisions.jsonl yet: `steadfast serve` and `steadfast demo` write one, --log FILE names another\n"
        )
    );
    folder.write("state/steadfast/decisions.jsonl", LOG);
    folder.run_with(&["why", "req_aaaa000000000002"], &environment).assert(0, STORY, "");

    folder.write("steadfast.toml", "[log]\ndecisions = { path = \"mine.jsonl\" }\n");
    let told = folder.run_with(&["why"], &environment);
    assert!(told.stderr.starts_with("error: there is no decision log mine.jsonl, where [log]"), "{}", told.stderr);
    folder.write("mine.jsonl", LOG);
    folder.run_with(&["why", "req_aaaa000000000002"], &environment).assert(0, STORY, "");

    let nowhere = Folder::new().run(&["why"]);
    assert!(nowhere.stderr.contains("name it with --log FILE"), "{}", nowhere.stderr);
}

#[test]
fn a_repeat_that_was_answered_from_memory_says_of_what() {
    let folder = Folder::new();
    let log = concat!(
        r#"{"time":1762178401000,"event":"start","request":"req_r2","session":"s-1","project":"acme","#,
        r#""client":"codex","agent":"review","repeats":"req_r1"}"#,
        "\n",
        r#"{"time":1762178401000,"event":"outcome","request":"req_r2","attempt":0,"reason":"the same request failed just before, and is asked again in 2s at the latest","outcome":"gave_up","latency_ms":0}"#,
        "\n",
    );
    folder.write("decisions.jsonl", log);
    why(&folder, &["req_r2"]).assert(
        0,
        "\
req_r2: answered from memory, it had just failed

  when     2025-11-03 14:00:01.000 +00:00
  project  acme
  session  s-1
  client   codex
  agent    review
  repeats  req_r1, which failed

     0s  gave up: the same request failed just before, and is asked again in 2s at the latest
",
        "",
    );
}
