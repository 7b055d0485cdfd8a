//! Tells source code and lists of names from an error that quotes some.

use memchr::memmem;

/// Tells a piece of source code, whose other lines are code too, from an error that quotes some.
#[derive(Default)]
pub(super) struct Code {
    lines: usize,
    shaped: usize,
    alike: usize,
    /// Lines that hold a name and nothing else.
    names: usize,
    ends_in_code: bool,
    is_report: bool,
}

impl Code {
    /// Counts one line of this benign shape.
    pub(super) fn note(&mut self, line: &[u8], shape: Option<&'static str>) {
        const REPORTS: [&[u8]; 5] = [b"traceback", b"file \"", b"at ", b"error:", b"fatal:"];
        const SHAPES: [&str; 4] = ["benign.declaration", "benign.statement", "benign.condition", "benign.literals"];
        let inner = line.trim_ascii();
        let Some(first) = inner.first() else { return };
        if inner.iter().all(|byte| b"{}()[];,".contains(byte)) {
            self.ends_in_code = true;
            return;
        }
        let is_shaped = shape.is_some_and(|shape| SHAPES.contains(&shape));
        let looks_like_code = is_shaped || inner.ends_with(b";") || memmem::find(inner, b" => ").is_some();
        self.lines += 1;
        self.shaped += usize::from(is_shaped);
        self.alike += usize::from(looks_like_code);
        self.names += usize::from(is_name(inner));
        self.ends_in_code =
            looks_like_code || line.starts_with(b" ") || line.starts_with(b"\t") || b"})]".contains(first);
        let starts = |report: &&[u8]| inner.len() >= report.len() && inner[..report.len()].eq_ignore_ascii_case(report);
        self.is_report |= REPORTS.iter().any(starts);
    }

    /// One name may be the error itself; several, one to a line, are a list of what may happen.
    pub(super) fn is_list(&self) -> bool {
        self.names >= 3 && self.names + 1 >= self.lines
    }

    /// An error stands at the end of the code that it quotes, or above a trace.
    pub(super) fn is_all(&self) -> bool {
        self.shaped >= 1 && self.alike >= 2 && self.alike * 2 >= self.lines && self.ends_in_code && !self.is_report
    }
}

/// Whether a line is one long name: `NSURLErrorTimedOut`, `* rate_limit_exceeded,`.
fn is_name(line: &[u8]) -> bool {
    let line = line.trim_ascii_start().strip_prefix(b"*").unwrap_or(line).trim_ascii();
    let line = line.strip_suffix(b",").unwrap_or(line);
    line.len() >= 8 && line.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}
