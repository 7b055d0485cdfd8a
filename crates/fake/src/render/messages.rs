//! Anthropic messages.

use super::{Part, Rendered, Saying, Stream, put, quote, quoted};
use crate::answer::Block;
use crate::trouble::InStream;

/// Stands for what Anthropic signs thinking with.
const SIGNATURE: &str = "EqQBCgIYAhIkZmFrZS1zaWduYXR1cmUtb2YtYS1mYWtlLXRob3VnaHQ=";

pub(super) fn whole(saying: &Saying<'_>) -> String {
    let mut out = String::with_capacity(2048);
    let model = quoted(saying.model);
    put!(
        out,
        "{{\"id\":\"{}\",\"type\":\"message\",\"role\":\"assistant\",\"model\":{model},\"content\":[",
        id(saying)
    );
    for (index, block) in saying.blocks.iter().enumerate() {
        out.push_str(if index == 0 { "" } else { "," });
        match block {
            Block::Thinking(pieces) => {
                let text = quoted(pieces.text());
                put!(out, "{{\"type\":\"thinking\",\"thinking\":{text},\"signature\":\"{SIGNATURE}\"}}");
            }
            Block::Text(pieces) => {
                out.push_str("{\"type\":\"text\",\"text\":");
                quote(&mut out, pieces.text());
                out.push('}');
            }
            Block::Tool { name, arguments } => {
                let (id, name, input) = (tool_id(saying, index), quoted(name), arguments.text());
                put!(out, "{{\"type\":\"tool_use\",\"id\":\"{id}\",\"name\":{name},\"input\":{input}}}");
            }
        }
    }
    put!(out, "],\"stop_reason\":\"{}\",\"stop_sequence\":null", stop_reason(saying));
    if saying.tells_usage {
        put!(out, ",\"usage\":{}", usage(saying, saying.output_tokens()));
    }
    out.push('}');
    out
}

pub(super) fn stream(saying: &Saying<'_>) -> Rendered {
    let mut stream = Stream::sized(saying.output_tokens());
    start(saying, &mut stream);
    for (index, block) in saying.blocks.iter().enumerate() {
        let empty = match block {
            Block::Thinking(_) => "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}".to_owned(),
            Block::Text(_) => "{\"type\":\"text\",\"text\":\"\"}".to_owned(),
            Block::Tool { name, .. } => {
                let (id, name) = (tool_id(saying, index), quoted(name));
                format!("{{\"type\":\"tool_use\",\"id\":\"{id}\",\"name\":{name},\"input\":{{}}}}")
            }
        };
        put!(
            stream.text,
            "event: content_block_start\ndata: {{\"type\":\"content_block_start\",\"index\":{index},\"content_block\":{empty}}}\n\n"
        );
        stream.end(Part::Frame);
        if index == 0 {
            stream.text.push_str("event: ping\ndata: {\"type\": \"ping\"}\n\n");
            stream.end(Part::Frame);
        }
        let (kind, member, part, pieces) = match block {
            Block::Thinking(pieces) => ("thinking_delta", "thinking", Part::Token, pieces),
            Block::Text(pieces) => ("text_delta", "text", Part::Token, pieces),
            Block::Tool { arguments, .. } => ("input_json_delta", "partial_json", Part::Tool, arguments),
        };
        let open = format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":{index},\"delta\":{{\"type\":\"{kind}\",\"{member}\":"
        );
        for piece in pieces.iter() {
            stream.text.push_str(&open);
            quote(&mut stream.text, piece);
            stream.text.push_str("}}\n\n");
            stream.end(part);
        }
        if matches!(block, Block::Thinking(_)) {
            put!(
                stream.text,
                "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":{index},\"delta\":{{\"type\":\"signature_delta\",\"signature\":\"{SIGNATURE}\"}}}}\n\n"
            );
            stream.end(Part::Frame);
        }
        put!(stream.text, "event: content_block_stop\ndata: {{\"type\":\"content_block_stop\",\"index\":{index}}}\n\n");
        stream.end(Part::Frame);
    }
    put!(stream.text, "event: message_delta\ndata: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":");
    put!(stream.text, "\"{}\",\"stop_sequence\":null}}", stop_reason(saying));
    if saying.tells_usage {
        put!(stream.text, ",\"usage\":{{\"output_tokens\":{}}}", saying.output_tokens());
    }
    stream.text.push_str("}\n\n");
    stream.end(Part::Finish);
    stream.text.push_str("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
    stream.end(Part::Done);
    stream.done()
}

fn start(saying: &Saying<'_>, stream: &mut Stream) {
    let model = quoted(saying.model);
    put!(stream.text, "event: message_start\ndata: {{\"type\":\"message_start\",\"message\":{{");
    put!(stream.text, "\"id\":\"{}\",\"type\":\"message\",\"role\":\"assistant\",\"model\":{model},", id(saying));
    stream.text.push_str("\"content\":[],\"stop_reason\":null,\"stop_sequence\":null");
    if saying.tells_usage {
        put!(stream.text, ",\"usage\":{}", usage(saying, 1));
    }
    stream.text.push_str("}}\n\n");
    stream.end(Part::Start);
}

pub(super) fn error(trouble: &InStream) -> String {
    format!("event: error\ndata: {{\"type\":\"error\",\"error\":{}}}\n\n", trouble.object)
}

fn id(saying: &Saying<'_>) -> String {
    format!("msg_01Fake{:018x}", saying.number)
}

fn tool_id(saying: &Saying<'_>, index: usize) -> String {
    format!("toolu_01Fake{:015x}{index:03}", saying.number)
}

fn stop_reason(saying: &Saying<'_>) -> &'static str {
    if saying.calls_tools() { "tool_use" } else { "end_turn" }
}

fn usage(saying: &Saying<'_>, output: usize) -> String {
    let input = saying.input_tokens;
    format!(
        "{{\"input_tokens\":{input},\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":0,\
         \"cache_creation\":{{\"ephemeral_5m_input_tokens\":0,\"ephemeral_1h_input_tokens\":0}},\
         \"output_tokens\":{output},\"service_tier\":\"standard\"}}"
    )
}
