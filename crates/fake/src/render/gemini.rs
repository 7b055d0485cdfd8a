//! Gemini generateContent and streamGenerateContent.

use super::{Part, Rendered, Saying, Stream, put, quote, quoted};
use crate::answer::Block;
use crate::trouble::InStream;

pub(super) fn whole(saying: &Saying<'_>) -> String {
    let mut parts = String::with_capacity(1024);
    for block in saying.blocks {
        parts.push_str(if parts.is_empty() { "" } else { "," });
        match block {
            Block::Thinking(pieces) => text_part(&mut parts, pieces.text(), true),
            Block::Text(pieces) => text_part(&mut parts, pieces.text(), false),
            Block::Tool { name, arguments } => call_part(&mut parts, name, arguments.text()),
        }
    }
    answer(saying, &parts, Some("STOP"), Some(saying.output_tokens()))
}

/// As events (`alt=sse`).
pub(super) fn stream(saying: &Saying<'_>) -> Rendered {
    let mut stream = Stream::sized(saying.output_tokens());
    for (part, chunk) in chunks(saying) {
        put!(stream.text, "data: {chunk}\r\n\r\n");
        stream.end(part);
    }
    stream.done()
}

/// As one JSON array that is sent element by element.
pub(super) fn array(saying: &Saying<'_>) -> Rendered {
    let mut stream = Stream::sized(saying.output_tokens());
    for (index, (part, chunk)) in chunks(saying).into_iter().enumerate() {
        stream.text.push_str(if index == 0 { "[" } else { ",\r\n" });
        stream.text.push_str(&chunk);
        stream.end(part);
    }
    stream.text.push_str("]\n");
    stream.end(Part::Done);
    stream.done()
}

pub(super) fn error(trouble: &InStream) -> String {
    format!("data: {{\"error\":{}}}\r\n\r\n", trouble.object)
}

pub(super) fn error_in_array(trouble: &InStream, events: usize) -> String {
    let open = if events == 0 { "[" } else { ",\r\n" };
    format!("{open}{{\"error\":{}}}]\n", trouble.object)
}

/// Each chunk is an answer of its own. The last one carries the finish reason; there is no other end.
fn chunks(saying: &Saying<'_>) -> Vec<(Part, String)> {
    let mut chunks = Vec::with_capacity(saying.output_tokens() + 1);
    let mut told = 0;
    for block in saying.blocks {
        match block {
            Block::Thinking(pieces) | Block::Text(pieces) => {
                for piece in pieces.iter() {
                    told += 1;
                    let mut part = String::new();
                    text_part(&mut part, piece, matches!(block, Block::Thinking(_)));
                    chunks.push((Part::Token, answer(saying, &part, None, Some(told))));
                }
            }
            Block::Tool { name, arguments } => {
                // Gemini sends a call whole.
                told += arguments.len();
                let mut part = String::new();
                call_part(&mut part, name, arguments.text());
                chunks.push((Part::Tool, answer(saying, &part, None, Some(told))));
            }
        }
    }
    chunks.push((Part::Done, answer(saying, "{\"text\":\"\"}", Some("STOP"), Some(told))));
    chunks
}

fn text_part(out: &mut String, text: &str, thought: bool) {
    out.push_str("{\"text\":");
    quote(out, text);
    out.push_str(if thought { ",\"thought\":true}" } else { "}" });
}

fn call_part(out: &mut String, name: &str, arguments: &str) {
    put!(out, "{{\"functionCall\":{{\"name\":{},\"args\":{arguments}}}}}", quoted(name));
}

fn answer(saying: &Saying<'_>, parts: &str, finish: Option<&str>, output: Option<usize>) -> String {
    let mut out = String::with_capacity(parts.len() + 512);
    put!(out, "{{\"candidates\":[{{\"content\":{{\"parts\":[{parts}],\"role\":\"model\"}}");
    if let Some(finish) = finish {
        put!(out, ",\"finishReason\":\"{finish}\"");
    }
    out.push_str(",\"index\":0}]");
    if let Some(output) = output.filter(|_| saying.tells_usage) {
        let (input, thinking) = (saying.input_tokens, saying.thinking_tokens().min(output));
        let (total, output) = (input + output, output - thinking);
        put!(out, ",\"usageMetadata\":{{\"promptTokenCount\":{input},\"candidatesTokenCount\":{output},");
        if thinking > 0 {
            put!(out, "\"thoughtsTokenCount\":{thinking},");
        }
        put!(
            out,
            "\"totalTokenCount\":{total},\"promptTokensDetails\":[{{\"modality\":\"TEXT\",\"tokenCount\":{input}}}]}}"
        );
    }
    put!(out, ",\"modelVersion\":{},\"responseId\":\"fake{:018x}\"}}", quoted(saying.model), saying.number);
    out
}
