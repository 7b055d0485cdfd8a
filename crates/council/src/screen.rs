//! The council on a screen.
//!
//! One loop, one state: keys, answers and time arrive here and change it; drawing only reads. A question to the
//! person is a line above the input and takes nothing from it.

mod editor;
mod view;
mod wrap;

use std::io::{self, Stdout, Write as _};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossterm::event::{self, DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture};
use crossterm::event::{Event as Key, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseEventKind};
use crossterm::terminal::{self, EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{cursor, execute};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{self, Receiver};
use tokio::time::MissedTickBehavior;

use crate::command;
use crate::coordinator::{Doing, Event, Presence};
use crate::desk::{Chaos, Done, obey};
use crate::entry::Entry;
use crate::room::Room;
use editor::Editor;
use view::{Item, Seat, View};

/// How often something that moves by itself is drawn: a countdown, a spinner.
const BEAT: Duration = Duration::from_millis(250);

/// How far the wheel scrolls.
const WHEEL_LINES: usize = 3;

/// Keys that wait to be looked at.
const KEYS_MAX: usize = 256;

/// Notes to the person that are kept on the screen.
const ASIDES_MAX: usize = 64;

/// Runs until the person leaves.
pub async fn run(room: &mut Room, chaos: Option<Chaos>) -> io::Result<()> {
    let mut screen = Screen::open(chaos)?;
    let mut keys = keys()?;
    let mut beat = tokio::time::interval(BEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut ended = signal(SignalKind::terminate())?;
    let mut hung_up = signal(SignalKind::hangup())?;
    screen.greet(room);
    while !screen.leaving {
        if !TAKEN.load(Ordering::SeqCst) {
            return Err(io::Error::other("the council came upon a bug and ended; the session is saved"));
        }
        screen.draw(room)?;
        let moving = room.status().doing != Doing::Idle || room.status().asking.is_some();
        tokio::select! {
            key = keys.recv() => match key {
                Some(key) => {
                    screen.key(key, room);
                    // A paste without brackets is many keys; they are drawn once.
                    while let Ok(key) = keys.try_recv() {
                        screen.key(key, room);
                    }
                }
                None => break,
            },
            entries = room.happening() => screen.happened(&entries),
            _ = beat.tick(), if moving => screen.beat += 1,
            _ = ended.recv() => break,
            _ = hung_up.recv() => break,
        }
    }
    Ok(())
}

/// Whether the terminal is ours. It is put back once: twice would move the cursor over what was written in between.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Takes the terminal; a panic, wherever it is, puts it back before it is told, so that it can be read.
fn take_terminal() -> io::Result<()> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let tell = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_terminal_back();
            tell(panic);
        }));
    });
    terminal::enable_raw_mode()?;
    TAKEN.store(true, Ordering::SeqCst);
    execute!(io::stdout(), EnterAlternateScreen, EnableMouseCapture, EnableBracketedPaste)
}

fn give_terminal_back() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    // Nothing can be done about a terminal that is gone.
    _ = execute!(out, DisableBracketedPaste, DisableMouseCapture, LeaveAlternateScreen, cursor::Show);
    _ = terminal::disable_raw_mode();
    _ = out.flush();
}

/// What is on the screen, and what the person is doing there.
struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    editor: Editor,
    /// Words for the person alone, each behind so many things that were said.
    asides: Vec<(usize, String)>,
    said: usize,
    scroll: usize,
    scroll_max: usize,
    chaos: Option<Chaos>,
    beat: usize,
    colours: bool,
    hint: Option<String>,
    leaving: bool,
}

impl Screen {
    fn open(chaos: Option<Chaos>) -> io::Result<Self> {
        take_terminal()?;
        Ok(Self {
            terminal: Terminal::new(CrosstermBackend::new(io::stdout())).inspect_err(|_| give_terminal_back())?,
            editor: Editor::default(),
            asides: Vec::new(),
            said: 0,
            scroll: 0,
            scroll_max: 0,
            chaos,
            beat: 0,
            colours: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
            hint: None,
            leaving: false,
        })
    }

