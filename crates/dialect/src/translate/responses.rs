//! OpenAI responses: a format that clients speak and that we never ask in, so requests are only read
//! and answers only written.

mod answer;
mod item;
mod read;
mod stream;

pub(super) use answer::write_answer;
pub(super) use read::read_request;
pub(super) use stream::Writer;
