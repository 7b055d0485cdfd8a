//! The conversation as it stands: entries folded into what was said, by whom, and how it ended.
//!
//! From here come what each member is told, the export, and what a resumed session shows.

use std::fmt::Write as _;

use serde::Serialize;
use steadfast_core::time::Timestamp;
use steadfast_dialect::translate::converse::Turn;

use crate::entry::{Entry, LOST, STOPPED};

/// The conversation as it stands.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    said: Vec<Said>,
}

/// One thing that was said, or told about the council.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Said {
    /// When, in milliseconds since the epoch.
    pub time: Timestamp,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What was said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum What {
    /// By the person.
    Person {
        /// The words.
        text: String,
    },
    /// By a member.
    Member(Speech),
    /// About the council.
    Note {
        /// The words.
        text: String,
    },
}

/// What a member said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Speech {
    /// Who.
    pub member: String,
    /// With which model.
    pub model: String,
    /// The words.
    pub text: String,
    /// How it ended.
    pub ending: Ending,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It is still coming.
    Open,
    /// It is whole.
    Whole,
    /// The connection was lost.
    Lost,
    /// The person stopped it.
    Stopped,
}

impl Transcript {
    /// Adds an entry.
    pub fn add(&mut self, entry: &Entry, time: Timestamp) {
        match entry {
            Entry::Person { text } => self.push(time, What::Person { text: text.clone() }),
            Entry::Note { text } => self.push(time, What::Note { text: text.clone() }),
            Entry::Begin { member, model } => {
                let (member, model) = (member.clone(), model.clone());
                self.push(time, What::Member(Speech { member, model, text: String::new(), ending: Ending::Open }));
            }
            Entry::Piece { text } => {
                if let Some(speech) = self.open() {
                    speech.text.push_str(text);
                }
            }
            Entry::End => self.end(Ending::Whole),
            Entry::Lost => self.end(Ending::Lost),
            Entry::Stopped => self.end(Ending::Stopped),
        }
    }

    /// What was said, in order.
    pub fn said(&self) -> &[Said] {
        &self.said
    }

    /// Bytes of everything that members are told of.
    pub fn bytes(&self) -> usize {
        let told = self.said.iter().map(|said| match &said.what {
            What::Person { text } => text.len(),
            What::Member(speech) if speech.is_told() => speech.text.len(),
            What::Member(_) | What::Note { .. } => 0,
        });
        told.sum()
    }

    /// An answer that was never finished, because the process died, was lost.
    pub fn close(&mut self) {
        self.end(Ending::Lost);
    }

    /// What a member is told: its own words as its own, everybody else's with their names. The oldest is left out
    /// where it is more than `bytes_max`; what was lost in the middle is for people only.
    pub fn told_to(&self, member: &str, bytes_max: usize) -> Vec<Turn> {
        let mut turns: Vec<Turn> = Vec::new();
        for said in self.recent(bytes_max) {
            let (own, text) = match &said.what {
                What::Person { text } => (false, text.clone()),
                What::Member(speech) if !speech.is_told() => continue,
                What::Member(speech) if speech.member == member => (true, speech.text.clone()),
                What::Member(speech) => (false, format!("[{}] {}", speech.member, speech.text)),
                What::Note { .. } => continue,
            };
            match (turns.last_mut(), own) {
                (Some(Turn::To(before)), false) | (Some(Turn::By { text: before, .. }), true) => {
                    before.push_str("\n\n");
                    before.push_str(&text);
                }
                (_, true) => turns.push(Turn::By { text, calls: Vec::new() }),
                (_, false) => turns.push(Turn::To(text)),
            }
        }
        // A conversation begins and ends with somebody else, or there is nothing to answer.
        if matches!(turns.first(), Some(Turn::By { .. })) {
            turns.insert(0, Turn::To("(earlier words are left out)".to_owned()));
        }
        if !matches!(turns.last(), Some(Turn::To(_))) {
            turns.push(Turn::To("(go on)".to_owned()));
        }
        turns
    }

    /// The latest of what was said, as far as it fits; always the last.
    fn recent(&self, bytes_max: usize) -> &[Said] {
        let mut bytes = 0;
        let fits = |said: &&Said| {
            let first = bytes == 0;
            bytes += said.text().len();
            first || bytes <= bytes_max
        };
        let count = self.said.iter().rev().take_while(fits).count();
        &self.said[self.said.len() - count..]
    }

