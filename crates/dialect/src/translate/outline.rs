//! A conversation as a person looks it over: who speaks, how much, which tools are called, in every format alike.

use crate::json::Broken;
use crate::{Format, Malformed};

use super::canon::{Part, Prompt, Role, Str};
use super::{Notes, read_prompt};

/// One message of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// `system`, `user`, `assistant` or `tool`.
    pub role: &'static str,
    /// What it says; thoughts, arguments and results of tools included, pictures and files by their name only.
    pub text: String,
    /// The tools it calls, or whose results it holds where the role is `tool`.
    pub tools: Vec<String>,
    /// Pictures and files in it.
    pub attachments: usize,
}

/// The messages of a request, the system's first.
pub fn outline(format: Format, body: &[u8]) -> Result<Vec<Message>, Malformed> {
    if let Err(error) = std::str::from_utf8(body) {
        return Err(Malformed { at_byte: error.valid_up_to(), what: "not UTF-8".to_owned() });
    }
    let prompt = read_prompt(format, body, &mut Notes::default()).map_err(|broken: Broken| Malformed::from(broken))?;
    let system = prompt.system.iter().filter(|text| !text.is_empty());
    let system = system.map(|text| Message { role: "system", text: text.decode().into_owned(), ..Message::default() });
    let turns = prompt.turns.iter().map(|turn| {
        let results = turn.parts.iter().any(|part| matches!(part, Part::ToolResult(_)));
        let role = match turn.role {
            Role::User if results => "tool",
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        let mut message = Message { role, ..Message::default() };
        message.take(&prompt, &turn.parts);
        message
    });
    Ok(system.chain(turns).collect())
}

impl Message {
    fn take(&mut self, prompt: &Prompt<'_>, parts: &[Part<'_>]) {
        for part in parts {
            match part {
                Part::Text(text) | Part::Refusal(text) => self.say(&text.decode()),
                Part::Thinking(thought) => self.say(&thought.text.decode()),
                Part::Image(_) => self.attach("[picture]"),
                Part::File { name, .. } => {
                    let name = name.as_ref().map_or_else(|| "without a name".into(), Str::decode);
                    self.attach(&format!("[file {name}]"));
                }
                Part::ToolCall(call) => {
                    let name = call.name.decode().into_owned();
                    self.say(&format!("{name}({})", call.arguments.json()));
                    self.tools.push(name);
                }
                Part::ToolResult(result) => {
                    let name = prompt.tool_of(result).map_or_else(|| "unknown".into(), Str::decode).into_owned();
                    self.tools.push(name);
                    self.take(prompt, &result.parts);
                }
            }
        }
    }

    fn say(&mut self, text: &str) {
        if !self.text.is_empty() && !text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }

    fn attach(&mut self, what: &str) {
        self.attachments += 1;
        self.say(what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(format: Format, body: &str, expected: &[&str]) {
        let told: Vec<String> = outline(format, body.as_bytes())
            .unwrap()
            .iter()
            .map(|one| format!("{} {:?} {} {}", one.role, one.text, one.tools.join(","), one.attachments))
            .collect();
        assert_eq!(told, expected);
    }

    #[test]
    fn a_conversation_is_told_alike_in_every_format() {
        check(
            Format::Chat,
            r#"{"messages":[{"role":"system","content":"be kind"},{"role":"user","content":"say \"hi\""},
               {"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"look","arguments":"{\"at\":1}"}}]},
               {"role":"tool","tool_call_id":"1","content":"a cat"}]}"#,
            &[
                r#"system "be kind"  0"#,
                r#"user "say \"hi\""  0"#,
                r#"assistant "look({\"at\":1})" look 0"#,
                r#"tool "a cat" look 0"#,
            ],
        );
        check(
            Format::Messages,
            r#"{"system":"be kind","messages":[{"role":"user","content":[{"type":"text","text":"what is it"},
               {"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]}]}"#,
            &[r#"system "be kind"  0"#, r#"user "what is it\n[picture]"  1"#],
        );
        check(Format::Responses, r#"{"input":"hi"}"#, &[r#"user "hi"  0"#]);
        check(Format::Gemini, r#"{"contents":[{"role":"model","parts":[{"text":"hi"}]}]}"#, &[r#"assistant "hi"  0"#]);
    }

    #[test]
    fn what_is_no_request_is_refused() {
        assert!(outline(Format::Chat, b"no").is_err());
        assert!(outline(Format::Chat, &[0xff]).is_err());
    }
}
