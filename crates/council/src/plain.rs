//! The council as plain lines: for pipes, for screen readers, and where there is no terminal.
//!
//! Nothing is drawn twice. The conversation goes to one writer and what is only of the moment (retries, reminders)
//! to another, so that a pipe gets the conversation alone.

use std::io::{self, Write};

use tokio::sync::mpsc::Receiver;

use crate::coordinator::{Doing, Event, Status};
use crate::desk::{Chaos, Done, obey};
use crate::entry::{Entry, LOST, STOPPED};
use crate::room::Room;
use steadfast_core::recovery::Answer;

/// Where plain lines go.
pub struct Plain<'a> {
    /// The conversation.
    pub out: &'a mut dyn Write,
    /// What is only of the moment.
    pub talk: &'a mut dyn Write,
    /// Whether what the person said is told too: a terminal has shown it already.
    pub echo: bool,
    /// Faults to play.
    pub chaos: Option<Chaos>,
}

impl Plain<'_> {
    /// Runs until the person leaves, or there is nothing more to read and everybody has spoken.
    pub async fn run(mut self, room: &mut Room, mut lines: Receiver<String>) -> io::Result<()> {
        let mut status = room.status();
        let mut open = true;
        loop {
            if !open && room.coordinator().is_idle() {
                return Ok(());
            }
            let shown = tokio::select! {
                // What cannot be taken yet stays where it is: a pipe waits.
                line = lines.recv(), if open && room.coordinator().takes_more() => match line {
                    Some(line) => match obey(room, &line, self.chaos.as_mut()) {
                        Done::Shown(entries) => entries,
                        Done::Aside(text) => {
                            writeln!(self.talk, "{text}")?;
                            Vec::new()
                        }
                        Done::Quit => return Ok(()),
                    },
                    None => {
                        open = false;
                        Vec::new()
                    }
                },
                entries = room.happening() => entries,
            };
            self.show(&shown)?;
            while !open && room.status().asking.is_some() {
                // Nobody is left who could answer, and the next question would wait for its reminder.
                let entries = room.tell(Event::Answered(Answer::No));
                self.show(&entries)?;
            }
            let now = room.status();
            self.moment(&status, &now, room)?;
            status = now;
        }
    }

    /// Shows entries.
    pub fn show(&mut self, entries: &[Entry]) -> io::Result<()> {
        for entry in entries {
            match entry {
                Entry::Person { text } if self.echo => writeln!(self.out, "you: {text}")?,
                Entry::Person { .. } => {}
                Entry::Begin { member, model } => write!(self.out, "{member} ({model}): ")?,
                Entry::Piece { text } => write!(self.out, "{text}")?,
                Entry::End => writeln!(self.out)?,
                Entry::Lost => writeln!(self.out, "\n{LOST}")?,
                Entry::Stopped => writeln!(self.out, "\n{STOPPED}")?,
                Entry::Note { text } => writeln!(self.out, "{text}")?,
            }
        }
        self.out.flush()
    }

    /// Tells what a status bar would, once.
    fn moment(&mut self, before: &Status, now: &Status, room: &Room) -> io::Result<()> {
        if now.doing != before.doing && matches!(now.doing, Doing::Retrying { .. }) {
            writeln!(self.talk, "{}", now.doing_words(room.now()))?;
        }
        let nudged = |status: &Status| status.asking.as_ref().is_some_and(|asking| asking.nudged);
        if nudged(now) && !nudged(before) {
            writeln!(self.talk, "{}", now.asking_words(room.now()).unwrap_or_default())?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for Plain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plain").field("echo", &self.echo).finish_non_exhaustive()
    }
}
