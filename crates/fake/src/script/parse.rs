//! The grammar of scripts. The crate's documentation describes it for people.

use std::sync::Arc;
use std::time::Duration;

use super::{Condition, Script, ScriptError, Step};
use crate::spec::{Answer, Body, Fault, Pace, RetryAfter, Spec};
use crate::trouble::Trouble;

/// A script longer than this is a mistake.
const SCRIPT_BYTES_MAX: usize = 64 * 1024;

/// A longer answer than this is `huge`.
const WORDS_MAX: u32 = 1_000_000;

/// All words that may start a spec, troubles aside.
const WORDS: &[&str] = &[
    "ok",
    "status",
    "refuse",
    "reset",
    "reset-after-headers",
    "close",
    "cut",
    "cutfin",
    "end",
    "cut-in-tool",
    "end-in-tool",
    "malformed",
    "error",
    "error200",
    "empty",
    "nocontent",
    "no-done",
    "stall",
    "stall-after-headers",
    "ping",
    "drip",
    "huge",
    "endless-headers",
    "garbage",
    "half-head",
    "gzip",
    "bad-json",
    "wrong-length",
    "words",
    "delay",
    "first",
    "wait",
    "answer",
    "call",
    "text",
    "body",
    "retry-after",
    "should-retry",
    "header",
    "no-prefill",
    "no-stream",
    "no-usage",
    "rpm",
    "rps",
    "rate",
    "quota",
    "weekly-quota",
    "concurrency",
    "flap",
    "stream",
    "plain",
    "loop",
];

/// Reads a script.
pub(crate) fn parse(text: &str) -> Result<Script, ScriptError> {
    if text.len() > SCRIPT_BYTES_MAX {
        let found = format!("{} bytes", text.len());
        return Err(error(text, 0, &format!("at most {SCRIPT_BYTES_MAX} bytes"), &found));
    }
    let mut cursor = Cursor { text, at: 0 };
    let mut script = Script { steps: Vec::new(), loops: false };
    loop {
        cursor.skip_space();
        if script.loops && !cursor.at_end() && !cursor.looking_at(';') {
            return Err(cursor.error("the end of the script after `loop`"));
        }
        if cursor.at_end() {
            return Ok(script);
        }
        if cursor.eat(';') {
            continue;
        }
        match step(&mut cursor)? {
            Some(step) => script.steps.push(step),
            None => script.loops = true,
        }
    }
}

/// One step; none stands for `loop`.
fn step(cursor: &mut Cursor<'_>) -> Result<Option<Step>, ScriptError> {
    let mut conditions = Vec::new();
    let mut limit = None;
    let start = cursor.at;
    while let Some((condition, spec, width)) = condition(cursor)? {
        conditions.push(condition);
        limit = spec.or(limit);
        cursor.at += width;
        cursor.skip_blank();
        let colon = cursor.eat(':');
        cursor.skip_space();
        if cursor.at_end() || cursor.looking_at(';') {
            break;
        }
        if !colon {
            return Err(cursor.error("`:` and what happens then, or `;`"));
        }
    }
    let mut spec = Spec::named("");
    let mut times = None;
    let mut named: Option<&str> = None;
    let mut written: Vec<&str> = Vec::new();
    let mut first = true;
    while let Some(word) = cursor.word()? {
        if first && word.name == "loop" && word.value.is_none() && conditions.is_empty() {
            return Ok(None);
        }
        first = false;
        match repeat(&word)? {
            Some(count) => times = Some(count),
            None => {
                apply(&mut spec, &word, &mut named)?;
                written.push(word.written);
            }
        }
    }
    if first {
        let Some(trouble) = limit else {
            return Err(cursor.error("what happens then, such as `status=503`"));
        };
        spec.fault = Fault::Trouble(trouble);
        spec.written = cursor.text[start..cursor.at].trim().into();
    } else {
        spec.written = if written.is_empty() { "ok".into() } else { written.join(" ").into() };
    }
    Ok(Some(Step { conditions, spec: Arc::new(spec), times }))
}