    fn greet(&mut self, room: &Room) {
        self.said = room.transcript().said().len();
        let names: Vec<&str> = room.coordinator().members().map(|(member, _)| member.name.as_str()).collect();
        let faults = match &self.chaos {
            Some(_) => "\nThese providers are fake. Alt+1 to Alt+6, or /fault N, makes them fail.",
            None => "",
        };
        let verb = if self.said > 0 { "Welcome back to" } else { "This is" };
        self.aside(format!(
            "{verb} the council: {}. Say something; /help shows the commands.{faults}",
            names.join(", ")
        ));
    }

    fn draw(&mut self, room: &Room) -> io::Result<()> {
        self.said = room.transcript().said().len();
        let coordinator = room.coordinator();
        let seats: Vec<Seat> = coordinator
            .members()
            .map(|(member, presence)| {
                let offline = matches!(presence, Presence::Offline { .. });
                Seat { name: member.name.clone(), offline }
            })
            .collect();
        let status = room.status();
        let view = View {
            items: items(room, &self.asides),
            seats: &seats,
            status: &status,
            now: room.now(),
            editor: &self.editor,
            scroll: self.scroll,
            faults: self.chaos.as_ref().map(|chaos| chaos.labels.as_slice()).unwrap_or_default(),
            beat: self.beat,
            colours: self.colours,
            hint: self.hint.as_deref(),
        };
        let mut scroll_max = 0;
        self.terminal.draw(|frame| scroll_max = view::draw(frame, &view))?;
        self.scroll_max = scroll_max;
        self.scroll = self.scroll.min(scroll_max);
        Ok(())
    }

    /// What happened elsewhere: whoever has scrolled up goes on reading where they are.
    fn happened(&mut self, entries: &[Entry]) {
        if entries.iter().any(|entry| matches!(entry, Entry::Person { .. })) {
            self.scroll = 0;
        }
    }

    fn key(&mut self, key: Key, room: &mut Room) {
        match key {
            Key::Key(key) if key.kind != KeyEventKind::Release => self.press(key, room),
            Key::Paste(text) => self.editor.paste(&text),
            Key::Mouse(mouse) => match mouse.kind {
                MouseEventKind::ScrollUp => self.scroll_by(true, WHEEL_LINES),
                MouseEventKind::ScrollDown => self.scroll_by(false, WHEEL_LINES),
                _ => {}
            },
            Key::Key(_) | Key::Resize(..) | Key::FocusGained | Key::FocusLost => {}
        }
    }

    fn press(&mut self, key: KeyEvent, room: &mut Room) {
        let asked_to_leave = self.hint.take().is_some();
        let page = usize::from(self.terminal.size().map_or(24, |size| size.height)).saturating_sub(8).max(1);
        let (control, alt) = (key.modifiers.contains(KeyModifiers::CONTROL), key.modifiers.contains(KeyModifiers::ALT));
        let editor = &mut self.editor;
        match key.code {
            KeyCode::Char('c') if control => self.stop(room, asked_to_leave),
            KeyCode::Char('d') if control && editor.text().is_empty() => self.leaving = true,
            KeyCode::Char('a') if control => editor.home(),
            KeyCode::Char('e') if control => editor.end(),
            KeyCode::Char('w') if control => editor.delete_word(),
            KeyCode::Char('u') if control => editor.delete_to_start(),
            KeyCode::Char('k') if control => editor.delete_to_end(),
            KeyCode::Char('j') if control => editor.insert("\n"),
            KeyCode::Char('l') if control => _ = self.terminal.clear(),
            KeyCode::Char(digit @ '1'..='9') if alt && self.chaos.is_some() => self.fault(&digit.to_string()),
            KeyCode::F(number) if self.chaos.is_some() => self.fault(&number.to_string()),
            KeyCode::Char(letter) if !control => editor.insert(letter.encode_utf8(&mut [0; 4])),
            KeyCode::Enter if alt || key.modifiers.contains(KeyModifiers::SHIFT) => editor.insert("\n"),
            KeyCode::Enter => self.enter(room),
            KeyCode::Tab => {
                let members: Vec<(String, Vec<String>)> = room
                    .coordinator()
                    .members()
                    .map(|(member, _)| (member.name.clone(), member.models().map(ToString::to_string).collect()))
                    .collect();
                let faults = self.chaos.as_ref().map_or(0, |chaos| chaos.labels.len());
                editor.complete(|line| command::complete(line, &members, faults));
            }
            KeyCode::Backspace if alt => editor.delete_word(),
            KeyCode::Backspace => editor.backspace(),
            KeyCode::Delete => editor.delete(),
            KeyCode::Left => editor.left(),
            KeyCode::Right => editor.right(),
            KeyCode::Home => editor.home(),
            KeyCode::End => editor.end(),
            KeyCode::Up => editor.up(),
            KeyCode::Down => editor.down(),
            KeyCode::PageUp => self.scroll_by(true, page),
            KeyCode::PageDown => self.scroll_by(false, page),
            KeyCode::Esc => self.scroll = 0,
            _ => {}
        }
    }

