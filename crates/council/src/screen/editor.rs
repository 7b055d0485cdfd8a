//! The line a person types: several lines, a cursor, history and completion. Pure.

/// How many earlier messages are kept.
const HISTORY_MAX: usize = 200;

/// What is typed at most; a paste may be large.
const TEXT_BYTES_MAX: usize = 256 * 1024;

/// The line a person types.
#[derive(Debug, Default)]
pub(crate) struct Editor {
    text: String,
    /// In bytes, at the border of a letter.
    cursor: usize,
    history: Vec<String>,
    /// Which message of the history is shown, and what was typed before it.
    browsing: Option<(usize, String)>,
    /// What completion offers, and which of it is shown.
    offered: Option<(Vec<String>, usize)>,
}

impl Editor {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Where the cursor is, in bytes.
    pub(crate) fn cursor(&self) -> usize {
        self.cursor
    }

    pub(crate) fn insert(&mut self, text: &str) {
        self.offered = None;
        if self.text.len() + text.len() <= TEXT_BYTES_MAX {
            self.text.insert_str(self.cursor, text);
            self.cursor += text.len();
        }
    }

    /// A paste: line ends of other systems become ours, and nothing in it is a command to the terminal.
    pub(crate) fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n").replace('\t', "    ");
        let plain: String = text.chars().filter(|letter| *letter == '\n' || !letter.is_control()).collect();
        self.insert(&plain);
    }

    /// Takes what was typed.
    pub(crate) fn take(&mut self) -> String {
        let text = std::mem::take(&mut self.text);
        self.cursor = 0;
        (self.browsing, self.offered) = (None, None);
        if !text.trim().is_empty() && self.history.last() != Some(&text) {
            if self.history.len() == HISTORY_MAX {
                self.history.remove(0);
            }
            self.history.push(text.clone());
        }
        text
    }

    pub(crate) fn clear(&mut self) {
        self.set(String::new());
        self.browsing = None;
    }

    pub(crate) fn backspace(&mut self) {
        self.offered = None;
        if let Some(letter) = self.text[..self.cursor].chars().next_back() {
            self.cursor -= letter.len_utf8();
            self.text.remove(self.cursor);
        }
    }

    pub(crate) fn delete(&mut self) {
        self.offered = None;
        if self.cursor < self.text.len() {
            self.text.remove(self.cursor);
        }
    }

    /// Removes the word before the cursor.
    pub(crate) fn delete_word(&mut self) {
        let before = self.text[..self.cursor].trim_end();
        let blank = before.char_indices().rfind(|(_, letter)| letter.is_whitespace());
        let start = blank.map_or(0, |(at, letter)| at + letter.len_utf8());
        self.text.drain(start..self.cursor);
        self.cursor = start;
    }

    pub(crate) fn delete_to_start(&mut self) {
        let start = self.line_start();
        self.text.drain(start..self.cursor);
        self.cursor = start;
    }

    pub(crate) fn delete_to_end(&mut self) {
        let end = self.line_end();
        self.text.drain(self.cursor..end);
    }

    pub(crate) fn left(&mut self) {
        self.cursor -= self.text[..self.cursor].chars().next_back().map_or(0, char::len_utf8);
    }

    pub(crate) fn right(&mut self) {
        self.cursor += self.text[self.cursor..].chars().next().map_or(0, char::len_utf8);
    }

    pub(crate) fn home(&mut self) {
        self.cursor = self.line_start();
    }

    pub(crate) fn end(&mut self) {
        self.cursor = self.line_end();
    }

    /// A line up, or the message before in the history.
    pub(crate) fn up(&mut self) {
        let start = self.line_start();
        if start > 0 {
            let column = self.text[start..self.cursor].chars().count();
            self.cursor = start - 1;
            self.go_to_column(column);
            return;
        }
        let next = match &self.browsing {
            None => self.history.len().checked_sub(1),
            Some((at, _)) => at.checked_sub(1),
        };
        if let Some(at) = next {
            let typed = self.browsing.take().map_or_else(|| self.text.clone(), |(_, typed)| typed);
            self.set(self.history[at].clone());
            self.browsing = Some((at, typed));
        }
    }

    /// A line down, or the message after in the history.
    pub(crate) fn down(&mut self) {
        let end = self.line_end();
        if end < self.text.len() {
            let column = self.text[self.line_start()..self.cursor].chars().count();
            self.cursor = end + 1;
            self.go_to_column(column);
            return;
        }
        let Some((at, typed)) = self.browsing.take() else { return };
        match self.history.get(at + 1) {
            Some(text) => {
                self.set(text.clone());
                self.browsing = Some((at + 1, typed));
            }
            None => self.set(typed),
        }
    }

    /// Shows the next way to complete what is typed; `offer` says which there are.
    pub(crate) fn complete(&mut self, offer: impl FnOnce(&str) -> Vec<String>) {
        let (offered, at) = match self.offered.take() {
            Some((offered, at)) => {
                let next = (at + 1) % offered.len();
                (offered, next)
            }
            None => (offer(&self.text), 0),
        };
        if let Some(text) = offered.get(at).cloned() {
            self.set(text);
            // With a single way there is nothing to go round.
            self.offered = (offered.len() > 1).then_some((offered, at));
        }
    }

    fn set(&mut self, text: String) {
        self.cursor = text.len();
        self.text = text;
        self.offered = None;
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    /// Puts the cursor at a column of its line, or at the line's end.
    fn go_to_column(&mut self, column: usize) {
        let (start, end) = (self.line_start(), self.line_end());
        let at = self.text[start..end].char_indices().nth(column).map_or(end, |(at, _)| start + at);
        self.cursor = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Letters are typed; `<` left, `>` right, `^` up, `v` down, `#` backspace, `\n` a new line, `!` takes.
    fn check(keys: &str, expected: &str) {
        let mut editor = Editor::default();
        for key in keys.chars() {
            match key {
                '<' => editor.left(),
                '>' => editor.right(),
                '^' => editor.up(),
                'v' => editor.down(),
                '#' => editor.backspace(),
                '!' => drop(editor.take()),
                letter => editor.insert(&letter.to_string()),
            }
        }
        let (before, after) = editor.text().split_at(editor.cursor());
        assert_eq!(format!("{before}|{after}"), expected);
    }

    #[test]
    fn letters_of_every_length_are_moved_over_whole() {
        check("aé好", "aé好|");
        check("aé好<<", "a|é好");
        check("aé好<#", "a|好");
        check("<<#", "|");
    }

    #[test]
    fn up_and_down_move_in_the_text_and_then_in_the_history() {
        check("one\ntwo^", "one|\ntwo");
        check("one\nlonger^v", "one\nlon|ger");
        check("first!second!dra^", "second|");
        check("first!second!dra^^", "first|");
        check("first!second!dra^^vv", "dra|");
        check("first!^v", "|");
    }

    #[test]
    fn completion_goes_round_and_ends_with_the_next_letter() {
        let mut editor = Editor::default();
        editor.insert("/m");
        let offer = |_: &str| vec!["/members".to_owned(), "/model ".to_owned()];
        let mut shown = Vec::new();
        for _ in 0..3 {
            editor.complete(offer);
            shown.push(editor.text().to_owned());
        }
        assert_eq!(shown, ["/members", "/model ", "/members"]);
        editor.complete(|_| Vec::new());
        editor.insert("x");
        editor.complete(|text| vec![format!("{text}y")]);
        assert_eq!(editor.text(), "/model xy");
    }

    #[test]
    fn a_paste_is_text_and_nothing_else() {
        let mut editor = Editor::default();
        editor.paste("a\r\nb\u{1b}[31m\tc\u{7}");
        assert_eq!(editor.text(), "a\nb[31m    c");
        editor.paste(&"x".repeat(TEXT_BYTES_MAX));
        assert_eq!(editor.text().len(), 12, "what is too large is left out whole");
    }

    #[test]
    fn words_and_lines_are_deleted_as_in_a_shell() {
        let mut editor = Editor::default();
        editor.insert("one two  three");
        editor.delete_word();
        assert_eq!(editor.text(), "one two  ");
        editor.delete_word();
        assert_eq!(editor.text(), "one ");
        editor.home();
        editor.delete_to_end();
        assert_eq!(editor.text(), "");
    }

    #[test]
    fn a_word_behind_a_wide_or_hard_blank_is_deleted() {
        for blank in ["\u{3000}", "\u{a0}"] {
            let mut editor = Editor::default();
            editor.insert(&format!("好{blank}one{blank}"));
            editor.delete_word();
            assert_eq!(editor.text(), format!("好{blank}"));
            editor.delete_word();
            assert_eq!(editor.text(), "");
        }
    }
}
