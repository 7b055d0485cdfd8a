//! What the screen shows, drawn from what is known. Drawing only reads.
//!
//! Each member has a mark and a colour of its own; without colours the marks and names are enough.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use steadfast_core::time::Instant;
use unicode_width::UnicodeWidthStr as _;

use super::editor::Editor;
use super::wrap::wrap;
use crate::coordinator::{Doing, Status};
use crate::entry::{LOST, STOPPED};
use crate::transcript::{Ending, Said, Speech, What};

/// Marks and colours of the members, in order; more members begin anew.
const MARKS: [(&str, Color); 6] = [
    ("◆", Color::Cyan),
    ("●", Color::Magenta),
    ("▲", Color::Yellow),
    ("■", Color::Green),
    ("★", Color::Blue),
    ("✚", Color::Red),
];

const SPINNER: [&str; 4] = ["◐", "◓", "◑", "◒"];

/// The input grows up to this many lines.
const INPUT_LINES_MAX: usize = 6;

/// A question is shown in full, up to this many lines.
const QUESTION_LINES_MAX: usize = 3;

/// What is shown, piece by piece.
#[derive(Debug)]
pub(crate) enum Item<'a> {
    /// A part of the conversation.
    Said(&'a Said),
    /// Something for the person alone.
    Aside(&'a str),
}

/// A member as it is shown.
#[derive(Clone, Debug)]
pub(crate) struct Seat {
    pub(crate) name: String,
    pub(crate) offline: bool,
}

/// Everything there is to draw.
#[derive(Debug)]
pub(crate) struct View<'a> {
    pub(crate) items: Vec<Item<'a>>,
    pub(crate) seats: &'a [Seat],
    pub(crate) status: &'a Status,
    pub(crate) now: Instant,
    pub(crate) editor: &'a Editor,
    /// Lines scrolled up from the end.
    pub(crate) scroll: usize,
    /// What faults can be played.
    pub(crate) faults: &'a [String],
    pub(crate) beat: usize,
    pub(crate) colours: bool,
    /// A word to the person about what a key did.
    pub(crate) hint: Option<&'a str>,
}

/// Draws, and says how far up one can scroll.
pub(crate) fn draw(frame: &mut Frame<'_>, view: &View<'_>) -> usize {
    let area = frame.area();
    let width = usize::from(area.width);
    let question = view.question(width);
    let (input, cursor) = view.input(width);
    let [title, chat, asking, status, entry, footer] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(lines_of(&question)),
        Constraint::Length(1),
        Constraint::Length(lines_of(&input)),
        Constraint::Length(1),
    ])
    .areas(area);
    frame.render_widget(Paragraph::new(view.title(width)), title);
    let height = usize::from(chat.height);
    let lines = view.chat(width);
    let scroll_max = lines.len().saturating_sub(height);
    let scroll = view.scroll.min(scroll_max);
    let end = lines.len() - scroll;
    let shown: Vec<Line<'_>> = lines[end.saturating_sub(height)..end].to_vec();
    let shown_at = Rect { y: chat.y + chat.height - shown.len() as u16, height: shown.len() as u16, ..chat };
    frame.render_widget(Paragraph::new(shown), shown_at);
    frame.render_widget(Paragraph::new(question), asking);
    frame.render_widget(Paragraph::new(view.bar(width, scroll)), status);
    frame.render_widget(Paragraph::new(input), entry);
    frame.render_widget(Paragraph::new(view.footer(width)), footer);
    let (column, row) = cursor;
    frame.set_cursor_position(Position { x: entry.x + column as u16, y: entry.y + row as u16 });
    scroll_max
}

