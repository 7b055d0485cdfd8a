//! What the other vendor would reject is put right before it is written.
//!
//! Sealed thinking is left out, ids and names are made to fit, and an answer that the client has begun
//! becomes a request to go on with it.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::canon::{Answer, Output, Part, Prompt, Role, Stop, Str, ToolCall, ToolChoice, ToolResult};
use super::{Notes, Target};
use crate::Format;

const GO_ON: &str = "Go on exactly where your last message stops, and repeat nothing of it.";

/// The tools' names that had to be changed, and what the client calls them.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    changed: Vec<(Str<'static>, Str<'static>)>,
    /// The tools that take plain text.
    freeform: Vec<Str<'static>>,
}

/// What ids and names must look like.
struct Limits {
    id_bytes: usize,
    /// Not one byte less, and no signs (Mistral).
    id_exact: bool,
    name_bytes: usize,
    /// Signs a name may have, beside letters and digits.
    name_signs: &'static [u8],
}

impl Limits {
    fn of(target: Target<'_>) -> Self {
        let signs = b"_-".as_slice();
        match target.format {
            Format::Chat | Format::Responses => {
                let id_exact = is_mistral(target.model);
                let id_bytes = if id_exact { 9 } else { 40 };
                Self { id_bytes, id_exact, name_bytes: 64, name_signs: signs }
            }
            Format::Messages => Self { id_bytes: 64, id_exact: false, name_bytes: 128, name_signs: signs },
            Format::Gemini => Self { id_bytes: 256, id_exact: false, name_bytes: 64, name_signs: b"_-.:" },
        }
    }

    fn fits_id(&self, id: &str) -> bool {
        let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || (!self.id_exact && matches!(byte, b'_' | b'-'));
        let length = if self.id_exact { id.len() == self.id_bytes } else { id.len() <= self.id_bytes };
        length && id.bytes().all(is_fine)
    }

    /// The same id always becomes the same one, so calls and results still meet.
    fn id(&self, id: &str) -> Str<'static> {
        let made = format!("{:016x}", hash(id));
        Str::escape(if self.id_exact { &made[..self.id_bytes] } else { &made })
    }

    fn name(&self, name: &str) -> Option<Str<'static>> {
        let is_fine = |byte: &u8| byte.is_ascii_alphanumeric() || self.name_signs.contains(byte);
        let begins_well = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
        let fits = name.len() <= self.name_bytes && name.bytes().all(|byte| is_fine(&byte));
        if fits && (begins_well || self.name_signs.len() == 2) {
            return None;
        }
        let fine = name.bytes().map(|byte| if is_fine(&byte) { char::from(byte) } else { '_' });
        let begin: String = "_".chars().take(usize::from(!begins_well)).chain(fine).take(self.name_bytes - 9).collect();
        Some(Str::escape(&format!("{begin}_{:08x}", hash(name) as u32)))
    }
}

/// Puts right what the target would reject.
pub(super) fn repair(prompt: &mut Prompt<'_>, target: Target<'_>, notes: &mut Notes) -> Names {
    let limits = Limits::of(target);
    drop_thoughts(prompt, notes);
    if prompt.is_prefilled() {
        notes.changed("prefill");
        prompt.say(Role::User, Part::Text(Str::plain(GO_ON)));
    }
    fit_ids(prompt, &limits, notes);
    fit_names(prompt, &limits, notes)
}

fn drop_thoughts(prompt: &mut Prompt<'_>, notes: &mut Notes) {
    for turn in &mut prompt.turns {
        let before = turn.parts.len();
        turn.parts.retain(|part| !matches!(part, Part::Thinking(_)));
        if turn.parts.len() < before {
            notes.dropped("content.thinking");
        }
    }
    prompt.turns.retain(|turn| !turn.parts.is_empty());
}

fn fit_ids(prompt: &mut Prompt<'_>, limits: &Limits, notes: &mut Notes) {
    for part in prompt.turns.iter_mut().flat_map(|turn| &mut turn.parts) {
        let id = match part {
            Part::ToolCall(call) => &mut call.id,
            Part::ToolResult(result) => &mut result.id,
            _ => continue,
        };
        if !id.is_empty() && !limits.fits_id(id.raw()) {
            *id = limits.id(id.raw());
            notes.changed("tool_ids");
        }
    }
}

