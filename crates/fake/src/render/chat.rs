//! OpenAI chat completions.

use super::{CREATED, Part, Rendered, Saying, Stream, put, quote, quoted};
use crate::answer::Block;
use crate::trouble::InStream;

pub(super) fn whole(saying: &Saying<'_>) -> String {
    let mut out = String::with_capacity(2048);
    let model = quoted(saying.model);
    put!(out, "{{\"id\":\"{}\",\"object\":\"chat.completion\",\"created\":{CREATED},\"model\":{model},", id(saying));
    out.push_str("\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":");
    match text(saying) {
        Some(text) => quote(&mut out, &text),
        None => out.push_str("null"),
    }
    for block in saying.blocks {
        if let Block::Thinking(pieces) = block {
            put!(out, ",\"reasoning_content\":{}", quoted(pieces.text()));
        }
    }
    if saying.calls_tools() {
        out.push_str(",\"tool_calls\":[");
        for (index, (name, arguments)) in tools(saying).enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let (id, name, arguments) = (tool_id(saying, index), quoted(name), quoted(arguments));
            put!(
                out,
                "{comma}{{\"id\":\"{id}\",\"type\":\"function\",\"function\":{{\"name\":{name},\"arguments\":{arguments}}}}}"
            );
        }
        out.push(']');
    }
    out.push_str(",\"refusal\":null,\"annotations\":[]},\"logprobs\":null,\"finish_reason\":");
    put!(out, "\"{}\"}}]", finish_reason(saying));
    if saying.tells_usage {
        put!(out, ",\"usage\":{}", usage(saying));
    }
    out.push_str(",\"service_tier\":\"default\",\"system_fingerprint\":\"fp_fake000000\"}");
    out
}

pub(super) fn stream(saying: &Saying<'_>) -> Rendered {
    let mut stream = Stream::sized(saying.output_tokens());
    let open = format!(
        "data: {{\"id\":\"{}\",\"object\":\"chat.completion.chunk\",\"created\":{CREATED},\"model\":{},\
         \"service_tier\":\"default\",\"system_fingerprint\":\"fp_fake000000\",",
        id(saying),
        quoted(saying.model)
    );
    let null = if saying.tells_usage { ",\"usage\":null" } else { "" };
    let close = format!(",\"logprobs\":null,\"finish_reason\":null}}]{null}}}\n\n");
    let mut event = |part, write: &dyn Fn(&mut String)| {
        stream.text.push_str(&open);
        stream.text.push_str("\"choices\":[{\"index\":0,\"delta\":{");
        write(&mut stream.text);
        stream.text.push('}');
        stream.text.push_str(&close);
        stream.end(part);
    };
    let content = if saying.calls_tools() && text(saying).is_none() { "null" } else { "\"\"" };
    event(Part::Start, &|out| put!(out, "\"role\":\"assistant\",\"content\":{content},\"refusal\":null"));
    let mut tool = 0;
    for block in saying.blocks {
        match block {
            Block::Thinking(pieces) => {
                for piece in pieces.iter() {
                    event(Part::Token, &|out| {
                        out.push_str("\"reasoning_content\":");
                        quote(out, piece);
                    });
                }
            }
            Block::Text(pieces) => {
                for piece in pieces.iter() {
                    event(Part::Token, &|out| {
                        out.push_str("\"content\":");
                        quote(out, piece);
                    });
                }
            }
            Block::Tool { name, arguments } => {
                let id = tool_id(saying, tool);
                event(Part::Frame, &|out| {
                    put!(out, "\"tool_calls\":[{{\"index\":{tool},\"id\":\"{id}\",\"type\":\"function\",");
                    put!(out, "\"function\":{{\"name\":{},\"arguments\":\"\"}}}}]", quoted(name));
                });
                for piece in arguments.iter() {
                    event(Part::Tool, &|out| {
                        put!(out, "\"tool_calls\":[{{\"index\":{tool},\"function\":{{\"arguments\":");
                        quote(out, piece);
                        out.push_str("}}]");
                    });
                }
                tool += 1;
            }
        }
    }
    put!(stream.text, "{open}\"choices\":[{{\"index\":0,\"delta\":{{}},\"logprobs\":null,\"finish_reason\":");
    put!(stream.text, "\"{}\"}}]{null}}}\n\n", finish_reason(saying));
    stream.end(Part::Finish);
    if saying.tells_usage {
        put!(stream.text, "{open}\"choices\":[],\"usage\":{}}}\n\n", usage(saying));
        stream.end(Part::Finish);
    }
    stream.text.push_str("data: [DONE]\n\n");
    stream.end(Part::Done);
    stream.done()
}

pub(super) fn error(trouble: &InStream) -> String {
    format!("data: {{\"error\":{}}}\n\n", trouble.object)
}

fn id(saying: &Saying<'_>) -> String {
    format!("chatcmpl-fake{:024x}", saying.number)
}

fn tool_id(saying: &Saying<'_>, index: usize) -> String {
    format!("call_fake{:016x}{index:03}", saying.number)
}

fn text(saying: &Saying<'_>) -> Option<String> {
    let texts = saying.blocks.iter().filter_map(|block| match block {
        Block::Text(pieces) => Some(pieces.text()),
        Block::Thinking(_) | Block::Tool { .. } => None,
    });
    let all: Vec<&str> = texts.collect();
    (!all.is_empty() || !saying.calls_tools()).then(|| all.concat())
}

fn tools<'a>(saying: &'a Saying<'_>) -> impl Iterator<Item = (&'a str, &'a str)> {
    saying.blocks.iter().filter_map(|block| match block {
        Block::Tool { name, arguments } => Some((name.as_str(), arguments.text())),
        Block::Thinking(_) | Block::Text(_) => None,
    })
}

fn finish_reason(saying: &Saying<'_>) -> &'static str {
    if saying.calls_tools() { "tool_calls" } else { "stop" }
}

fn usage(saying: &Saying<'_>) -> String {
    let (input, output, thinking) = (saying.input_tokens, saying.output_tokens(), saying.thinking_tokens());
    format!(
        "{{\"prompt_tokens\":{input},\"completion_tokens\":{output},\"total_tokens\":{},\
         \"prompt_tokens_details\":{{\"cached_tokens\":0,\"audio_tokens\":0}},\
         \"completion_tokens_details\":{{\"reasoning_tokens\":{thinking},\"audio_tokens\":0,\
         \"accepted_prediction_tokens\":0,\"rejected_prediction_tokens\":0}}}}",
        input + output
    )
}
