//! What the model says, in pieces as it would stream them.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::call::{Peek, Tool};
use crate::spec::{Answer, Spec};

/// Text in pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pieces {
    text: Cow<'static, str>,
    /// Where each piece ends.
    ends: Cow<'static, [usize]>,
}

/// One block of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Block {
    Thinking(Pieces),
    Text(Pieces),
    Tool { name: String, arguments: Pieces },
}

/// What the model says to this request under this spec.
pub(crate) fn blocks(spec: &Spec, peek: &Peek<'_>, prefill: Option<&str>) -> Vec<Block> {
    let words = || Pieces::words(spec.words);
    let tool = |tool: &Tool| Block::Tool { name: tool.name.clone(), arguments: Pieces::cut(fill(&tool.schema)) };
    match &spec.answer {
        Answer::Fitting => match peek.json_schema() {
            Some(schema) => vec![Block::Text(json(spec, &schema))],
            None => vec![Block::Text(continued(words(), prefill))],
        },
        Answer::Words => vec![Block::Text(continued(words(), prefill))],
        Answer::Literal(text) => vec![Block::Text(continued(Pieces::spoken(text.to_string()), prefill))],
        Answer::Echo => vec![Block::Text(Pieces::spoken(peek.last_user_text()))],
        Answer::Thinking => vec![Block::Thinking(words()), Block::Text(words())],
        Answer::Json => vec![Block::Text(json(spec, &peek.json_schema().unwrap_or_default()))],
        Answer::BadJson => {
            let whole = json(spec, &peek.json_schema().unwrap_or_default()).text.into_owned();
            // Cut before the last closing brace and quote: what a model leaves that ran out of tokens.
            let kept = whole.trim_end_matches(['}', '"', ']']).to_owned();
            vec![Block::Text(Pieces::cut(kept))]
        }
        Answer::Nothing => Vec::new(),
        Answer::Call { name, arguments } => {
            let tools = peek.tools();
            match tools.iter().find(|tool| *tool.name == **name).filter(|_| !peek.has_result()) {
                Some(tool) => {
                    vec![Block::Tool { name: tool.name.clone(), arguments: Pieces::cut(filled(tool, arguments)) }]
                }
                None => vec![Block::Text(continued(words(), prefill))],
            }
        }
        Answer::Tool | Answer::TextAndTool | Answer::TwoTools => match peek.tools().as_slice() {
            [] => vec![Block::Text(continued(words(), prefill))],
            [only] if spec.answer == Answer::TwoTools => vec![tool(only), tool(only)],
            [first, second, ..] if spec.answer == Answer::TwoTools => vec![tool(first), tool(second)],
            [first, ..] if spec.answer == Answer::TextAndTool => {
                vec![Block::Text(continued(words(), prefill)), tool(first)]
            }
            [first, ..] => vec![tool(first)],
        },
    }
}

/// How many tokens these blocks are billed as: one per piece.
pub(crate) fn tokens(blocks: &[Block]) -> usize {
    let count = |block: &Block| match block {
        Block::Thinking(pieces) | Block::Text(pieces) | Block::Tool { arguments: pieces, .. } => pieces.len(),
    };
    blocks.iter().map(count).sum()
}

impl Pieces {
    /// `word-1 word-2 …`: the same for everyone, so that a continuation can be checked.
    pub(crate) fn words(count: u32) -> Self {
        /// Answers up to this length cost nothing to make.
        const READY: u32 = 4096;
        static TABLE: LazyLock<(String, Vec<usize>)> = LazyLock::new(|| numbered(READY));
        if count > READY {
            let (text, ends) = numbered(count);
            return Self { text: text.into(), ends: ends.into() };
        }
        let ends = &TABLE.1[..usize::try_from(count).unwrap_or(0)];
        let text = &TABLE.0[..ends.last().copied().unwrap_or(0)];
        Self { text: Cow::Borrowed(text), ends: Cow::Borrowed(ends) }
    }

