//! The council as people use it: the real binary in a real terminal (tmux) and through pipes, with fake providers behind it.

mod checklist;
mod levels;
mod plain;
mod sessions;
mod stage;
mod terminal;
mod tools;
mod typing;

use stage::Stage;
use terminal::Terminal;

/// Level 1 is over in less than a second.
const QUICK: &str = r#"default = [{ retry = 3, base = "50ms", cap = "200ms", jitter = 0 }, "defer", "ask", "degrade"]"#;