/// A condition at the cursor: what it is, the trouble it implies, and its length.
fn condition(cursor: &Cursor<'_>) -> Result<Option<(Condition, Option<Trouble>, usize)>, ScriptError> {
    let rest = cursor.rest();
    let width = rest.find([' ', '\t', '\n', ',', ';', ':', '"']).unwrap_or(rest.len());
    let word = &rest[..width];
    let plain = |condition| Ok(Some((condition, None, width)));
    let limit = |condition, trouble| Ok(Some((condition, Some(trouble), width)));
    if let Some(percent) = word.strip_suffix('%') {
        let share = percent.parse::<f64>().ok().filter(|share| (0.0..=100.0).contains(share));
        let share = share.ok_or_else(|| cursor.expected("a share from `0%` to `100%`", word))?;
        return plain(Condition::Chance(share / 100.0));
    }
    if let Some((from, to)) = word.split_once("..") {
        let from = if from.is_empty() { Duration::ZERO } else { cursor.duration_in(word, from)? };
        let to = if to.is_empty() { None } else { Some(cursor.duration_in(word, to)?) };
        return plain(Condition::Window(from, to));
    }
    let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
    let count = |value: &str| {
        let count = value.parse::<u32>().ok();
        count.ok_or_else(|| cursor.expected(&format!("a number of requests, as in `{name}=5`"), word))
    };
    match (name.replace('_', "-").as_str(), value) {
        ("stream", None) => plain(Condition::Stream),
        ("plain", None) => plain(Condition::Plain),
        ("flap", Some(value)) => {
            let parts = value.split_once('/').ok_or_else(|| cursor.expected("`flap=2s/2s`", word))?;
            let (on, off) = (cursor.duration_in(word, parts.0)?, cursor.duration_in(word, parts.1)?);
            if on.is_zero() && off.is_zero() {
                return Err(cursor.expected("a duration above zero in `flap=`", word));
            }
            plain(Condition::Flap(on, off))
        }
        ("rpm", Some(value)) => limit(Condition::Rate(count(value)?, Duration::from_secs(60)), Trouble::RateLimit),
        ("rps", Some(value)) => limit(Condition::Rate(count(value)?, Duration::from_secs(1)), Trouble::RateLimit),
        ("rate", Some(value)) => {
            let parts = value.split_once('/').ok_or_else(|| cursor.expected("`rate=5/10s`", word))?;
            let every = cursor.duration_in(word, parts.1)?;
            if every.is_zero() {
                return Err(cursor.expected("a duration above zero in `rate=`", word));
            }
            limit(Condition::Rate(count(parts.0)?, every), Trouble::RateLimit)
        }
        ("quota", Some(value)) => limit(Condition::Quota(count(value)?), Trouble::Quota),
        ("weekly-quota", Some(value)) => limit(Condition::Quota(count(value)?), Trouble::WeeklyQuota),
        ("concurrency", Some(value)) => limit(Condition::Concurrency(count(value)?), Trouble::RateLimit),
        _ => Ok(None),
    }
}

/// The count of `x3`, if that is what the word is.
fn repeat(word: &Word<'_>) -> Result<Option<u32>, ScriptError> {
    let Some(count) = word.name.strip_prefix('x').filter(|count| count.starts_with(|c: char| c.is_ascii_digit()))
    else {
        return Ok(None);
    };
    let count = count.parse().ok().filter(|count| *count > 0);
    count.map(Some).ok_or_else(|| word.expected("a repeat count such as `x3`"))
}

/// Adds one word to a spec; `named` is the fault it has already.
fn apply<'a>(spec: &mut Spec, word: &Word<'a>, named: &mut Option<&'a str>) -> Result<(), ScriptError> {
    if setting(spec, word)? {
        return Ok(());
    }
    let Some(fault) = fault(word)? else { return Err(word.unknown()) };
    if let Some(other) = named.replace(word.written) {
        let expected = format!("one fault per step (it has `{other}`), a setting, `x3` or `;`");
        return Err(word.expected(&expected));
    }
    spec.fault = fault;
    if matches!(fault, Fault::CutInTool | Fault::EndInTool) && spec.answer == Answer::Fitting {
        spec.answer = Answer::Tool;
    }
    Ok(())
}