fn fit_names(prompt: &mut Prompt<'_>, limits: &Limits, notes: &mut Notes) -> Names {
    let freeform = prompt.tools.iter().filter(|tool| tool.freeform).map(|tool| tool.name.owned());
    let mut names = Names { freeform: freeform.collect(), changed: Vec::new() };
    let mut fit = |name: &mut Str<'_>| {
        if let Some(fitting) = limits.name(name.raw()) {
            if !names.changed.iter().any(|(known, _)| *known == fitting) {
                names.changed.push((fitting.clone(), name.owned()));
            }
            *name = fitting;
        }
    };
    prompt.tools.iter_mut().for_each(|tool| fit(&mut tool.name));
    if let ToolChoice::Tool(name) = &mut prompt.tool_choice {
        fit(name);
    }
    for part in prompt.turns.iter_mut().flat_map(|turn| &mut turn.parts) {
        match part {
            Part::ToolCall(call) => fit(&mut call.name),
            Part::ToolResult(result) => result.name.iter_mut().for_each(&mut fit),
            _ => {}
        }
    }
    if !names.changed.is_empty() {
        notes.changed("tool_names");
    }
    names
}

impl Names {
    /// Gives calls the names and ids that the client knows.
    pub(super) fn restore(&self, answer: &mut Answer<'_>, seed: u64) {
        answer.id = answer_id(std::mem::take(&mut answer.id), seed);
        let mut calls = 0;
        for part in &mut answer.parts {
            if let Part::ToolCall(call) = part {
                self.restore_call(call, seed, calls);
                calls += 1;
            }
        }
        if calls > 0 && answer.stop == Stop::Done {
            answer.stop = Stop::ToolCalls;
        }
    }

    pub(super) fn restore_call(&self, call: &mut ToolCall<'_>, seed: u64, number: u32) {
        if call.id.is_empty() {
            call.id = Str::escape(&format!("call_{:016x}", seed.wrapping_add(u64::from(number))));
        }
        if let Some((_, known)) = self.changed.iter().find(|(fitting, _)| *fitting == call.name) {
            call.name = known.clone();
        }
        call.freeform = self.freeform.contains(&call.name);
    }
}

/// An id for an answer that has none.
pub(super) fn answer_id(id: Str<'_>, seed: u64) -> Str<'_> {
    if id.is_empty() { Str::escape(&format!("{seed:016x}")) } else { id }
}

/// An answer's id as clients of a format expect it to begin.
pub(super) fn id(prefix: &str, id: &Str<'_>) -> Str<'static> {
    if id.raw().starts_with(prefix) { id.owned() } else { Str::escape(&format!("{prefix}{}", id.decode())) }
}

/// Where a result is words alone, what else it holds is shown after it.
pub(super) fn note_shown(result: &ToolResult<'_>, notes: &mut Notes) {
    for part in &result.parts {
        match part {
            Part::Image(_) => notes.changed("tool_result.images"),
            Part::File { .. } => notes.changed("tool_result.files"),
            _ => {}
        }
    }
}

/// Where there is no switch for JSON, it is asked for in these words.
pub(super) fn json_demand(output: &Output<'_>) -> Option<Str<'static>> {
    match output {
        Output::Text => None,
        Output::Json => {
            Some(Str::plain("Answer with one JSON object and nothing else: no words around it, no code fence."))
        }
        Output::Schema { schema, .. } => Some(Str::escape(&format!(
            "Answer with one JSON value that fits this JSON schema and nothing else: no words around it, no code fence.\n{}",
            schema.json()
        ))),
    }
}

pub(super) fn is_mistral(model: &str) -> bool {
    const NAMES: [&str; 7] = ["mistral", "ministral", "codestral", "devstral", "magistral", "pixtral", "mixtral"];
    let name = model.rsplit('/').next().unwrap_or(model);
    NAMES.iter().any(|known| name.starts_with(known))
}

/// The same number for the same text, in every process.
pub(super) fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
