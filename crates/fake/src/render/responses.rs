//! OpenAI responses.

use super::{CREATED, Part, Rendered, Saying, Stream, put, quote, quoted};
use crate::answer::Block;
use crate::trouble::InStream;

pub(super) fn whole(saying: &Saying<'_>) -> String {
    response(saying, "completed", &items(saying), "null")
}

pub(super) fn stream(saying: &Saying<'_>) -> Rendered {
    let mut events = Events { stream: Stream::sized(saying.output_tokens() + 8), number: 0 };
    let begun = response(saying, "in_progress", "", "null");
    events.put(Part::Start, "response.created", &format!("\"response\":{begun}"));
    events.put(Part::Start, "response.in_progress", &format!("\"response\":{begun}"));
    for (index, block) in saying.blocks.iter().enumerate() {
        let id = item_id(saying, index, block);
        let head = format!("\"output_index\":{index},\"item\":");
        events.put(Part::Frame, "response.output_item.added", &format!("{head}{}", item(saying, index, block, false)));
        match block {
            Block::Thinking(pieces) => {
                let at = format!("\"item_id\":\"{id}\",\"output_index\":{index},\"summary_index\":0");
                let empty = "{\"type\":\"summary_text\",\"text\":\"\"}";
                events.put(Part::Frame, "response.reasoning_summary_part.added", &format!("{at},\"part\":{empty}"));
                for piece in pieces.iter() {
                    events.delta(Part::Token, "response.reasoning_summary_text.delta", &at, piece);
                }
                let text = quoted(pieces.text());
                events.put(Part::Frame, "response.reasoning_summary_text.done", &format!("{at},\"text\":{text}"));
                let part = format!("{at},\"part\":{{\"type\":\"summary_text\",\"text\":{text}}}");
                events.put(Part::Frame, "response.reasoning_summary_part.done", &part);
            }
            Block::Text(pieces) => {
                let at = format!("\"item_id\":\"{id}\",\"output_index\":{index},\"content_index\":0");
                events.put(Part::Frame, "response.content_part.added", &format!("{at},\"part\":{}", text_part("")));
                for piece in pieces.iter() {
                    events.delta(Part::Token, "response.output_text.delta", &format!("{at},\"logprobs\":[]"), piece);
                }
                let text = quoted(pieces.text());
                events.put(Part::Frame, "response.output_text.done", &format!("{at},\"text\":{text},\"logprobs\":[]"));
                let part = text_part(pieces.text());
                events.put(Part::Frame, "response.content_part.done", &format!("{at},\"part\":{part}"));
            }
            Block::Tool { name, arguments } => {
                let at = format!("\"item_id\":\"{id}\",\"output_index\":{index}");
                for piece in arguments.iter() {
                    events.delta(Part::Tool, "response.function_call_arguments.delta", &at, piece);
                }
                let (name, whole) = (quoted(name), quoted(arguments.text()));
                let done = format!("{at},\"name\":{name},\"arguments\":{whole}");
                events.put(Part::Frame, "response.function_call_arguments.done", &done);
            }
        }
        events.put(Part::Frame, "response.output_item.done", &format!("{head}{}", item(saying, index, block, true)));
    }
    events.put(Part::Done, "response.completed", &format!("\"response\":{}", whole(saying)));
    events.stream.done()
}

pub(super) fn error(saying: &Saying<'_>, trouble: &InStream, events: usize) -> String {
    let error = format!("{{\"code\":\"{}\",\"message\":{}}}", trouble.code, quoted(&trouble.message));
    let failed = response(saying, "failed", "", &error);
    let mut out = Events { stream: Stream::default(), number: events };
    out.put(Part::Done, "response.failed", &format!("\"response\":{failed}"));
    out.stream.text
}

/// Events while they are written, numbered.
struct Events {
    stream: Stream,
    number: usize,
}

impl Events {
    fn put(&mut self, part: Part, name: &str, members: &str) {
        let number = self.number;
        put!(
            self.stream.text,
            "event: {name}\ndata: {{\"type\":\"{name}\",\"sequence_number\":{number},{members}}}\n\n"
        );
        self.number += 1;
        self.stream.end(part);
    }