    /// For people: Markdown.
    pub fn to_markdown(&self, title: &str) -> String {
        let mut text = format!("# {title}\n");
        for said in &self.said {
            _ = match &said.what {
                What::Person { text: words } => write!(text, "\n## You\n\n{words}\n"),
                What::Member(speech) => {
                    write!(text, "\n## {} ({})\n\n{}\n", speech.member, speech.model, speech.shown())
                }
                What::Note { text: words } => write!(text, "\n> {}\n", words.replace('\n', "\n> ")),
            };
        }
        text
    }

    /// For programs: JSON.
    pub fn to_json(&self, id: &str) -> String {
        let value = serde_json::json!({ "session": id, "said": self.said });
        format!("{value:#}\n")
    }

    fn push(&mut self, time: Timestamp, what: What) {
        self.close();
        self.said.push(Said { time, what });
    }

    fn open(&mut self) -> Option<&mut Speech> {
        match self.said.last_mut().map(|said| &mut said.what) {
            Some(What::Member(speech)) if speech.ending == Ending::Open => Some(speech),
            _ => None,
        }
    }

    fn end(&mut self, ending: Ending) {
        if let Some(speech) = self.open() {
            speech.ending = ending;
        }
    }
}

impl Said {
    /// The words.
    pub fn text(&self) -> &str {
        match &self.what {
            What::Person { text } | What::Note { text } => text,
            What::Member(speech) => &speech.text,
        }
    }
}

impl Speech {
    /// The words with what became of them.
    pub fn shown(&self) -> String {
        match self.ending {
            Ending::Open | Ending::Whole => self.text.clone(),
            Ending::Lost => format!("{}\n\n{LOST}", self.text),
            Ending::Stopped => format!("{}\n\n{STOPPED}", self.text),
        }
    }

    /// Whether the others hear of it.
    fn is_told(&self) -> bool {
        matches!(self.ending, Ending::Whole | Ending::Stopped) && !self.text.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transcript(entries: &[Entry]) -> Transcript {
        let mut transcript = Transcript::default();
        for entry in entries {
            transcript.add(entry, Timestamp::from_millis(7));
        }
        transcript
    }

    fn says(member: &str, text: &str, ending: Entry) -> Vec<Entry> {
        let begin = Entry::Begin { member: member.to_owned(), model: "m".to_owned() };
        let pieces = text.split_inclusive(' ').map(|piece| Entry::Piece { text: piece.to_owned() });
        std::iter::once(begin).chain(pieces).chain([ending]).collect()
    }

    fn talk() -> Transcript {
        let mut entries = vec![Entry::Person { text: "hello".to_owned() }];
        entries.extend(says("claude", "half an", Entry::Lost));
        entries.extend(says("claude", "a whole answer", Entry::End));
        entries.push(Entry::Note { text: "about us".to_owned() });
        entries.extend(says("gemini", "I agree", Entry::End));
        transcript(&entries)
    }

    #[test]
    fn each_member_is_told_its_own_words_as_its_own() {
        let to = |text: &str| Turn::To(text.to_owned());
        let by = |text: &str| Turn::By { text: text.to_owned(), calls: Vec::new() };
        assert_eq!(talk().told_to("grok", 1000), [to("hello\n\n[claude] a whole answer\n\n[gemini] I agree")]);
        assert_eq!(talk().told_to("claude", 1000), [to("hello"), by("a whole answer"), to("[gemini] I agree")]);
        let to_gemini = [to("hello\n\n[claude] a whole answer"), by("I agree"), to("(go on)")];
        assert_eq!(talk().told_to("gemini", 1000), to_gemini);
    }

    #[test]
    fn the_oldest_is_left_out_when_it_is_too_much() {
        assert_eq!(talk().told_to("grok", 8), [Turn::To("[gemini] I agree".to_owned())]);
        assert_eq!(talk().told_to("grok", 0).len(), 1, "the last word is always told");
    }

    #[test]
    fn an_export_shows_what_a_person_saw() {
        let markdown = talk().to_markdown("A council");
        assert_eq!(
            markdown,
            "# A council\n\n## You\n\nhello\n\n## claude (m)\n\nhalf an\n\n[Connection lost mid-response]\n\
             \n## claude (m)\n\na whole answer\n\n> about us\n\n## gemini (m)\n\nI agree\n"
        );
        let json: serde_json::Value = serde_json::from_str(&talk().to_json("s1")).unwrap();
        assert_eq!(json["said"][1]["ending"], "lost");
        assert_eq!(json["said"][4]["by"], "member");
    }

    #[test]
    fn an_answer_that_a_crash_cut_off_is_marked() {
        let mut cut = transcript(&says("claude", "half an", Entry::End)[..3]);
        cut.close();
        assert!(cut.to_markdown("x").contains(LOST));
        assert_eq!(cut.bytes(), 0);
    }
}
