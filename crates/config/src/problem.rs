//! What is wrong with a configuration, said so that a person can put it right.
//!
//! A problem names its place (file and line, variable or flag), the key, what is wrong and what to
//! write. All problems of one load are collected; nothing here stops at the first. No message and
//! no source line shows a secret.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Range;

use crate::node::{Node, Origin, Path, Value};
use crate::secret;
use crate::suggest;

/// One thing that is wrong, or worth a second look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Whether it stops the load.
    pub severity: Severity,
    /// What is wrong.
    pub what: String,
    /// The key it is about, such as `policies.mine.on.rate_limit[0].retry`; empty for the whole file.
    pub key: String,
    /// Who wrote it, and where.
    pub place: Place,
    /// What to do about it.
    pub help: String,
}

impl Place {
    /// From top to bottom of the file, then what is not in it.
    fn order(&self) -> (usize, usize) {
        match self {
            Self::Line(line) => (line.line, line.column),
            Self::File(_) => (0, 0),
            Self::Variable(_) | Self::Flag(_) | Self::Stored | Self::Nowhere => (usize::MAX, 0),
        }
    }
}

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The configuration is refused.
    Error,
    /// It loads, but probably does not mean what was meant.
    Warning,
}

/// Where a problem was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the file.
    Line(Line),
    /// In the file as a whole.
    File(String),
    /// In this environment variable.
    Variable(String),
    /// In this flag.
    Flag(String),
    /// In what people stored through the control API.
    Stored,
    /// Nowhere: it is missing.
    Nowhere,
}

/// A place in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The file's name.
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    /// The line as it may be shown: without secrets.
    pub shown: String,
    /// Which characters of `shown` are meant.
    pub marked: Range<usize>,
}

/// Everything that is wrong with one configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    /// Errors before warnings, each from the top of the file to its end.
    pub list: Vec<Problem>,
    /// How many more there were than anyone would read.
    pub left_out: usize,
}

/// The file's name and text, for showing its lines.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: String,
    /// Where the text holds secrets, as far as its structure tells.
    pub(crate) secrets: Vec<Range<usize>>,
}

/// Collects problems while a tree is read.
pub(crate) struct Report<'a> {
    tree: &'a Node,
    source: Option<&'a Source>,
    found: RefCell<Vec<Problem>>,
    errors: Cell<usize>,
    warnings: Cell<usize>,
}

impl<'a> Report<'a> {
    /// More errors, or more warnings, nobody reads, and each costs a search through the tree.
    const KEPT_MAX: usize = 100;

    pub(crate) fn new(tree: &'a Node, source: Option<&'a Source>) -> Self {
        Self { tree, source, found: RefCell::default(), errors: Cell::new(0), warnings: Cell::new(0) }
    }