/// Applies a word that is a setting, and says whether it is one.
fn setting(spec: &mut Spec, word: &Word<'_>) -> Result<bool, ScriptError> {
    match word.name.as_str() {
        "words" => spec.words = word.number("a number of words", WORDS_MAX)?,
        "delay" => spec.delay = word.duration()?,
        "first" => spec.first = word.duration()?,
        "wait" => spec.wait = word.duration()?,
        "text" => spec.answer = Answer::Literal(word.needed("the text of the answer")?.into()),
        "answer" => spec.answer = answer(word)?,
        "call" => spec.answer = call(word)?,
        "nocontent" => spec.answer = Answer::Nothing,
        "bad-json" => spec.answer = Answer::BadJson,
        "body" => {
            let value = word.needed("a name such as `quota`, or text in quotes")?;
            spec.body = Some(if word.quoted {
                Body::Literal(value.into())
            } else {
                Body::Trouble(Trouble::named(value).ok_or_else(|| word.expected(&troubles()))?)
            });
        }
        "retry-after" => spec.retry_after = Some(retry_after(word)?),
        "should-retry" => {
            spec.should_retry = Some(match word.value.as_deref() {
                Some("true") => true,
                Some("false") => false,
                _ => return Err(word.expected("`should-retry=true` or `should-retry=false`")),
            });
        }
        "header" => {
            let value = word.needed("a header such as `header=\"x-a: b\"`")?;
            let parts = value.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
            let sound = parts.filter(|(name, value)| {
                let token = |c: char| c.is_ascii_alphanumeric() || "-_.!#$%&'*+^`|~".contains(c);
                !name.is_empty()
                    && name.chars().all(token)
                    && value.chars().all(|c| c == '\t' || (' '..='~').contains(&c))
            });
            let (name, value) = sound.ok_or_else(|| word.expected("a header such as `header=\"x-a: b\"`"))?;
            spec.headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        "gzip" => spec.gzip = true,
        "no-prefill" => spec.refuses_prefill = true,
        "no-stream" => spec.never_streams = true,
        "no-usage" => spec.hides_usage = true,
        "drip" => spec.pace = Some(pace(word)?),
        _ => return Ok(false),
    }
    Ok(true)
}

/// The fault a word stands for.
fn fault(word: &Word<'_>) -> Result<Option<Fault>, ScriptError> {
    let tokens = || word.number("a number of tokens", u32::MAX);
    Ok(Some(match word.name.as_str() {
        "ok" => Fault::Ok,
        "status" => Fault::Status(status(word)?),
        "refuse" => Fault::Refuse,
        "reset" => Fault::Reset,
        "reset-after-headers" => Fault::ResetAfterHeaders,
        "close" => Fault::Close,
        "cut" => Fault::Cut(tokens()?),
        "cutfin" => Fault::CutFin(tokens()?),
        "end" => Fault::End(tokens()?),
        "cut-in-tool" => Fault::CutInTool,
        "end-in-tool" => Fault::EndInTool,
        "malformed" => Fault::Malformed(tokens()?),
        "error" => error_event(word)?,
        "error200" => Fault::Error200(match word.value.as_deref() {
            None => Trouble::Overloaded,
            Some(name) => Trouble::named(name).ok_or_else(|| word.expected(&troubles()))?,
        }),
        "empty" => Fault::Empty,
        "no-done" => Fault::NoDone,
        "stall" if word.value.is_none() => Fault::Stall,
        "stall" => Fault::StallAt(tokens()?),
        "stall-after-headers" => Fault::StallAfterHeaders,
        "ping" => Fault::PingAt(tokens()?),
        "huge" => Fault::Huge(word.size()?),
        "endless-headers" => Fault::EndlessHeaders,
        "garbage" => Fault::Garbage,
        "half-head" => Fault::HalfHead,
        "wrong-length" => Fault::WrongLength,
        name => match Trouble::named(name) {
            Some(trouble) if word.value.is_none() => Fault::Trouble(trouble),
            _ => return Ok(None),
        },
    }))
}

fn status(word: &Word<'_>) -> Result<u16, ScriptError> {
    let status = word.value.as_deref().and_then(|value| value.parse().ok());
    let status = status.filter(|status| (200..=599).contains(status));
    status.ok_or_else(|| word.expected("a status from `status=200` to `status=599`"))
}

/// `error=3` and `error=3:overloaded`.
fn error_event(word: &Word<'_>) -> Result<Fault, ScriptError> {
    let expected = "a number of tokens and perhaps a trouble, such as `error=3:overloaded`";
    let value = word.needed(expected)?;
    let (tokens, name) = value.split_once(':').map_or((value, None), |(tokens, name)| (tokens, Some(name)));
    let tokens = tokens.parse().map_err(|_| word.expected(expected))?;
    let trouble = match name {
        None => Trouble::Overloaded,
        Some(name) => Trouble::named(name).ok_or_else(|| word.expected(&troubles()))?,
    };
    Ok(Fault::Error(tokens, trouble))
}

fn answer(word: &Word<'_>) -> Result<Answer, ScriptError> {
    Ok(match word.value.as_deref() {
        Some("text" | "words") => Answer::Words,
        Some("echo") => Answer::Echo,
        Some("tool") => Answer::Tool,
        Some("text+tool") => Answer::TextAndTool,
        Some("tools") => Answer::TwoTools,
        Some("thinking") => Answer::Thinking,
        Some("json") => Answer::Json,
        Some("nothing") => Answer::Nothing,
        _ => {
            let expected =
                "`answer=` and `words`, `echo`, `tool`, `text+tool`, `tools`, `thinking`, `json` or `nothing`";
            return Err(word.expected(expected));
        }
    })
}

/// `call=NAME` and `call="NAME {…}"`.
fn call(word: &Word<'_>) -> Result<Answer, ScriptError> {
    let expected = r#"a tool and perhaps arguments, such as `call=Bash` or `call="Bash {\"command\":\"ls\"}"`"#;
    let value = word.needed(expected)?.trim();
    let (name, arguments) = value.split_once(' ').unwrap_or((value, "{}"));
    let arguments = serde_json::from_str(arguments).map_err(|_| word.expected(expected))?;
    if name.is_empty() {
        return Err(word.expected(expected));
    }
    Ok(Answer::Call { name: name.into(), arguments })
}

fn retry_after(word: &Word<'_>) -> Result<RetryAfter, ScriptError> {
    let expected = "`retry-after=7`, `=700ms`, `=date:7s`, `=none`, or text in quotes";
    let value = word.needed(expected)?;
    if word.quoted {
        return Ok(RetryAfter::Literal(value.into()));
    }
    if let Ok(seconds) = value.parse() {
        return Ok(RetryAfter::Seconds(seconds));
    }
    if let Some(ms) = value.strip_suffix("ms").and_then(|ms| ms.parse().ok()) {
        return Ok(RetryAfter::Millis(ms));
    }
    let date = value.strip_prefix("date").map(|ahead| ahead.strip_prefix(':').unwrap_or("5s"));
    match (value, date) {
        ("none", _) => Ok(RetryAfter::Never),
        (_, Some(ahead)) => duration(ahead).map(RetryAfter::Date).ok_or_else(|| word.expected(expected)),
        _ => {
            let whole = duration(value).filter(|wait| wait.subsec_nanos() == 0);
            whole.map(|wait| RetryAfter::Seconds(wait.as_secs())).ok_or_else(|| word.expected(expected))
        }
    }
}

fn pace(word: &Word<'_>) -> Result<Pace, ScriptError> {
    let value = word.value.as_deref().and_then(|value| value.split_once('/'));
    let pace = value.and_then(|(bytes, every)| {
        let bytes = usize::try_from(size(bytes)?).ok().filter(|bytes| *bytes > 0)?;
        Some(Pace { bytes, every: duration(every)? })
    });
    pace.ok_or_else(|| word.expected("bytes and how often, such as `drip=10/100ms`"))
}

fn troubles() -> String {
    let names: Vec<String> = Trouble::ALL.iter().map(|trouble| format!("`{}`", trouble.name())).collect();
    format!("one of {}", names.join(", "))
}

/// `20ms`, `1.5s`, `3m`, `2h`, `5d`, `0`.
fn duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(text.len());
    let seconds = match &text[digits..] {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        "" if text == "0" => 1.0,
        _ => return None,
    };
    let number: f64 = text[..digits].parse().ok()?;
    // A year is for ever; more would overflow sums with the present.
    let total = number * seconds;
    (total <= 366.0 * 86_400.0).then(|| Duration::from_secs_f64(total))
}

