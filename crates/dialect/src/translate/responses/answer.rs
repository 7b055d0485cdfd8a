//! An answer in one piece.

use super::item::{Head, Items, write_call, write_message, write_reasoning};
use crate::translate::canon::{Answer, Part};
use crate::translate::out;

pub(in crate::translate) fn write_answer(answer: &Answer<'_>, created: u64) -> String {
    let head = Head::new(&answer.id, &answer.model, created);
    let mut items = Items::default();
    for part in &answer.parts {
        let number = items.count;
        match part {
            Part::Text(text) if !text.is_empty() => {
                items.push(|item| write_message(item, &head.item_id("msg", number), text, false));
            }
            Part::Refusal(text) if !text.is_empty() => {
                items.push(|item| write_message(item, &head.item_id("msg", number), text, true));
            }
            Part::Thinking(thought) if !thought.text.is_empty() => {
                items.push(|item| write_reasoning(item, &head.item_id("rs", number), &thought.text));
            }
            Part::ToolCall(call) => {
                let id = head.item_id(if call.freeform { "ctc" } else { "fc" }, number);
                items.push(|item| write_call(item, &id, call, false));
            }
            _ => {}
        }
    }
    out::made(|response| head.write(response, &items, Some((answer.stop, answer.tokens))))
}