fn lines_of(lines: &[Line<'_>]) -> u16 {
    lines.len() as u16
}

impl View<'_> {
    fn title(&self, width: usize) -> Line<'static> {
        let mut spans = vec![Span::styled("Council ", self.style(Style::new().add_modifier(Modifier::BOLD)))];
        for (index, seat) in self.seats.iter().enumerate() {
            let (mark, style) = self.mark(index);
            let (mark, style) = if seat.offline { ("✗", self.dim()) } else { (mark, style) };
            let state = if seat.offline { " (offline)" } else { "" };
            spans.push(Span::styled(format!(" {mark} {}{state} ", seat.name), style));
        }
        fit(Line::from(spans), width)
    }

    fn chat(&self, width: usize) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        for item in &self.items {
            match item {
                Item::Said(said) => self.said(said, width, &mut lines),
                Item::Aside(text) => {
                    let styled = |line: String| Line::styled(format!("  {line}"), self.dim());
                    lines.extend(wrap(text, width.saturating_sub(3)).into_iter().map(styled));
                }
            }
            lines.push(Line::default());
        }
        lines
    }

    fn said(&self, said: &Said, width: usize, lines: &mut Vec<Line<'static>>) {
        match &said.what {
            What::Person { text } => {
                lines.push(Line::styled("❯ you", self.style(Style::new().add_modifier(Modifier::BOLD))));
                lines.extend(indented(text, width));
            }
            What::Member(speech) => self.speech(speech, width, lines),
            What::Note { text } => {
                let ink =
                    if text.starts_with('⚠') || text.starts_with('✗') { Color::Yellow } else { Color::DarkGray };
                let style = self.style(Style::new().fg(ink));
                lines.extend(wrap(text, width.saturating_sub(1)).into_iter().map(|line| Line::styled(line, style)));
            }
        }
    }

    fn speech(&self, speech: &Speech, width: usize, lines: &mut Vec<Line<'static>>) {
        let seat = self.seats.iter().position(|seat| seat.name == speech.member).unwrap_or_default();
        let (mark, style) = self.mark(seat);
        let head = style.add_modifier(Modifier::BOLD);
        let model = Span::styled(format!("  {}", speech.model), self.dim());
        lines.push(Line::from(vec![Span::styled(format!("{mark} {}", speech.member), head), model]));
        let body = if speech.ending == Ending::Lost { self.dim() } else { Style::new() };
        lines.extend(indented(speech.text.trim_end(), width).map(|line| line.style(body)));
        let mark = match speech.ending {
            Ending::Lost => LOST,
            Ending::Stopped => STOPPED,
            Ending::Open | Ending::Whole => return,
        };
        lines.push(Line::styled(format!("  {mark}"), self.style(Style::new().fg(Color::Red))));
    }

    fn question(&self, width: usize) -> Vec<Line<'static>> {
        let Some(words) = self.status.asking_words(self.now) else { return Vec::new() };
        let style = self.style(Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD));
        let lines = wrap(&words, width.saturating_sub(1)).into_iter().take(QUESTION_LINES_MAX);
        lines.map(|line| Line::styled(line, style)).collect()
    }

    /// The status bar: what is going on to the left, how many take part to the right.
    fn bar(&self, width: usize, scroll: usize) -> Line<'static> {
        let doing = self.status.doing_words(self.now);
        let left = match (&self.status.doing, self.hint) {
            (_, Some(hint)) => hint.to_owned(),
            (Doing::Idle, None) if self.status.asking.is_some() => "waiting for your answer".to_owned(),
            (Doing::Idle, None) => "your turn".to_owned(),
            (Doing::Paused, None) => doing,
            (_, None) => format!("{} {doing}", SPINNER[self.beat % SPINNER.len()]),
        };
        let mut right = self.status.members_words();
        if self.status.retries > 0 {
            let retries = if self.status.retries == 1 { "retry" } else { "retries" };
            let warning = if self.status.warning { "⚠ " } else { "" };
            right = format!("{warning}{} {retries} · {right}", self.status.retries);
        }
        if self.status.waiting > 0 {
            right = format!("{} waiting · {right}", self.status.waiting);
        }
        if scroll > 0 {
            right = format!("↑ {scroll} lines · {right}");
        }
        let room = width.saturating_sub(right.width() + 3);
        let left = cut(&left, room);
        let gap = " ".repeat(width.saturating_sub(left.width() + right.width() + 2));
        Line::styled(format!(" {left}{gap}{right} "), Style::new().add_modifier(Modifier::REVERSED))
    }

    /// The lines of the input as they are shown, and where among them the cursor stands.
    fn input(&self, width: usize) -> (Vec<Line<'static>>, (usize, usize)) {
        let inner = width.saturating_sub(3).max(1);
        let (before, _) = self.editor.text().split_at(self.editor.cursor());
        let mut shown: Vec<String> = Vec::new();
        let mut cursor = (0, 0);
        let mut passed = 0;
        for line in self.editor.text().split('\n') {
            let mut row = String::new();
            for letter in line.chars().map(Some).chain([None]) {
                if passed == before.len() {
                    cursor = (row.width(), shown.len());
                }
                let Some(letter) = letter else { break };
                passed += letter.len_utf8();
                if row.width() + 1 > inner {
                    shown.push(std::mem::take(&mut row));
                }
                row.push(letter);
            }
            passed += 1;
            shown.push(row);
        }
        let first = (cursor.1 + 1).saturating_sub(INPUT_LINES_MAX);
        let lines = shown.into_iter().skip(first).take(INPUT_LINES_MAX).enumerate().map(|(row, text)| {
            let prompt = if row == 0 && first == 0 { "❯ " } else { "  " };
            Line::from(vec![Span::styled(prompt, self.style(Style::new().fg(Color::Green))), Span::raw(text)])
        });
        (lines.collect(), (cursor.0 + 2, cursor.1 - first))
    }

    fn footer(&self, width: usize) -> Line<'static> {
        if self.faults.is_empty() {
            let keys = "Enter send · Alt+Enter new line · Tab complete · PgUp/PgDn scroll · Ctrl+C stop · /help";
            return Line::styled(cut(keys, width), self.dim());
        }
        let faults = (1..).zip(self.faults).map(|(number, label)| {
            let label = label.split(':').next().unwrap_or(label);
            format!("{number} {label}")
        });
        let text = format!("Alt+ {}", faults.collect::<Vec<_>>().join(" · "));
        Line::styled(cut(&text, width), self.dim())
    }

    fn mark(&self, seat: usize) -> (&'static str, Style) {
        let (mark, colour) = MARKS[seat % MARKS.len()];
        (mark, self.style(Style::new().fg(colour)))
    }

    fn dim(&self) -> Style {
        self.style(Style::new().fg(Color::DarkGray))
    }

    /// The same style without its colours, where a person wants none.
    fn style(&self, style: Style) -> Style {
        if self.colours { style } else { Style { fg: None, bg: None, ..style } }
    }
}

fn indented(text: &str, width: usize) -> impl Iterator<Item = Line<'static>> {
    wrap(text, width.saturating_sub(3)).into_iter().map(|line| Line::from(format!("  {line}")))
}

/// As much as fits, with a sign where something is left out.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    for letter in text.chars() {
        if kept.width() + 2 > width {
            break;
        }
        kept.push(letter);
    }
    kept + "…"
}

fn fit(line: Line<'static>, width: usize) -> Line<'static> {
    if line.width() <= width { line } else { Line::from(cut(&line.to_string(), width)) }
}
