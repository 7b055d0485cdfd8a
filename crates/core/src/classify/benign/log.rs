//! Lines of logs that only inform.

use memchr::memmem;

/// Marks of a log level that reports no failure; they stand near the beginning of a line.
const INFORMING: &[&str] = &["level=info", "level=debug", "\"level\":\"info\"", " info ", "[info", "info:", "[debug]"];
/// Words that make an informational line worth reading all the same.
const TELLING: &[&str] = &[
    "error",
    "fail",
    "fatal",
    "panic",
    "exception",
    "killed",
    "refused",
    "denied",
    "exceed",
    "exited",
    "sigkill",
    "terminated with",
    "crashed",
    " died",
    "timed out",
    "abort",
    "cancel",
    "unable",
    "cannot",
    "could not",
    "too many",
    "unauthorized",
    "overloaded",
    "limit",
    "too long",
    "too large",
    "invalid",
    "\" 4",
    "\" 5",
    " 40",
    " 42",
    " 50",
    " 52",
    "not found",
    "closed",
    "lost",
    "expired",
    "reason",
    "filter",
    "blocked",
    "signal ",
    "interrupt",
];

/// Whether a line of a log only informs.
pub(super) fn is_informational(line: &[u8]) -> bool {
    let lower = line.to_ascii_lowercase();
    let start = &lower[..lower.len().min(80)];
    let holds = |text: &[u8], words: &[&str]| words.iter().any(|word| memmem::find(text, word.as_bytes()).is_some());
    let informs = lower.starts_with(b"info ") || holds(start, INFORMING);
    informs && !holds(&lower, TELLING)
}