    fn enter(&mut self, room: &mut Room) {
        let line = self.editor.take();
        self.scroll = 0;
        self.said = room.transcript().said().len();
        match obey(room, &line, self.chaos.as_mut()) {
            Done::Shown(_) => {}
            Done::Aside(text) => self.aside(text),
            Done::Quit => self.leaving = true,
        }
    }

    /// First what is typed, then who speaks, then the person itself, who is asked.
    fn stop(&mut self, room: &mut Room, asked_to_leave: bool) {
        if !self.editor.text().is_empty() {
            self.editor.clear();
        } else if !matches!(room.status().doing, Doing::Idle | Doing::Paused) {
            drop(room.tell(Event::Stop));
        } else if asked_to_leave {
            self.leaving = true;
        } else {
            self.hint = Some("Ctrl+C again leaves; the session is saved".to_owned());
        }
    }

    fn fault(&mut self, number: &str) {
        if let Some(chaos) = &mut self.chaos {
            let told = chaos.told(number);
            self.aside(told);
        }
    }

    fn aside(&mut self, text: String) {
        if self.asides.len() == ASIDES_MAX {
            self.asides.remove(0);
        }
        self.asides.push((self.said, text));
    }

    fn scroll_by(&mut self, up: bool, lines: usize) {
        self.scroll = match up {
            true => (self.scroll + lines).min(self.scroll_max),
            false => self.scroll.saturating_sub(lines),
        };
    }
}

impl Drop for Screen {
    /// The terminal is put back as it was, whatever happened.
    fn drop(&mut self) {
        give_terminal_back();
    }
}

/// What was said, with the words for the person alone where they were told.
fn items<'a>(room: &'a Room, asides: &'a [(usize, String)]) -> Vec<Item<'a>> {
    let said = room.transcript().said();
    let mut items = Vec::with_capacity(said.len() + asides.len());
    let mut asides = asides.iter().peekable();
    for position in 0..=said.len() {
        while let Some((_, text)) = asides.next_if(|(behind, _)| *behind <= position) {
            items.push(Item::Aside(text));
        }
        items.extend(said.get(position).map(Item::Said));
    }
    items
}

/// What is pressed, read by a thread of its own; it ends soon after nobody listens.
fn keys() -> io::Result<Receiver<Key>> {
    let (sender, keys) = mpsc::channel(KEYS_MAX);
    let read = move || {
        while !sender.is_closed() {
            match event::poll(BEAT) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(_) => return,
            }
            let Ok(key) = event::read() else { return };
            if sender.blocking_send(key).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("keys".to_owned()).spawn(read)?;
    Ok(keys)
}

#[cfg(test)]
mod tests;
