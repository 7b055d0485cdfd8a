//! To be written.
use super::canon::{Answer, Event, Prompt};
use super::read::Outcome;
use super::stream::Sink;
use super::{Notes, Target};
use crate::json::Broken;
use crate::{Frame, Framing};

const NOT_YET: Broken = Broken { at_byte: 0, what: "not yet" };

pub(super) fn read_request<'a>(_body: &'a [u8], _notes: &mut Notes) -> Outcome<Prompt<'a>> {
    Err(NOT_YET)
}
pub(super) fn write_request(_prompt: &Prompt<'_>, _target: Target<'_>, _notes: &mut Notes) -> String {
    String::new()
}
pub(super) fn read_answer(_body: &[u8]) -> Outcome<Answer<'_>> {
    Err(NOT_YET)
}
pub(super) fn write_answer(_answer: &Answer<'_>) -> String {
    String::new()
}
#[derive(Clone, Debug, Default)]
pub(super) struct Reader;
impl Reader {
    pub(super) fn feed(&mut self, _frame: &Frame, _sink: &mut Sink<'_>) -> Outcome<()> {
        Err(NOT_YET)
    }
}
#[derive(Clone, Debug, Default)]
pub(super) struct Writer;
impl Writer {
    pub(super) fn new(_framing: Framing) -> Self {
        Self
    }
    pub(super) fn write(&mut self, _event: &Event<'_>, _out: &mut String) {}
}
