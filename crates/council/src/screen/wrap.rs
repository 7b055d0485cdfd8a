//! Breaking text into lines of a width, by words where that is possible.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The lines of a text at a width.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    for line in text.split('\n') {
        wrap_line(line.trim_end(), width, &mut lines);
    }
    lines
}

fn wrap_line(line: &str, width: usize, lines: &mut Vec<String>) {
    let mut current = String::new();
    let mut used = 0;
    for word in line.split_inclusive(' ') {
        let visible = word.trim_end_matches(' ').width();
        if used > 0 && used + visible > width {
            lines.push(std::mem::take(&mut current).trim_end().to_owned());
            used = 0;
        }
        if visible <= width {
            current.push_str(word);
            used += word.width();
            continue;
        }
        for letter in word.chars() {
            let wide = letter.width().unwrap_or(0);
            if used + wide > width {
                lines.push(std::mem::take(&mut current));
                used = 0;
            }
            current.push(letter);
            used += wide;
        }
    }
    lines.push(current.trim_end().to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, width: usize, expected: &[&str]) {
        assert_eq!(wrap(text, width), expected);
    }

    #[test]
    fn text_is_broken_at_words_and_long_words_anywhere() {
        check("one two three", 7, &["one two", "three"]);
        check("one  two", 4, &["one", "two"]);
        check("a\n\nb", 9, &["a", "", "b"]);
        check("abcdefgh ij", 3, &["abc", "def", "gh", "ij"]);
        check("好好好", 4, &["好好", "好"]);
        check("  indented text", 10, &["  indented", "text"]);
        check("", 5, &[""]);
        check("abc", 0, &["a", "b", "c"]);
    }
}
