//! What is added to a conversation, one thing at a time.
//!
//! The same entries are shown, saved, folded into a [`Transcript`](crate::Transcript) and exported, so
//! that what a person saw, what a file holds and what the models are told cannot drift apart.

use serde::{Deserialize, Serialize};

/// One thing that happened in the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Entry {
    /// The person said something.
    Person {
        /// What.
        text: String,
    },
    /// A member begins to speak.
    Begin {
        /// Who.
        member: String,
        /// With which model.
        model: String,
    },
    /// More of what the member says.
    Piece {
        /// The next words.
        text: String,
    },
    /// The member has finished; its answer is whole.
    End,
    /// The connection was lost in the middle. What came stays to be read, and the answer is made again.
    Lost,
    /// The person stopped it in the middle.
    Stopped,
    /// A line about the council itself.
    Note {
        /// What is told.
        text: String,
    },
}

/// What stands behind an answer whose connection was lost.
pub const LOST: &str = "[Connection lost mid-response]";

/// What stands behind an answer that the person stopped.
pub const STOPPED: &str = "[Stopped]";
