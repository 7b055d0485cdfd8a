//! Lines as the released programs wrote them (agents.md 5), against what is made of them.

use super::*;

fn told(output: AgentOutput, lines: &[&str]) -> Told {
    let mut reader = Reader::new(output);
    // Cut in the middle of every line: pipes do.
    for line in lines {
        let (head, tail) = line.split_at(line.len() / 2);
        reader.push(head.as_bytes());
        reader.push(format!("{tail}\n").as_bytes());
    }
    reader.finish()
}

fn failure(told: &Told) -> (Option<u16>, &str) {
    match &told.end {
        Some(End::Failed(complaint)) => (complaint.status, complaint.message.as_str()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn claude_says_success_on_failures_and_is_not_believed() {
    let told = told(
        AgentOutput::Claude,
        &[
            r#"{"type":"system","subtype":"init","session_id":"s1","model":"claude-sonnet-4-5","tools":[]}"#,
            r#"{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"error_status":529,"error":"overloaded"}"#,
            r#"{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error: 529 Overloaded."}]},"error":"server_error","session_id":"s1"}"#,
            r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"result":"API Error: 529 Overloaded.","session_id":"s1","total_cost_usd":0.01}"#,
        ],
    );
    assert_eq!(failure(&told), (Some(529), "API Error: 529 Overloaded."));
    assert_eq!((told.session.as_deref(), told.own_retries, told.usd_micros), (Some("s1"), 1, Some(10_000)));
    assert!(told.structured);
}

#[test]
fn claude_tells_its_result_and_what_it_used() {
    let told = told(
        AgentOutput::Claude,
        &[
            r#"{"type":"system","subtype":"init","session_id":"s1","model":"m"}"#,
            "a warning that is no event",
            r#"{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s1","total_cost_usd":0.5,"usage":{"input_tokens":10,"cache_read_input_tokens":90,"output_tokens":7}}"#,
        ],
    );
    assert_eq!((told.end, told.result.as_str()), (Some(End::Done), "done"));
    assert_eq!(told.usage, Usage { input_tokens: 100, output_tokens: 7 });
    assert_eq!(told.usd_micros, Some(500_000));
}

#[test]
fn claude_that_spent_its_budget_has_failed() {
    let told = told(AgentOutput::Claude, &[r#"{"type":"result","subtype":"error_max_budget_usd","is_error":false}"#]);
    assert_eq!(failure(&told), (None, "error_max_budget_usd"));
}

#[test]
fn codex_complains_often_and_fails_once() {
    let started = r#"{"type":"thread.started","thread_id":"t1"}"#;
    let notice = r#"{"type":"error","message":"Reconnecting... 1/5 (unexpected status 500)"}"#;
    let recovered = told(
        AgentOutput::Codex,
        &[
            started,
            notice,
            r#"{"type":"item.completed","item":{"type":"agent_message","text":"hi"}}"#,
            r#"{"type":"turn.completed","usage":{"input_tokens":5,"output_tokens":2}}"#,
        ],
    );
    assert_eq!((recovered.end, recovered.own_retries, recovered.result.as_str()), (Some(End::Done), 1, "hi"));
    let failed = told(
        AgentOutput::Codex,
        &[
            started,
            notice,
            r#"{"type":"turn.failed","error":{"message":"exceeded retry limit, last status: 429 Too Many Requests"}}"#,
        ],
    );
    assert_eq!(failure(&failed), (None, "exceeded retry limit, last status: 429 Too Many Requests"));
    assert_eq!(failed.session.as_deref(), Some("t1"));
}

#[test]
fn gemini_writes_again_what_it_wrote_before_a_retry() {
    let told = told(
        AgentOutput::Gemini,
        &[
            r#"{"type":"init","session_id":"g1","model":"gemini-3-pro"}"#,
            r#"{"type":"message","role":"assistant","content":"par","delta":true}"#,
            r#"{"type":"error","severity":"warning","message":"stream ended early"}"#,
            r#"{"type":"message","role":"assistant","content":"partial ","delta":true}"#,
            r#"{"type":"message","role":"assistant","content":"answer","delta":true}"#,
            r#"{"type":"result","status":"success","stats":{"input_tokens":3,"output_tokens":4}}"#,
        ],
    );
    assert_eq!((told.result.as_str(), told.end), ("partial answer", Some(End::Done)));
}

#[test]
fn gemini_that_exits_with_0_after_an_error_has_failed() {
    let told = told(
        AgentOutput::Gemini,
        &[
            r#"{"type":"init","session_id":"g1","model":"m"}"#,
            r#"{"type":"result","status":"error","error":{"type":"unknown","message":"got status: 503"}}"#,
        ],
    );
    assert_eq!(failure(&told), (None, "got status: 503"));
}

#[test]
fn opencode_is_done_when_its_last_step_stops() {
    let step = r#"{"type":"step_start","sessionID":"ses_1","part":{}}"#;
    let tools = r#"{"type":"step_finish","sessionID":"ses_1","part":{"reason":"tool-calls","tokens":{"input":10,"output":2},"cost":0.25}}"#;
    let stop = r#"{"type":"step_finish","sessionID":"ses_1","part":{"reason":"stop","tokens":{"input":20,"output":3},"cost":0.25}}"#;
    let answer = r#"{"type":"text","sessionID":"ses_1","part":{"text":"four"}}"#;
    let done = told(AgentOutput::Opencode, &[step, tools, step, answer, stop]);
    assert_eq!((done.end, done.result.as_str(), done.usd_micros), (Some(End::Done), "four", Some(500_000)));
    assert_eq!(done.usage, Usage { input_tokens: 30, output_tokens: 5 });
    let cut = told(AgentOutput::Opencode, &[step, tools, step]);
    assert_eq!(cut.end, None, "the last step never ended");
}

#[test]
fn opencode_that_goes_round_in_circles_is_noticed() {
    let unknown = r#"{"type":"step_finish","sessionID":"ses_1","part":{"reason":"unknown"}}"#;
    assert!(!told(AgentOutput::Opencode, &[unknown]).loops);
    assert!(told(AgentOutput::Opencode, &[unknown, unknown]).loops);
    let error = r#"{"type":"error","sessionID":"ses_1","error":{"name":"APIError","data":{"message":"Overloaded","statusCode":529,"isRetryable":true}}}"#;
    assert_eq!(failure(&told(AgentOutput::Opencode, &[error])), (Some(529), "APIError Overloaded"));
}

#[test]
fn openclaw_speaks_once_over_several_lines() {
    let done = told(
        AgentOutput::Openclaw,
        &[
            "starting",
            "{",
            r#""ok":true,"final":"hi","sessionId":"c1","costUsd":0.1,"#,
            r#""usage":{"input":1,"output":2}}"#,
        ],
    );
    assert_eq!((done.end, done.result.as_str(), done.session.as_deref()), (Some(End::Done), "hi", Some("c1")));
    let failed = told(
        AgentOutput::Openclaw,
        &[r#"{"ok":false,"status":"error","error":{"message":"429 slow down","kind":"rate_limit"}}"#],
    );
    assert_eq!(failure(&failed), (None, "rate_limit 429 slow down"));
}

/// The tool each agent was using when it told no more.
fn last_tool(output: AgentOutput, lines: &[&str]) -> Option<String> {
    told(output, lines).tools.last().map(str::to_owned)
}

#[test]
fn a_tool_that_failed_or_never_answered_is_known_until_the_agent_goes_on() {
    let claude = |lines: &[&str]| last_tool(AgentOutput::Claude, lines);
    let call = r#"{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":"Let me see"},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make"}}]},"session_id":"s1"}"#;
    let failed = r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"Exit code 2","is_error":true,"tool_use_id":"t1"}]},"session_id":"s1"}"#;
    let fine = r#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"ok"}]},"session_id":"s1"}"#;
    let goes_on =
        r#"{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":"I see"}]},"session_id":"s1"}"#;
    let refused = r#"{"type":"system","subtype":"api_retry","attempt":1,"error_status":529,"error":"overloaded"}"#;
    assert_eq!(claude(&[call]).as_deref(), Some("Bash"), "it has not answered");
    assert_eq!(claude(&[call, failed]).as_deref(), Some("Bash"));
    assert_eq!(
        [claude(&[call, fine]), claude(&[call, failed, goes_on]), claude(&[call, failed, refused])],
        [const { None }; 3]
    );

    let codex = |lines: &[&str]| last_tool(AgentOutput::Codex, lines);
    let run = |status: &str, event: &str| {
        format!(
            r#"{{"type":"item.{event}","item":{{"id":"item_1","type":"command_execution","command":"make","aggregated_output":"","status":"{status}"}}}}"#
        )
    };
    let (begun, failed) = (run("in_progress", "started"), run("failed", "completed"));
    assert_eq!(codex(&[&begun]).as_deref(), Some("command_execution"));
    assert_eq!(codex(&[&begun, &failed]).as_deref(), Some("command_execution"));
    assert_eq!(codex(&[&begun, &run("completed", "completed")]), None);
    let reasoning = r#"{"type":"item.completed","item":{"id":"item_2","type":"reasoning","text":"Hm"}}"#;
    assert_eq!(codex(&[&begun, &failed, reasoning]), None);
    let mcp = r#"{"type":"item.started","item":{"id":"item_3","type":"mcp_tool_call","server":"docs","tool":"search","status":"in_progress"}}"#;
    assert_eq!(codex(&[mcp]).as_deref(), Some("search"));

    let gemini = |lines: &[&str]| last_tool(AgentOutput::Gemini, lines);
    let call = r#"{"type":"tool_use","tool_name":"run_shell_command","tool_id":"t1","parameters":{}}"#;
    let failed = r#"{"type":"tool_result","tool_id":"t1","status":"error","error":{"type":"TOOL_EXECUTION_ERROR","message":"no"}}"#;
    assert_eq!(gemini(&[call, failed]).as_deref(), Some("run_shell_command"));
    assert_eq!(gemini(&[call, r#"{"type":"tool_result","tool_id":"t1","status":"success","output":""}"#]), None);

    let opencode = |lines: &[&str]| last_tool(AgentOutput::Opencode, lines);
    let tool = |status: &str| {
        format!(
            r#"{{"type":"tool_use","sessionID":"ses_1","part":{{"type":"tool","tool":"bash","callID":"c1","state":{{"status":"{status}"}}}}}}"#
        )
    };
    assert_eq!(opencode(&[&tool("error")]).as_deref(), Some("bash"));
    assert_eq!(opencode(&[&tool("completed")]), None);
    let answer = r#"{"type":"text","sessionID":"ses_1","part":{"text":"four"}}"#;
    assert_eq!(opencode(&[&tool("error"), answer]), None);
}

#[test]
fn of_calls_without_end_only_the_last_are_known() {
    let call = |number: usize| {
        format!(r#"{{"type":"tool_use","tool_name":"tool-{number}","tool_id":"t{number}","parameters":{{}}}}"#)
    };
    let calls: Vec<String> = (0..1000).map(call).collect();
    let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
    assert_eq!(last_tool(AgentOutput::Gemini, &calls).as_deref(), Some("tool-999"));
    let answered = r#"{"type":"tool_result","tool_id":"t0","status":"error"}"#;
    assert_eq!(last_tool(AgentOutput::Gemini, &[&calls[..], &[answered]].concat()).as_deref(), Some("tool-999"));
}

#[test]
fn text_is_not_looked_into() {
    let text = told(AgentOutput::Text, &[r#"{"type":"result","is_error":true}"#]);
    assert_eq!(text, Told::default());
    let plain = told(AgentOutput::Claude, &["just words"]);
    assert!(!plain.structured && plain.end.is_none(), "an agent that was not asked for events is judged by its exit");
}
