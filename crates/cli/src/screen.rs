//! A terminal that is drawn on line by line, and put away again whatever happens.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::termios::{self, LocalModes, OptionalActions, Termios};

/// What a piece of text is drawn with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Plain,
    Bold,
    Faint,
    Good,
    Doubt,
    Bad,
}

/// A line of the screen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line(Vec<(Ink, String)>);

impl Line {
    pub(crate) fn of(ink: Ink, text: impl Into<String>) -> Self {
        Self(vec![(ink, text.into())])
    }

    pub(crate) fn and(mut self, ink: Ink, text: impl Into<String>) -> Self {
        self.0.push((ink, text.into()));
        self
    }

    /// The line in at most `columns`, with or without colour.
    pub(crate) fn render(&self, columns: usize, colour: bool) -> String {
        let mut left = columns;
        let mut out = String::new();
        for (ink, text) in &self.0 {
            let all = text.chars().count();
            let text: String = if all > left {
                text.chars().take(left.saturating_sub(1)).chain((left > 0).then_some('…')).collect()
            } else {
                text.clone()
            };
            left -= text.chars().count().min(left);
            let code = match ink {
                Ink::Plain => "",
                Ink::Bold => "\x1b[1m",
                Ink::Faint => "\x1b[2m",
                Ink::Good => "\x1b[32m",
                Ink::Doubt => "\x1b[33m",
                Ink::Bad => "\x1b[31m",
            };
            if colour && !code.is_empty() && !text.is_empty() {
                out.push_str(code);
                out.push_str(&text);
                out.push_str("\x1b[0m");
            } else {
                out.push_str(&text);
            }
        }
        out
    }
}

/// The terminal while a command has it. Gives it back when dropped, and before a panic is told.
pub(crate) struct Screen {
    before: Option<Termios>,
    colour: bool,
    gone: Arc<AtomicBool>,
}

impl Screen {
    /// Takes the terminal; none where stdout is not one.
    pub(crate) fn take() -> Option<Self> {
        let out = io::stdout();
        if !out.is_terminal() || std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
            return None;
        }
        let before = termios::tcgetattr(&out).ok();
        if let Some(before) = &before {
            // What is typed must not spoil the picture; Ctrl-C still is a signal.
            let mut quiet = before.clone();
            quiet.local_modes -= LocalModes::ECHO | LocalModes::ICANON;
            let _ = termios::tcsetattr(&out, OptionalActions::Now, &quiet);
        }
        let gone = Arc::new(AtomicBool::new(false));
        let told = std::panic::take_hook();
        let (hook_gone, hook_before) = (Arc::clone(&gone), before.clone());
        std::panic::set_hook(Box::new(move |panic| {
            leave(&hook_gone, hook_before.as_ref());
            told(panic);
        }));
        let _ = write!(io::stdout(), "\x1b[?1049h\x1b[?25l");
        let colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Some(Self { before, colour, gone })
    }

    /// Whether a panic has put the screen away.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    /// Shows what `draw` makes of so many rows.
    pub(crate) fn show(&self, draw: impl FnOnce(usize) -> Vec<Line>) -> io::Result<()> {
        let size = termios::tcgetwinsize(io::stdout()).ok().filter(|size| size.ws_row > 0 && size.ws_col > 0);
        let (rows, columns) = size.map_or((24, 80), |size| (usize::from(size.ws_row), usize::from(size.ws_col)));
        let lines = draw(rows);
        let mut picture = String::from("\x1b[H");
        for (row, line) in lines.iter().enumerate() {
            if row > 0 {
                picture.push_str("\r\n");
            }
            picture.push_str(&line.render(columns, self.colour));
            picture.push_str("\x1b[K");
        }
        picture.push_str("\x1b[J");
        let mut out = io::stdout().lock();
        out.write_all(picture.as_bytes())?;
        out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave(&self.gone, self.before.as_ref());
    }
}

fn leave(gone: &AtomicBool, before: Option<&Termios>) {
    if gone.swap(true, Ordering::Relaxed) {
        return;
    }
    let mut out = io::stdout();
    let _ = write!(out, "\x1b[0m\x1b[?25h\x1b[?1049l");
    let _ = out.flush();
    if let Some(before) = before {
        let _ = termios::tcsetattr(&out, OptionalActions::Now, before);
    }
}