/// `10`, `10B`, `100KB`, `100MB`, `1GB`.
fn size(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit: u64 = match &text[digits..] {
        "" | "B" => 1,
        "KB" => 1 << 10,
        "MB" => 1 << 20,
        "GB" => 1 << 30,
        _ => return None,
    };
    text[..digits].parse::<u64>().ok()?.checked_mul(unit)
}

fn error(text: &str, at: usize, expected: &str, found: &str) -> ScriptError {
    let column = text[..at].chars().count() + 1;
    ScriptError {
        place: format!("column {column}: "),
        expected: expected.to_owned(),
        found: found.to_owned(),
        hint: None,
        column,
    }
}

/// A name with perhaps a value.
struct Word<'a> {
    text: &'a str,
    at: usize,
    written: &'a str,
    /// With `-` for `_`.
    name: String,
    value: Option<String>,
    quoted: bool,
}

impl Word<'_> {
    fn expected(&self, expected: &str) -> ScriptError {
        error(self.text, self.at, expected, &format!("`{}`", self.written))
    }

    fn unknown(&self) -> ScriptError {
        let late = ["flap", "rpm", "rps", "rate", "quota", "weekly-quota", "concurrency"].contains(&self.name.as_str());
        if late && self.value.is_some() {
            return self.expected("conditions only at the beginning of a step, behind `;`");
        }
        let known = WORDS.iter().copied().chain(Trouble::ALL.iter().map(|trouble| trouble.name()));
        let near = known.map(|known| (strsim::damerau_levenshtein(known, &self.name), known)).min();
        let hint = near.filter(|(distance, known)| *distance <= 1 + known.len() / 4).map(|(_, known)| known.to_owned());
        ScriptError { hint, ..self.expected("a fault or a setting") }
    }

    fn needed(&self, expected: &str) -> Result<&str, ScriptError> {
        self.value.as_deref().ok_or_else(|| self.expected(expected))
    }

    fn number(&self, what: &str, max: u32) -> Result<u32, ScriptError> {
        let number = self.value.as_deref().and_then(|value| value.parse().ok()).filter(|number| *number <= max);
        number.ok_or_else(|| self.expected(&format!("{what}, such as `{}=5`", self.name)))
    }

    fn duration(&self) -> Result<Duration, ScriptError> {
        let wait = self.value.as_deref().and_then(duration);
        wait.ok_or_else(|| self.expected(&format!("a duration such as `{0}=20ms` or `{0}=2s`", self.name)))
    }

    fn size(&self) -> Result<u64, ScriptError> {
        let size = self.value.as_deref().and_then(size);
        size.ok_or_else(|| self.expected(&format!("a size such as `{}=100MB`", self.name)))
    }
}

struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn at_end(&self) -> bool {
        self.at == self.text.len()
    }

    fn looking_at(&self, c: char) -> bool {
        self.rest().starts_with(c)
    }

    fn eat(&mut self, c: char) -> bool {
        let found = self.looking_at(c);
        self.at += if found { c.len_utf8() } else { 0 };
        found
    }

    /// Skips what separates words: blanks and commas.
    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start_matches(|c: char| c.is_whitespace() || c == ',').len();
    }

    fn skip_blank(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn error(&self, expected: &str) -> ScriptError {
        let found = self.rest().split([' ', ';', ',']).next().unwrap_or_default();
        let found = if found.is_empty() { "the end".to_owned() } else { format!("`{found}`") };
        error(self.text, self.at, expected, &found)
    }

    fn expected(&self, expected: &str, found: &str) -> ScriptError {
        error(self.text, self.at, expected, &format!("`{found}`"))
    }

    fn duration_in(&self, word: &str, text: &str) -> Result<Duration, ScriptError> {
        duration(text).ok_or_else(|| self.expected("a duration such as `20ms` or `2s`", word))
    }

    /// The next word of this step, or none at its end.
    fn word(&mut self) -> Result<Option<Word<'a>>, ScriptError> {
        self.skip_space();
        if self.at_end() || self.looking_at(';') {
            return Ok(None);
        }
        let at = self.at;
        let rest = self.rest();
        let width = rest.find(|c: char| c.is_whitespace() || ",;=\"".contains(c)).unwrap_or(rest.len());
        let name = rest[..width].replace('_', "-");
        self.at += width;
        let (mut value, mut quoted) = (None, false);
        if self.eat('=') {
            quoted = self.looking_at('"');
            value = Some(if quoted { self.quoted()? } else { self.bare() });
        }
        if name.is_empty() {
            self.at = at;
            return Err(self.error("a fault or a setting"));
        }
        Ok(Some(Word { text: self.text, at, written: &self.text[at..self.at], name, value, quoted }))
    }

    fn bare(&mut self) -> String {
        let rest = self.rest();
        let width = rest.find(|c: char| c.is_whitespace() || ",;".contains(c)).unwrap_or(rest.len());
        self.at += width;
        rest[..width].to_owned()
    }

    /// Text in quotes; `\"`, `\\` and `\n` are what they are elsewhere.
    fn quoted(&mut self) -> Result<String, ScriptError> {
        let open = self.at;
        let mut value = String::new();
        let mut characters = self.rest().char_indices().skip(1);
        while let Some((offset, character)) = characters.next() {
            match character {
                '"' => {
                    self.at = open + offset + 1;
                    return Ok(value);
                }
                '\\' => match characters.next() {
                    Some((_, 'n')) => value.push('\n'),
                    Some((_, other)) => value.push(other),
                    None => break,
                },
                other => value.push(other),
            }
        }
        Err(error(self.text, open, "a closing `\"`", "the end"))
    }
}

#[cfg(test)]
mod tests;
