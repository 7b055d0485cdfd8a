//! The shape of a prompt, without a word of it.
//!
//! Prompts of one program with one set of instructions look alike: the same format, the same extras,
//! instructions that begin the same, and about the same size. That is their pattern, and it tells
//! which of somebody's prompts fail more often than others.

use super::Envelope;
use crate::Format;

/// Instructions are often followed by what differs from day to day: their beginning tells them apart.
const INSTRUCTIONS_BYTES: usize = 512;

impl Envelope {
    /// The shape of the prompt in `body`, such as `messages stream tools ~16k #3fa9`: its format, what it
    /// asks for, its size in tokens to a power of four, and sixteen bits of a hash of its instructions,
    /// from which no text can be told.
    pub fn pattern(&self, format: Format, body: &[u8]) -> String {
        let mut pattern = match format {
            Format::Chat => "chat",
            Format::Responses => "responses",
            Format::Messages => "messages",
            Format::Gemini => "gemini",
        }
        .to_owned();
        let extras = [
            (self.stream, " stream"),
            (self.tools, " tools"),
            (self.images, " images"),
            (self.thinking, " thinking"),
            (self.json_output, " json"),
        ];
        extras.into_iter().filter(|(is, _)| *is).for_each(|(_, word)| pattern.push_str(word));
        pattern.push_str(size(self.input_tokens));
        let instructions = self.instructions_at.clone().and_then(|range| body.get(range));
        if let Some(instructions) = instructions {
            let beginning = &instructions[..instructions.len().min(INSTRUCTIONS_BYTES)];
            pattern.push_str(&format!(" #{:04x}", hash(beginning)));
        }
        pattern
    }
}

const fn size(tokens: u32) -> &'static str {
    match tokens {
        0..256 => " <256",
        256..1024 => " ~512",
        1024..4096 => " ~2k",
        4096..16_384 => " ~8k",
        16_384..65_536 => " ~32k",
        65_536..262_144 => " ~128k",
        _ => " >256k",
    }
}

/// FNV-1a, folded to sixteen bits: the same in every run and on every machine.
fn hash(bytes: &[u8]) -> u16 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, step);
    (hash ^ hash >> 16 ^ hash >> 32 ^ hash >> 48) as u16
}

#[cfg(test)]
mod tests {
    use crate::{Operation, Request, Route};

    use super::*;

    fn pattern(path: &str, body: &str) -> String {
        let request = Request { method: "POST", path, query: None };
        let route = Route::of(request, false).unwrap();
        let Operation::Generate(format) = route.operation else { panic!("not a prompt") };
        Envelope::peek(&route, request, body.as_bytes()).unwrap().pattern(format, body.as_bytes())
    }

    #[test]
    fn a_pattern_is_the_same_for_prompts_of_one_shape() {
        let ask = |what: &str| {
            format!(r#"{{"model":"m","system":"Be brief.","messages":[{{"role":"user","content":"{what}"}}]}}"#)
        };
        let one = pattern("/v1/messages", &ask("one"));
        assert_eq!(one, pattern("/v1/messages", &ask("another question")));
        assert!(one.starts_with("messages <256 #"), "{one}");
        let other = ask("one").replace("brief", "long");
        assert_ne!(one, pattern("/v1/messages", &other));
    }

    #[test]
    fn instructions_are_found_in_every_format() {
        for (path, body) in [
            ("/v1/chat/completions", r#"{"messages":[{"role":"system","content":"x"},{"role":"user","content":"y"}]}"#),
            ("/v1/responses", r#"{"instructions":"x","input":"y"}"#),
            ("/v1/messages", r#"{"system":[{"type":"text","text":"x"}],"messages":[]}"#),
            ("/v1beta/models/g:generateContent", r#"{"systemInstruction":{"parts":[{"text":"x"}]},"contents":[]}"#),
        ] {
            assert!(pattern(path, body).contains('#'), "{path}");
        }
        let none = r#"{"messages":[{"role":"user","content":"y"}],"tools":[1],"stream":true}"#;
        let none = pattern("/v1/chat/completions", none);
        assert_eq!(none, "chat stream tools <256");
    }
}
