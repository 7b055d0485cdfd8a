//! Tools that take plain text (OpenAI's custom tools): to everybody else they take an object with the text in it.

use super::canon::{FREEFORM, Raw, Str, Tool, ToolCall};
use super::out;
use super::read::{Outcome, text};
use crate::json::Cursor;

/// What such a tool looks like to models that know only objects.
const SCHEMA: &str = r#"{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}"#;

/// Makes a tool that takes plain text of one with a name and a description.
pub(super) fn tool<'a>(named: Tool<'a>, grammar: Option<&Str<'_>>) -> Tool<'a> {
    let mut told = named.description.unwrap_or_default().owned();
    if let Some(grammar) = grammar {
        // A model that cannot be held to a grammar is told it.
        told.push(&Str::plain("\\n\\nThe whole text goes into `input` and keeps to this grammar:\\n"));
        told.push(grammar);
    }
    Tool { description: Some(told), parameters: Some(Raw::new(SCHEMA)), strict: None, freeform: true, ..named }
}

/// The grammar that the text keeps to, where there is one. Chat has it one level deeper.
pub(super) fn grammar<'a>(cursor: &mut Cursor<'a>) -> Outcome<Option<Str<'a>>> {
    let mut found = None;
    cursor.object(|cursor, key| {
        match key.name() {
            b"definition" => found = text(cursor)?,
            b"grammar" => found = grammar(cursor)?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(found)
}

/// A call with this text.
pub(super) fn call<'a>(id: Str<'a>, name: Str<'a>, text: &Str<'_>) -> ToolCall<'a> {
    let arguments = Raw::made(out::made(|object| object.text(FREEFORM, text)));
    ToolCall { id, name, arguments, freeform: true }
}

/// The text of a call. A model that gave none gave an object: that is what it says, then.
pub(super) fn words(call: &ToolCall<'_>) -> Str<'static> {
    let mut found = None;
    // Read from JSON that was read before.
    let _ = Cursor::new(call.arguments.json().as_bytes()).object(|cursor, key| {
        match key.name() == FREEFORM.as_bytes() {
            true => found = text(cursor)?.map(|text| text.owned()),
            false => cursor.skip()?,
        }
        Ok(())
    });
    found.unwrap_or_else(|| call.arguments.as_str())
}

#[cfg(test)]
mod tests {
    use crate::Format;
    use crate::translate::{Stamp, Target, request};

    #[test]
    fn a_tool_of_chat_that_takes_plain_text_gets_plain_text() {
        let body = r#"{"model":"m","messages":[
            {"role":"user","content":"go"},
            {"role":"assistant","tool_calls":[{"id":"c1","type":"custom","custom":{"name":"patch","input":"one\ntwo"}}]},
            {"role":"tool","tool_call_id":"c1","content":"fine"}],
            "tools":[{"type":"custom","custom":{"name":"patch","description":"Patches.","format":{"type":"grammar","grammar":{"syntax":"lark","definition":"start: X"}}}}],
            "tool_choice":{"type":"custom","custom":{"name":"patch"}}}"#;
        let target = Target { format: Format::Messages, model: "claude-sonnet-4-5", thinks: false };
        let way = request(Format::Chat, body.as_bytes(), false, target).unwrap();
        let asked: serde_json::Value = serde_json::from_str(&way.body).unwrap();
        assert_eq!(asked["messages"][1]["content"][0]["input"]["input"], "one\ntwo");
        assert_eq!(asked["tool_choice"]["name"], "patch");
        assert!(asked["tools"][0]["description"].as_str().unwrap().ends_with("this grammar:\nstart: X"));
        let answer = r#"{"id":"m","content":[{"type":"tool_use","id":"t","name":"patch","input":{"input":"x\"y"}}],"stop_reason":"tool_use"}"#;
        let answer = way.answer(answer.as_bytes(), Stamp::default()).unwrap();
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        let call = &answer["choices"][0]["message"]["tool_calls"][0];
        assert_eq!(call["type"], "custom");
        assert_eq!(call["custom"], serde_json::json!({"name": "patch", "input": "x\"y"}));
    }
}
