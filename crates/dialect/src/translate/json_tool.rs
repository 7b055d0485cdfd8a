//! JSON where there is no switch for it: a tool that the model must call, and whose arguments are the answer.
//!
//! The client never sees the tool. It gets the arguments as the text it asked for, in one piece, because a call is
//! whole or it is nothing.

use super::canon::{Event, Output, Part, Prompt, Raw, Stop, Str, Tool, ToolCall, ToolChoice};
use super::out;
use super::read::raw;
use crate::json::Cursor;

const NAME: &str = "answer";

const DESCRIPTION: &str = "Gives the answer. It is called once, with the whole answer.";

/// Where the answer stands within the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonTool {
    /// They are the answer.
    Whole,
    /// The answer is no object, but arguments must be one: it stands under a name of ours.
    Wrapped,
}

impl JsonTool {
    /// Puts the tool into a prompt in place of its demand for JSON; not where it has tools of its own, which the
    /// model could not call any more, or is to think, which forbids to force it.
    pub(super) fn put(prompt: &mut Prompt<'_>, thinks: bool) -> Option<Self> {
        let Output::Schema { schema, .. } = &prompt.output else { return None };
        if thinks || !prompt.tools.is_empty() {
            return None;
        }
        let kind = serde_json::from_str::<serde_json::Value>(schema.json()).ok()?;
        let is_object = kind.get("type").is_some_and(|kind| kind == "object");
        let (held, parameters) = match is_object {
            true => (Self::Whole, Raw::made(schema.json().to_owned())),
            // Its definitions would not be found at another depth.
            false if schema.json().contains("\"$ref\"") => return None,
            false => (Self::Wrapped, wrapped(schema)),
        };
        let name = Str::plain(NAME);
        prompt.output = Output::Text;
        prompt.tool_choice = ToolChoice::Tool(name.clone());
        prompt.parallel_tools = Some(false);
        let description = Some(Str::plain(DESCRIPTION));
        prompt.tools.push(Tool { name, description, parameters: Some(parameters), ..Tool::default() });
        Some(held)
    }

    /// The answer that a call holds, as text.
    fn answer(self, call: &ToolCall<'_>) -> Str<'static> {
        let mut found = None;
        if self == Self::Wrapped {
            // Read from JSON that was read before.
            let _ = Cursor::new(call.arguments.json().as_bytes()).object(|cursor, key| {
                match key.name() == NAME.as_bytes() {
                    true => found = raw(cursor)?.map(|answer| answer.as_str()),
                    false => cursor.skip()?,
                }
                Ok(())
            });
        }
        found.unwrap_or_else(|| call.arguments.as_str())
    }

    /// A piece of an answer as the client asked for it.
    pub(super) fn part<'a>(self, part: Part<'a>) -> Part<'a> {
        match part {
            Part::ToolCall(call) => Part::Text(self.answer(&call)),
            other => other,
        }
    }

    /// A piece of a stream as the client asked for it.
    pub(super) fn event<'a>(self, event: Event<'a>) -> Event<'a> {
        match event {
            Event::ToolCall(call) => Event::Text(self.answer(&call)),
            Event::Stop(stop) => Event::Stop(Self::stop(stop)),
            other => other,
        }
    }

    /// The model has not stopped for a tool.
    pub(super) const fn stop(stop: Stop) -> Stop {
        match stop {
            Stop::ToolCalls => Stop::Done,
            other => other,
        }
    }
}

fn wrapped(schema: &Raw<'_>) -> Raw<'static> {
    Raw::made(out::made(|object| {
        object.word("type", "object");
        object.object("properties", |properties| properties.raw(NAME, schema));
        object.array("required", |required| required.text(&Str::plain(NAME)));
    }))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use crate::translate::{Stamp, Target, Translation, request};
    use crate::{Format, Frames, Framing};

    fn asked(schema: &str, model: &str, more: &str) -> Translation {
        let body = format!(
            r#"{{"model":"m","messages":[{{"role":"user","content":"go"}}],"response_format":{{"type":"json_schema","json_schema":{{"name":"n","schema":{schema}}}}}{more}}}"#
        );
        let target = Target { format: Format::Messages, model, thinks: true };
        request(Format::Chat, body.as_bytes(), true, target).unwrap()
    }

    fn content(answer: &str) -> String {
        let answer: serde_json::Value = serde_json::from_str(answer).unwrap();
        assert_eq!(answer["choices"][0]["finish_reason"], "stop");
        answer["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
    }

    #[test]
    fn an_old_model_answers_by_a_tool_that_the_client_does_not_see() {
        let way = asked(r#"{"type":"object","properties":{"a":{"type":"integer"}}}"#, "claude-3-5-haiku-latest", "");
        let body: serde_json::Value = serde_json::from_str(&way.body).unwrap();
        assert_eq!(body["tool_choice"]["name"], "answer");
        assert_eq!(body["tools"][0]["input_schema"]["properties"]["a"]["type"], "integer");
        assert!(body.get("output_config").is_none() && body.get("system").is_none());
        assert_eq!(way.notes.to_string(), "changed=response_format");
        let answer = r#"{"id":"m","content":[{"type":"tool_use","id":"t","name":"answer","input":{"a":7}}],"stop_reason":"tool_use"}"#;
        assert_eq!(content(&way.answer(answer.as_bytes(), Stamp::default()).unwrap()), r#"{"a":7}"#);
    }

    #[test]
    fn a_list_is_wrapped_for_the_tool_and_unwrapped_for_the_client() {
        let way = asked(r#"{"type":"array","items":{"type":"string"}}"#, "claude-sonnet-4-5", "");
        assert!(way.body.contains(r#""input_schema":{"type":"object","properties":{"answer":{"type":"array""#));
        let frames = concat!(
            r#"data: {"type":"message_start","message":{"id":"m"}}"#,
            "\n\n",
            r#"data: {"type":"content_block_start","content_block":{"type":"tool_use","id":"t","name":"answer"}}"#,
            "\n\n",
            r#"data: {"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{\"answer\":[\"x\","}}"#,
            "\n\n",
            r#"data: {"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"\"y\"]}"}}"#,
            "\n\n",
            r#"data: {"type":"content_block_stop"}"#,
            "\n\n",
            r#"data: {"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
            "\n\n",
            r#"data: {"type":"message_stop"}"#,
            "\n\n",
        );
        let mut stream = way.stream(Framing::Sse, Stamp::default());
        let mut read = Frames::new(Framing::Sse);
        read.feed(Bytes::from_static(frames.as_bytes())).unwrap();
        let mut out = Vec::new();
        while let Some(frame) = read.next() {
            out.extend_from_slice(&stream.feed(&frame).unwrap());
        }
        let out = String::from_utf8(out).unwrap();
        assert!(out.contains(r#""content":"[\"x\",\"y\"]""#), "{out}");
        assert!(out.contains(r#""finish_reason":"stop""#) && !out.contains("tool_calls"), "{out}");
    }

    #[test]
    fn where_no_tool_can_be_forced_json_is_asked_for_in_words() {
        let list = r#"{"type":"array","items":{"type":"string"}}"#;
        let tools = r#","tools":[{"type":"function","function":{"name":"f"}}]"#;
        for more in [tools, r#","reasoning_effort":"high""#] {
            let way = asked(list, "claude-sonnet-4-5", more);
            assert!(way.body.contains("fits this JSON schema"), "{}", way.body);
        }
    }
}
