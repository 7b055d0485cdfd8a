//! What an agent's own output says: its conversation, its result, what it used, and how it failed.
//!
//! Exit codes lie: Claude Code reports `"subtype":"success"` on every API failure and exits 0 on SIGINT, Gemini CLI
//! exits 0 on a cut stream (agents.md 4). So an agent that writes events is believed when it says that it is done *and*
//! exits with 0 *and* nobody signalled it. One that writes none is judged by its exit status and its last words.

mod claude;
mod codex;
mod gemini;
mod openclaw;
mod opencode;
mod tools;

use serde_json::Value;
use steadfast_config::AgentOutput;
use steadfast_core::cost::Usage;

use crate::process::output::Lines;

pub use tools::Tools;

/// A result is shown and stored up to this much.
const TEXT_BYTES_MAX: usize = 256 * 1024;

/// Reads what one attempt writes.
#[derive(Debug)]
pub struct Reader {
    output: AgentOutput,
    lines: Lines,
    told: Told,
}

/// What an agent has told so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    /// It writes the events it is known for.
    pub structured: bool,
    /// Its conversation, by the id it is resumed with.
    pub session: Option<String>,
    /// The model it says it used.
    pub model: Option<String>,
    /// What it answered.
    pub result: String,
    /// Tokens.
    pub usage: Usage,
    /// What it says that cost.
    pub usd_micros: Option<u64>,
    /// Its own last word, where it has spoken it.
    pub end: Option<End>,
    /// Retries of its own that it told of.
    pub own_retries: u32,
    /// It goes round in circles.
    pub loops: bool,
    /// What it last complained about; not final.
    pub complaint: Option<Complaint>,
    /// The tools it called.
    pub tools: Tools,
    /// Its last steps ended for no reason it could name.
    unknown_steps: u32,
}

/// An agent's own last word.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// It is done.
    Done,
    /// It failed.
    Failed(Complaint),
}

/// What an agent says went wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Complaint {
    /// The HTTP status it saw.
    pub status: Option<u16>,
    /// Its words.
    pub message: String,
}

impl Reader {
    /// Reads this kind of output.
    pub fn new(output: AgentOutput) -> Self {
        Self { output, lines: Lines::default(), told: Told::default() }
    }

    /// Takes a piece of standard output.
    pub fn push(&mut self, piece: &[u8]) {
        let Self { output, lines, told } = self;
        match output {
            AgentOutput::Text => {}
            _ => lines.push(piece, |line| read(*output, line, told)),
        }
    }

    /// What it told, now that it is over.
    pub fn finish(mut self) -> Told {
        let Self { output, lines, told } = &mut self;
        lines.finish(|line| read(*output, line, told));
        self.told
    }

    /// What it has told so far.
    pub const fn told(&self) -> &Told {
        &self.told
    }
}

fn read(output: AgentOutput, line: &[u8], told: &mut Told) {
    if output == AgentOutput::Openclaw {
        return openclaw::line(line, told);
    }
    // Warnings stand between the events at times.
    let Ok(event) = serde_json::from_slice::<Value>(line) else { return };
    match output {
        AgentOutput::Text | AgentOutput::Openclaw => {}
        AgentOutput::Claude => claude::event(&event, told),
        AgentOutput::Codex => codex::event(&event, told),
        AgentOutput::Gemini => gemini::event(&event, told),
        AgentOutput::Opencode => opencode::event(&event, told),
    }
}

impl Told {
    fn failed(&mut self, status: Option<u16>, message: &str) {
        self.end = Some(End::Failed(Complaint { status, message: message.to_owned() }));
    }

    fn answer(&mut self, text: &str) {
        self.result = cut(text).to_owned();
    }

    fn add_answer(&mut self, text: &str) {
        let room = TEXT_BYTES_MAX.saturating_sub(self.result.len());
        self.result.push_str(&text[..text.floor_char_boundary(room.min(text.len()))]);
    }
}

impl Complaint {
    fn new(status: Option<u16>, message: &str) -> Self {
        Self { status, message: message.to_owned() }
    }
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_BYTES_MAX.min(text.len()))]
}

/// The elements of a list; none where it is no list.
fn list<'a>(value: &'a Value, path: &str) -> impl Iterator<Item = &'a Value> {
    value.pointer(path).and_then(Value::as_array).into_iter().flatten()
}

fn text<'a>(value: &'a Value, path: &str) -> Option<&'a str> {
    value.pointer(path).and_then(Value::as_str)
}

fn count(value: &Value, path: &str) -> u64 {
    value.pointer(path).and_then(Value::as_u64).unwrap_or(0)
}

fn status(value: &Value, path: &str) -> Option<u16> {
    let status = value.pointer(path)?;
    let number = status.as_u64().or_else(|| status.as_str()?.parse().ok())?;
    u16::try_from(number).ok().filter(|status| (100..600).contains(status))
}

fn usd_micros(value: &Value, path: &str) -> Option<u64> {
    let usd = value.pointer(path)?.as_f64().filter(|usd| (0.0..1e9).contains(usd))?;
    Some((usd * 1e6).round() as u64)
}

#[cfg(test)]
mod tests;