    /// What was written.
    pub(crate) fn tree(&self) -> &'a Node {
        self.tree
    }

    /// Refuses the value at `path`.
    pub(crate) fn refuse(&self, path: &Path, what: impl Into<String>, help: impl Into<String>) {
        self.add(Severity::Error, path, Aim::Value, &what.into(), &help.into());
    }

    /// Refuses the key at `path`, whatever its value.
    pub(crate) fn refuse_key(&self, path: &Path, what: impl Into<String>, help: impl Into<String>) {
        self.add(Severity::Error, path, Aim::Key, &what.into(), &help.into());
    }

    /// Says that the value at `path` deserves a second look.
    pub(crate) fn warn(&self, path: &Path, what: impl Into<String>, help: impl Into<String>) {
        self.add(Severity::Warning, path, Aim::Value, &what.into(), &help.into());
    }

    /// The help for an unknown name; searching costs too much once nobody reads on.
    pub(crate) fn suggest<'k>(&self, written: &str, known: impl IntoIterator<Item = &'k str>) -> String {
        if self.is_full() { String::new() } else { suggest::help(written, known) }
    }

    /// Whether further errors are only counted.
    pub(crate) fn is_full(&self) -> bool {
        self.full(Severity::Error)
    }

    /// Refuses a bare place in the file, where there is no tree yet.
    pub(crate) fn refuse_bytes(&self, bytes: Range<usize>, what: impl Into<String>, help: impl Into<String>) {
        if self.is_full() {
            self.errors.set(self.errors.get() + 1);
            return;
        }
        let place = self.source.map_or(Place::Nowhere, |source| Place::Line(source.line(bytes, Parsed::No)));
        self.push(Severity::Error, "", place, &what.into(), &help.into());
    }

    /// Whether anything was refused.
    pub(crate) fn refused(&self) -> bool {
        self.errors.get() > 0
    }

    /// Whether anything at or below `path` was refused.
    pub(crate) fn refused_below(&self, path: &Path) -> bool {
        let prefix = path.to_string();
        let below =
            |key: &str| key.strip_prefix(&prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
        let found = self.found.borrow();
        found.iter().any(|problem| problem.severity == Severity::Error && below(&problem.key))
    }

    /// What was found.
    pub(crate) fn finish(self) -> Problems {
        let mut list = self.found.into_inner();
        list.sort_by_key(|problem| (problem.severity == Severity::Warning, problem.place.order()));
        let left_out = (self.errors.get() + self.warnings.get()).saturating_sub(list.len());
        Problems { list, left_out }
    }

    fn add(&self, severity: Severity, path: &Path, aim: Aim, what: &str, help: &str) {
        let place = if self.full(severity) { Place::Nowhere } else { self.place(path, aim) };
        self.push(severity, &path.to_string(), place, what, help);
    }

    fn push(&self, severity: Severity, key: &str, place: Place, what: &str, help: &str) {
        let mut found = self.found.borrow_mut();
        if !self.full(severity) {
            let problem = Problem {
                severity,
                what: brief(&secret::mask(what)),
                key: brief(&secret::mask(key)),
                place,
                help: brief(&secret::mask_tokens(help)),
            };
            if found.contains(&problem) {
                return;
            }
            found.push(problem);
        }
        let count = self.count(severity);
        count.set(count.get() + 1);
    }

    fn full(&self, severity: Severity) -> bool {
        self.count(severity).get() >= Self::KEPT_MAX
    }

    const fn count(&self, severity: Severity) -> &Cell<usize> {
        match severity {
            Severity::Error => &self.errors,
            Severity::Warning => &self.warnings,
        }
    }

    fn place(&self, path: &Path, aim: Aim) -> Place {
        let node = self.tree.nearest(path);
        match (&node.origin, self.source) {
            (Origin::Variable { name, .. }, _) => Place::Variable(name.clone()),
            (Origin::Flag { name, .. }, _) => Place::Flag(secret::mask(name)),
            (Origin::Stored, _) => Place::Stored,
            (Origin::File { key, value }, Some(source)) if !key.is_empty() => {
                let aim_at_key = matches!(aim, Aim::Key) || matches!(node.value, Value::Table(_));
                let bytes = if aim_at_key { key.clone() } else { value.clone() };
                Place::Line(source.line(bytes, Parsed::Yes))
            }
            (Origin::File { .. }, Some(source)) => Place::File(source.name.clone()),
            (Origin::File { .. }, None) | (Origin::BuiltIn, _) => Place::Nowhere,
        }
    }
}

/// Whether the structure of the file is known, and with it where its secrets are.
#[derive(Clone, Copy)]
enum Parsed {
    Yes,
    No,
}

#[derive(Clone, Copy)]
enum Aim {
    Key,
    Value,
}

