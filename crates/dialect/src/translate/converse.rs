//! A conversation of our own, for faces that talk to models themselves: written as a chat request, and its answer
//! heard piece by piece.
//!
//! Endpoints of other formats are asked through the usual translation, so that this is the only
//! place where a face needs to know what a request looks like.

use serde_json::{Value, json};

use super::canon::{Event, ToolCall as Called};
use super::chat;
use crate::{Frame, Malformed};

/// Where such a request goes.
pub const PATH: &str = "/v1/chat/completions";

/// What a model is asked.
#[derive(Clone, Copy, Debug)]
pub struct Conversation<'a> {
    /// The model.
    pub model: &'a str,
    /// What stands above the conversation.
    pub system: &'a str,
    /// What was said, in order.
    pub turns: &'a [Turn],
    /// What it may call.
    pub tools: &'a [Tool],
}

/// One thing that was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// To the model.
    To(String),
    /// By the model, with the tools it called.
    By {
        /// What it said.
        text: String,
        /// What it called.
        calls: Vec<ToolCall>,
    },
    /// What a tool it called gave back.
    Result {
        /// The call's id.
        id: String,
        /// What came back.
        text: String,
    },
}

/// A tool a model may call.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Its parameters, as a JSON schema.
    pub parameters: Value,
}

/// A whole call of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// Names it.
    pub id: String,
    /// The tool.
    pub name: String,
    /// A JSON object.
    pub arguments: String,
}

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// More words.
    Text(String),
    /// A whole call of a tool.
    Call(ToolCall),
}

/// Hears an answer.
#[derive(Clone, Debug, Default)]
pub struct Listener(chat::Reader);

impl Conversation<'_> {
    /// The body of a request that streams.
    pub fn request(&self) -> Vec<u8> {
        let system = json!({ "role": "system", "content": self.system });
        let messages: Vec<Value> = std::iter::once(system).chain(self.turns.iter().map(message)).collect();
        let mut body = json!({
            "model": self.model,
            "stream": true,
            "stream_options": { "include_usage": true },
            "messages": messages,
        });
        if !self.tools.is_empty() {
            body["tools"] = self.tools.iter().map(tool).collect();
        }
        body.to_string().into_bytes()
    }
}

impl Listener {
    /// What the next frame says; often nothing.
    pub fn hear(&mut self, frame: &Frame) -> Result<Vec<Heard>, Malformed> {
        let mut heard = Vec::new();
        if frame.is_comment() || frame.data().is_empty() {
            return Ok(heard);
        }
        let mut sink = |event: Event<'_>| match event {
            Event::Text(text) | Event::Refusal(text) => heard.push(Heard::Text(text.decode().into_owned())),
            Event::ToolCall(call) => heard.push(Heard::Call(whole_call(&call))),
            Event::Start { .. } | Event::Thinking(_) | Event::Seal(_) | Event::Tokens(_) | Event::Stop(_) => {}
            Event::End => {}
        };
        self.0.feed(frame, &mut sink)?;
        Ok(heard)
    }
}

fn message(turn: &Turn) -> Value {
    match turn {
        Turn::To(text) => json!({ "role": "user", "content": text }),
        Turn::By { text, calls } if calls.is_empty() => json!({ "role": "assistant", "content": text }),
        Turn::By { text, calls } => {
            let calls: Vec<Value> = calls.iter().map(call).collect();
            let content = if text.is_empty() { Value::Null } else { Value::from(text.as_str()) };
            json!({ "role": "assistant", "content": content, "tool_calls": calls })
        }
        Turn::Result { id, text } => json!({ "role": "tool", "tool_call_id": id, "content": text }),
    }
}

fn call(call: &ToolCall) -> Value {
    let function = json!({ "name": call.name, "arguments": call.arguments });
    json!({ "id": call.id, "type": "function", "function": function })
}

fn tool(tool: &Tool) -> Value {
    let function = json!({ "name": tool.name, "description": tool.description, "parameters": tool.parameters });
    json!({ "type": "function", "function": function })
}

fn whole_call(call: &Called<'_>) -> ToolCall {
    ToolCall {
        id: call.id.decode().into_owned(),
        name: call.name.decode().into_owned(),
        arguments: call.arguments.json().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Frames, Framing};

    fn hear(stream: &'static str) -> Result<Vec<Heard>, Malformed> {
        let mut frames = Frames::new(Framing::Sse);
        frames.feed(stream.into()).unwrap();
        let mut listener = Listener::default();
        let mut heard = Vec::new();
        while let Some(frame) = frames.next() {
            heard.extend(listener.hear(&frame)?);
        }
        Ok(heard)
    }

    #[test]
    fn words_and_whole_calls_are_heard() {
        let heard = hear(concat!(
            ": ping\n\n",
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"}}]}\n\n",
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"G\\u00fcte \"}}]}\n\n",
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"look\",\"arguments\":\"{\\\"a\\\"\"}}]}}]}\n\n",
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\":1}\"}}]}}]}\n\n",
            "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
            "data: [DONE]\n\n",
        ));
        let call = ToolCall { id: "c1".to_owned(), name: "look".to_owned(), arguments: "{\"a\":1}".to_owned() };
        assert_eq!(heard.unwrap(), [Heard::Text("Güte ".to_owned()), Heard::Call(call)]);
    }

    #[test]
    fn a_request_is_read_back_by_its_own_format() {
        let calls = vec![ToolCall { id: "c1".to_owned(), name: "look".to_owned(), arguments: "{}".to_owned() }];
        let turns = [
            Turn::To("hello".to_owned()),
            Turn::By { text: String::new(), calls },
            Turn::Result { id: "c1".to_owned(), text: "nothing".to_owned() },
        ];
        let tools = [Tool { name: "look".to_owned(), description: "looks".to_owned(), parameters: json!({}) }];
        let body = Conversation { model: "m", system: "be brief", turns: &turns, tools: &tools }.request();
        let mut notes = crate::translate::Notes::default();
        let prompt = chat::read_request(&body, &mut notes).unwrap();
        assert_eq!((prompt.turns.len(), prompt.tools.len(), prompt.system.len()), (3, 1, 1));
    }
}
