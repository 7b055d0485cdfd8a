//! Writing JSON: commas go where they belong, and what is JSON already is copied.

use std::fmt::Write as _;

use super::canon::{Raw, Str};

/// An object that is being written.
pub(crate) struct Object<'o> {
    out: &'o mut String,
    empty: bool,
}

/// An array that is being written.
pub(crate) struct Array<'o> {
    out: &'o mut String,
    empty: bool,
}

/// Writes an object.
pub(crate) fn object(out: &mut String, fill: impl FnOnce(&mut Object<'_>)) {
    out.push('{');
    fill(&mut Object { out, empty: true });
    out.push('}');
}

/// An object as text.
pub(crate) fn made(fill: impl FnOnce(&mut Object<'_>)) -> String {
    let mut out = String::with_capacity(256);
    object(&mut out, fill);
    out
}

impl Object<'_> {
    /// A string.
    pub(crate) fn text(&mut self, name: &str, value: &Str<'_>) {
        self.key(name);
        quote(self.out, value.raw());
    }

    /// A string, where there is one.
    pub(crate) fn text_if(&mut self, name: &str, value: Option<&Str<'_>>) {
        if let Some(value) = value {
            self.text(name, value);
        }
    }

    /// A string of several pieces, each escaped already.
    pub(crate) fn pieces<'p>(&mut self, name: &str, pieces: impl IntoIterator<Item = &'p str>) {
        self.key(name);
        self.out.push('"');
        self.out.extend(pieces);
        self.out.push('"');
    }

    /// A word of ours that needs no escapes.
    pub(crate) fn word(&mut self, name: &str, value: &str) {
        self.key(name);
        quote(self.out, value);
    }

    pub(crate) fn raw(&mut self, name: &str, value: &Raw<'_>) {
        self.key(name);
        self.out.push_str(value.json());
    }

    pub(crate) fn raw_if(&mut self, name: &str, value: Option<&Raw<'_>>) {
        if let Some(value) = value {
            self.raw(name, value);
        }
    }

    /// A number or a truth value.
    pub(crate) fn value(&mut self, name: &str, value: impl std::fmt::Display) {
        self.key(name);
        // Writing to a string cannot fail.
        let _ = write!(self.out, "{value}");
    }

    pub(crate) fn null(&mut self, name: &str) {
        self.key(name);
        self.out.push_str("null");
    }

    pub(crate) fn object(&mut self, name: &str, fill: impl FnOnce(&mut Object<'_>)) {
        self.key(name);
        object(self.out, fill);
    }

    pub(crate) fn array(&mut self, name: &str, fill: impl FnOnce(&mut Array<'_>)) {
        self.key(name);
        self.out.push('[');
        fill(&mut Array { out: self.out, empty: true });
        self.out.push(']');
    }

    fn key(&mut self, name: &str) {
        separate(self.out, &mut self.empty);
        quote(self.out, name);
        self.out.push(':');
    }
}

impl Array<'_> {
    pub(crate) fn text(&mut self, value: &Str<'_>) {
        separate(self.out, &mut self.empty);
        quote(self.out, value.raw());
    }

    pub(crate) fn object(&mut self, fill: impl FnOnce(&mut Object<'_>)) {
        separate(self.out, &mut self.empty);
        object(self.out, fill);
    }
}

fn separate(out: &mut String, empty: &mut bool) {
    if !std::mem::replace(empty, false) {
        out.push(',');
    }
}

fn quote(out: &mut String, escaped: &str) {
    out.push('"');
    out.push_str(escaped);
    out.push('"');
}