impl Source {
    /// The place of these bytes; anything out of range is the end of the file.
    fn line(&self, bytes: Range<usize>, parsed: Parsed) -> Line {
        let clamp = |at: usize| {
            let mut at = at.min(self.text.len());
            while !self.text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let (start, end) = (clamp(bytes.start), clamp(bytes.end));
        let line_start = self.text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = self.text[start..].find('\n').map_or(self.text.len(), |newline| start + newline);
        let text = self.text[line_start..line_end].trim_end_matches('\r');
        let within = |at: usize| (at.max(line_start) - line_start).min(text.len());
        let here = self.secrets.iter().filter(|known| known.start < line_end && known.end > line_start);
        let mut hidden: Vec<Range<usize>> = here.map(|known| within(known.start)..within(known.end)).collect();
        if let Parsed::No = parsed {
            hidden.extend(secret::lone_texts(text));
        }
        let (shown, marked) = shown(text, hidden, within(start)..within(end.max(start)));
        Line {
            file: self.name.clone(),
            line: self.text[..start].matches('\n').count() + 1,
            column: self.text[line_start..start].chars().count() + 1,
            shown,
            marked,
        }
    }

    /// The number of the line that holds this byte.
    pub(crate) fn line_number(&self, byte: usize) -> usize {
        self.text.as_bytes().iter().take(byte).filter(|byte| **byte == b'\n').count() + 1
    }
}

/// The line without secrets and control characters, and the characters that `marked` covers in it.
fn shown(line: &str, mut hidden: Vec<Range<usize>>, marked: Range<usize>) -> (String, Range<usize>) {
    /// Nobody reads further, and a part of a line cannot be searched for secrets.
    const BYTES_MAX: usize = 400;
    if line.len() > BYTES_MAX {
        return ("…".to_owned(), 0..1);
    }
    hidden.extend(secret::secret_ranges(line));
    let mut shown = String::new();
    let (mut count, mut start, mut end) = (0, None, 0);
    for (at, letter) in line.char_indices() {
        if at >= marked.start {
            start.get_or_insert(count);
        }
        if !hidden.iter().any(|range| range.contains(&at)) {
            shown.push(if letter.is_control() { ' ' } else { letter });
            count += 1;
        } else if !shown.ends_with(secret::MASK) {
            shown.push_str(secret::MASK);
            count += secret::MASK.len();
        }
        if at < marked.end {
            end = count;
        }
    }
    let start = start.unwrap_or(count);
    (shown, start..end.max(start + 1))
}

/// Text that somebody wrote may be a megabyte long.
fn brief(text: &str) -> String {
    const CHARS_MAX: usize = 1000;
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

impl Problems {
    /// One problem about the file as a whole.
    pub(crate) fn of_file(file: &str, what: impl Into<String>, help: impl Into<String>) -> Self {
        let (what, help) = (what.into(), help.into());
        let place = Place::File(file.to_owned());
        Self { list: vec![Problem { severity: Severity::Error, what, key: String::new(), place, help }], left_out: 0 }
    }

    /// How many stop the load.
    pub fn errors(&self) -> usize {
        self.list.iter().filter(|problem| problem.severity == Severity::Error).count()
    }

    /// How many do not.
    pub fn warnings(&self) -> usize {
        self.list.len() - self.errors()
    }

    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

impl std::error::Error for Problems {}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, problem) in self.list.iter().enumerate() {
            let gap = if position == 0 { "" } else { "\n" };
            write!(f, "{gap}{problem}")?;
        }
        if self.left_out > 0 {
            writeln!(f, "\n… and {} more", self.left_out)?;
        }
        Ok(())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.severity, self.what)?;
        let mut gutter = 1;
        match &self.place {
            Place::Line(line) => {
                gutter = line.line.to_string().len();
                let space = " ".repeat(gutter);
                let before = " ".repeat(line.marked.start);
                let carets = "^".repeat(line.marked.len());
                writeln!(f, "{space}--> {}:{}:{}", line.file, line.line, line.column)?;
                writeln!(f, "{space} |")?;
                writeln!(f, "{} | {}", line.line, line.shown)?;
                writeln!(f, "{space} | {before}{carets}")?;
            }
            Place::File(name) => writeln!(f, " --> {name}")?,
            Place::Variable(name) => writeln!(f, " --> environment variable {name}")?,
            Place::Flag(name) => writeln!(f, " --> flag {name}")?,
            Place::Stored => writeln!(f, " --> stored through the control API")?,
            Place::Nowhere => {}
        }
        let space = " ".repeat(gutter);
        if !self.key.is_empty() {
            writeln!(f, "{space} = key: {}", self.key)?;
        }
        writeln!(f, "{space} = help: {}", self.help)
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}