    /// Text in pieces of one word, each but the first with the blank before it.
    fn spoken(text: String) -> Self {
        let mut ends: Vec<usize> = text.match_indices(' ').map(|(at, _)| at).filter(|at| *at > 0).collect();
        if !text.is_empty() {
            ends.push(text.len());
        }
        Self { text: text.into(), ends: ends.into() }
    }

    /// Text in pieces of a few bytes, as models stream JSON.
    fn cut(text: String) -> Self {
        const BYTES: usize = 6;
        let mut ends: Vec<usize> = (BYTES..text.len()).step_by(BYTES).map(|at| text.floor_char_boundary(at)).collect();
        ends.dedup();
        if !text.is_empty() {
            ends.push(text.len());
        }
        Self { text: text.into(), ends: ends.into() }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(self.ends.iter().copied()).map(|(start, end)| &self.text[start..end])
    }
}

fn numbered(count: u32) -> (String, Vec<usize>) {
    let mut text = String::new();
    let mut ends = Vec::new();
    for number in 1..=count {
        let blank = if number == 1 { "" } else { " " };
        // Writing to memory cannot fail.
        let _ = write!(text, "{blank}word-{number}");
        ends.push(text.len());
    }
    (text, ends)
}

/// What follows the prefill: the rest of the text where it is the text's beginning, else all of it.
fn continued(whole: Pieces, prefill: Option<&str>) -> Pieces {
    let Some(prefill) = prefill.filter(|prefill| !prefill.is_empty()) else { return whole };
    match whole.text.strip_prefix(prefill) {
        Some(rest) => Pieces::spoken(rest.to_owned()),
        None => Pieces::spoken(format!(" {}", whole.text)),
    }
}

fn json(spec: &Spec, schema: &Value) -> Pieces {
    if schema.is_object() {
        return Pieces::cut(fill(schema));
    }
    let answer = Pieces::words(spec.words);
    Pieces::cut(serde_json::json!({ "answer": answer.text(), "count": spec.words }).to_string())
}

/// The least JSON that fits a schema.
fn fill(schema: &Value) -> String {
    /// Deeper schemas than this are recursive.
    const DEPTH_MAX: u32 = 16;
    value_for(schema, DEPTH_MAX).to_string()
}

/// The least arguments that fit a tool, with these in place of what was made up.
fn filled(tool: &Tool, arguments: &Map<String, Value>) -> String {
    let mut least: Map<String, Value> = serde_json::from_str(&fill(&tool.schema)).unwrap_or_default();
    least.extend(arguments.clone());
    Value::Object(least).to_string()
}

fn value_for(schema: &Value, depth: u32) -> Value {
    if depth == 0 {
        return Value::Null;
    }
    if let Some(first) = schema.get("enum").and_then(Value::as_array).and_then(|values| values.first()) {
        return first.clone();
    }
    if let Some(only) = schema.get("const") {
        return only.clone();
    }
    for choice in ["anyOf", "oneOf", "allOf"] {
        if let Some(first) = schema.get(choice).and_then(Value::as_array).and_then(|values| values.first()) {
            return value_for(first, depth - 1);
        }
    }
    let kind = schema.get("type").map(|kind| kind.as_array().and_then(|kinds| kinds.first()).unwrap_or(kind));
    let properties = schema.get("properties").and_then(Value::as_object);
    match (kind.and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase().as_str(), properties) {
        ("string", _) => Value::from("word-1"),
        ("integer" | "number", _) => schema.get("minimum").cloned().unwrap_or(Value::from(1)),
        ("boolean", _) => Value::from(true),
        ("array", _) => {
            let wanted = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0).min(16);
            let item = schema.get("items").map(|item| value_for(item, depth - 1)).unwrap_or_default();
            (0..wanted).map(|_| item.clone()).collect()
        }
        (_, Some(properties)) => {
            let required = schema.get("required").and_then(Value::as_array);
            let needed = |name: &String| required.is_none_or(|names| names.iter().any(|known| known == name));
            let filled = properties.iter().filter(|(name, _)| needed(name));
            filled.map(|(name, schema)| (name.clone(), value_for(schema, depth - 1))).collect()
        }
        ("null", None) => Value::Null,
        _ => Value::Object(Map::new()),
    }
}