    fn delta(&mut self, part: Part, name: &str, members: &str, piece: &str) {
        let (out, number) = (&mut self.stream.text, self.number);
        put!(out, "event: {name}\ndata: {{\"type\":\"{name}\",\"sequence_number\":{number},{members},\"delta\":");
        quote(out, piece);
        // Random padding against traffic analysis, which OpenAI sends with every delta.
        out.push_str(",\"obfuscation\":\"f4k3\"}\n\n");
        self.number += 1;
        self.stream.end(part);
    }
}

fn items(saying: &Saying<'_>) -> String {
    let items = saying.blocks.iter().enumerate().map(|(index, block)| item(saying, index, block, true));
    items.collect::<Vec<_>>().join(",")
}

fn item_id(saying: &Saying<'_>, index: usize, block: &Block) -> String {
    let kind = match block {
        Block::Thinking(_) => "rs",
        Block::Text(_) => "msg",
        Block::Tool { .. } => "fc",
    };
    format!("{kind}_fake{:024x}{index:04}", saying.number)
}

/// An item of the output, at its beginning or whole.
fn item(saying: &Saying<'_>, index: usize, block: &Block, whole: bool) -> String {
    let id = item_id(saying, index, block);
    let status = if whole { "completed" } else { "in_progress" };
    match block {
        Block::Thinking(pieces) => {
            let summary = format!("{{\"type\":\"summary_text\",\"text\":{}}}", quoted(pieces.text()));
            let summary = if whole { summary } else { String::new() };
            format!(
                "{{\"id\":\"{id}\",\"type\":\"reasoning\",\"summary\":[{summary}],\"encrypted_content\":\"Z0FBQUFmYWtl\"}}"
            )
        }
        Block::Text(pieces) => {
            let content = if whole { text_part(pieces.text()) } else { String::new() };
            format!(
                "{{\"id\":\"{id}\",\"type\":\"message\",\"status\":\"{status}\",\"role\":\"assistant\",\"content\":[{content}]}}"
            )
        }
        Block::Tool { name, arguments } => {
            let arguments = quoted(if whole { arguments.text() } else { "" });
            let (name, number) = (quoted(name), saying.number);
            format!(
                "{{\"id\":\"{id}\",\"type\":\"function_call\",\"status\":\"{status}\",\"name\":{name},\
                 \"call_id\":\"call_fake{number:016x}{index:03}\",\"arguments\":{arguments}}}"
            )
        }
    }
}

fn text_part(text: &str) -> String {
    format!("{{\"type\":\"output_text\",\"annotations\":[],\"logprobs\":[],\"text\":{}}}", quoted(text))
}

fn response(saying: &Saying<'_>, status: &str, output: &str, error: &str) -> String {
    let mut out = String::with_capacity(output.len() + 1024);
    put!(out, "{{\"id\":\"resp_fake{:032x}\",\"object\":\"response\",\"created_at\":{CREATED},", saying.number);
    put!(out, "\"status\":\"{status}\",\"background\":false,\"error\":{error},\"incomplete_details\":null,");
    put!(out, "\"instructions\":null,\"max_output_tokens\":null,\"model\":{},", quoted(saying.model));
    put!(out, "\"output\":[{output}],\"parallel_tool_calls\":true,\"previous_response_id\":null,");
    out.push_str("\"reasoning\":{\"effort\":null,\"summary\":null},\"service_tier\":\"default\",\"store\":true,");
    out.push_str(
        "\"temperature\":1.0,\"text\":{\"format\":{\"type\":\"text\"}},\"tool_choice\":\"auto\",\"tools\":[],",
    );
    out.push_str("\"top_p\":1.0,\"truncation\":\"disabled\",\"usage\":");
    if status == "completed" && saying.tells_usage {
        let (input, output, thinking) = (saying.input_tokens, saying.output_tokens(), saying.thinking_tokens());
        put!(out, "{{\"input_tokens\":{input},\"input_tokens_details\":{{\"cached_tokens\":0}},");
        put!(out, "\"output_tokens\":{output},\"output_tokens_details\":{{\"reasoning_tokens\":{thinking}}},");
        put!(out, "\"total_tokens\":{}}}", input + output);
    } else {
        out.push_str("null");
    }
    out.push_str(",\"user\":null,\"metadata\":{}}");
    out
}
