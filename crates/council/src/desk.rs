//! What the person does, whatever the front end: words and commands become events, and some are answered at once.

use std::path::PathBuf;

use steadfast_core::recovery::Answer;

use crate::command::{self, Typed};
use crate::coordinator::{Event, Whom};
use crate::entry::Entry;
use crate::room::Room;

/// Faults that can be played on purpose, where the providers are fake.
pub struct Chaos {
    /// What each of them does, in words; the first is number 1.
    pub labels: Vec<String>,
    /// Plays the fault at this position.
    pub play: Box<dyn FnMut(usize) -> Result<(), String> + Send>,
}

/// What comes of something typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// To be shown; it is part of the conversation.
    Shown(Vec<Entry>),
    /// To be shown to the person alone, and forgotten.
    Aside(String),
    /// The person leaves.
    Quit,
}

/// Obeys what was typed.
pub fn obey(room: &mut Room, line: &str, chaos: Option<&mut Chaos>) -> Done {
    let fake = chaos.is_some();
    if let Some(chaos) = chaos
        && let Some(number) = line.trim().strip_prefix("/fault")
    {
        return Done::Aside(chaos.told(number.trim()));
    }
    let Some(typed) = command::read(line) else { return Done::Shown(Vec::new()) };
    match typed {
        Typed::Say(text) => Done::Shown(room.tell(Event::Said(text))),
        Typed::Yes => answer(room, Answer::Yes),
        Typed::No => answer(room, Answer::No),
        Typed::Retry(None) => Done::Shown(room.tell(Event::Retry(Whom::All))),
        Typed::Retry(Some(name)) => match room.coordinator().seat(&name) {
            Some(seat) => Done::Shown(room.tell(Event::Retry(Whom::Seat(seat)))),
            None => Done::Aside(nobody(room, &name)),
        },
        Typed::Export(path) => Done::Aside(export(room, path)),
        Typed::Members => Done::Aside(room.members_words()),
        Typed::Model(None) => Done::Aside(room.models_words()),
        Typed::Model(Some((name, model))) => match (room.coordinator().seat(&name), model) {
            (Some(seat), Some(model)) => Done::Shown(room.tell(Event::Switch { seat, model })),
            (Some(_), None) => Done::Aside(room.models_words()),
            (None, _) => Done::Aside(nobody(room, &name)),
        },
        Typed::Help => Done::Aside(command::help(fake)),
        Typed::Quit => Done::Quit,
        Typed::Unknown(name) => Done::Aside(command::unknown(&name)),
    }
}

impl Chaos {
    /// Plays a fault by its number, and says what is played.
    pub fn told(&mut self, number: &str) -> String {
        let position = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let Some((position, label)) = position.and_then(|at| Some((at, self.labels.get(at)?))) else {
            let all = (1..).zip(&self.labels).map(|(number, label)| format!("/fault {number}  {label}"));
            return all.collect::<Vec<_>>().join("\n");
        };
        let label = label.clone();
        match (self.play)(position) {
            Ok(()) => format!("Fault: {label}"),
            Err(problem) => format!("Fault: {label}: {problem}"),
        }
    }
}

impl std::fmt::Debug for Chaos {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Chaos").field("labels", &self.labels).finish_non_exhaustive()
    }
}

fn answer(room: &mut Room, answer: Answer) -> Done {
    if room.status().asking.is_none() {
        return Done::Aside("Nothing is asked.".to_owned());
    }
    Done::Shown(room.tell(Event::Answered(answer)))
}

fn export(room: &Room, path: Option<String>) -> String {
    let path = path.map_or_else(|| PathBuf::from(format!("council-{}.md", room.id())), PathBuf::from);
    match room.export(&path) {
        Ok(()) => format!("Saved to {}", path.display()),
        Err(error) => format!("Cannot save to {}: {error}", path.display()),
    }
}

fn nobody(room: &Room, name: &str) -> String {
    let names: Vec<&str> = room.coordinator().members().map(|(member, _)| member.name.as_str()).collect();
    format!("There is no member {name}. There are {}.", names.join(", "))
}
