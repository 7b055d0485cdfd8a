//! Local processes: exits, signals, memory, containers, terminals.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::{Cancelled, ProcessDied, StateLost, Timeout};

pub(super) const RULES: &[Rule] = &[
    rule("process.oom", ProcessDied)
        .decisive()
        .code(&["OOMKilled"])
        .text(&[
            r"\boom[-_ ]?kill",
            r"\bout of memory: killed process",
            r"\boutofmemory\b",
            r"killed process \d",
            "memory cgroup out of memory",
            r"(?:process|worker|container|runner)\b~\bout of memory",
            r"\bran out of memory\b",
        ])
        .example("oom-kill:constraint=CONSTRAINT_MEMCG,task=claude"),
    rule("process.signal", ProcessDied)
        .code(&[
            "SIGKILL",
            "SIGSEGV",
            "SIGABRT",
            "SIGTERM",
            "SIGBUS",
            "SIGHUP",
            "SIGILL",
            "SIGFPE",
            "SIGPIPE",
            "SIGTRAP",
        ])
        .text(&[
            r"(?:killed|terminated|died|exited|ended|stopped|crashed)\b~\bsignal \d{1,2}\b",
            r"\bsignal: ?\d{1,2}\b",
            "pane is dead",
            "died with <?signals",
            r"(?:received|got|caught) (?:a )?signal \d",
        ])
        .not(&["asyncio.CancelledError"])
        .example("Process exited with signal SIGKILL"),
    rule("process.core", ProcessDied)
        .decisive()
        .text(&[
            "std::bad_alloc",
            "terminate called after throwing",
            "trace/bpt trap",
            r"\bkilled: 9\b",
            "exc_bad_access",
            r"\babort\(\) called\b",
            r"\bcore dumped\b",
            r"\bsegmentation fault\b",
            r"\bbus error\b",
            r"\billegal instruction\b",
            r"\bfloating point exception\b",
            r"\bstack smashing\b",
            r"\baccess violation\b",
            r"\bstack overflow\b~(?:abort|crash|core|exception)",
            "double free or corruption",
        ])
        .example("Aborted (core dumped)"),
    rule("process.killed", ProcessDied)
        .text(&[
            r"line \d{1,6}: \d{1,8} (?:killed|terminated|aborted|hangup)\b",
            "zsh: (?:killed|terminated|abort)",
            r"^(?:killed|terminated|aborted|hangup)\b",
            r"\b(?:process|worker|container|child|task runner|subprocess|session|agent|job)\b(?: \S{1,40}){0,2} (?:was |has been |got |is )?(?:killed|terminated unexpectedly|crashed|dead|died|gone)\b",
        ])
        .example("bash: line 1:  4054 Killed                  sh -c x"),
    rule("process.command_missing", ProcessDied)
        .decisive()
        .text(&[
            "failed to run command",
            "cannot run program",
            "error=2, no such file",
            r"\bconnect enoent\b",
            "cannot find module",
            r"\bcommand not found\b",
            "is not recognized as (?:an internal|the name of)",
            r"no such file or directory\b~\bexec",
            "exec format error",
            r"exec:? \S{1,60}: (?:not found|no such file)",
            "cannot execute(?: binary file)?",
            "failed to (?:spawn|exec|launch|start) (?:process|command|child|subprocess|worker|server|the process)",
            "unable to start process",
        ])
        .example("bash: line 1: claudee: command not found"),
    rule("process.exit_timeout", Timeout)
        .class()
        .text(&[r"\btimeout: sending signal\b", r"\bexit(?:ed)?(?: with)?(?: code| status)?[ =:]{1,2}124\b"])
        .example("exit=124"),
    rule("process.exit_interrupt", Cancelled)
        .class()
        .text(&[r"\bexit(?:ed)?(?: with)?(?: code| status)?[ =:]{1,2}130\b"])
        .example("exit=130"),
    rule("process.exit_signal", ProcessDied)
        .class()
        .text(&[
            r"\bexit(?:ed)?(?: with)?(?: code| status|code)?(?:\x22)?[ =:(]{1,3}(?:13[1-9]|14[0-9]|15[0-9]|126|127)\b",
            r"\bexitcode\x22?: ?[1-9]",
        ])
        .example("exited with code 137"),
    rule("process.exit", ProcessDied)
        .hint()
        .text(&[
            r"\bcommand failed: \S",
            r"\b(?:backend|daemon|gateway|service|sidecar|language server|helper|app-server|extension host) (?:has |was )?(?:stopped|exited|crashed|terminated|died)\b",
            "process finished with exit code [1-9]",
            r"\belifecycle\b",
            r"\b(?:process|daemon|worker|supervisor|runner) (?:is|was) (?:not|no longer) (?:running|alive)\b",
            r"\bunexpectedly quit\b",
            r"\bexit(?:ed)?(?: with)?(?: a)?(?: non-zero)?(?: exit)?(?: code| status|code)[ =:]{1,2}-?[1-9]\d{0,19}\b",
            r"\bnon-?zero exit\b",
            r"\breturned (?:exit )?code [1-9]",
            r"\bexit=[1-9]\d{0,2}\b",
            r"\b(?:process|worker|server|child|runner|container|subprocess) (?:\S{1,40} )?(?:has )?(?:unexpectedly )?(?:exited|terminated|ended|quit)(?: unexpectedly| prematurely| early)?\b",
            r"\bexited (?:unexpectedly|prematurely|early|abnormally)\b",
            r"\bunexpected(?:ly)? exit",
        ])
        .example("worker exited with code 1"),
    rule("process.kubernetes", ProcessDied)
        .decisive()
        .code(&[
            "CrashLoopBackOff",
            "ContainerCannotRun",
            "ImagePullBackOff",
            "ErrImagePull",
            "CreateContainerError",
            "RunContainerError",
            "DeadlineExceededPod",
            "Evicted",
            "NodeLost",
            "ContainerDied",
        ])
        .text(&["back-off restarting failed container", "the node was low on resource"])
        .example(r#"{"state":{"waiting":{"reason":"CrashLoopBackOff"}}}"#),
    rule("process.tmux", ProcessDied)
        .decisive()
        .text(&[
            "no server running on ",
            r"lost server\b",
            "server exited unexpectedly",
            r"error connecting to /\S{1,60}tmux",
        ])
        .example("no server running on /tmp/tmux-1000/default"),
    rule("process.tmux_target", StateLost)
        .decisive()
        .text(&["can't find (?:session|window|pane|client)", "no such (?:session|window|pane)"])
        .example("can't find session: agents"),
    rule("process.stdio", ProcessDied)
        .text(&[
            "(?:stdin|stdout|stdio|pipe) (?:is |was |has been )?(?:closed|broken|ended)",
            "eof on stdin",
            "child process (?:has )?(?:exited|closed|died|crashed)",
            "not ready for writing",
        ])
        .example("Error: write after end: stdin is closed"),
    rule("process.docker", ProcessDied)
        .decisive()
        .text(&[
            r"container \S{1,70} is not running",
            "cannot connect to the docker daemon",
            "oci runtime (?:create|exec) failed",
        ])
        .example("Error response from daemon: container abc is not running"),
    rule("process.panic", ProcessDied)
        .class()
        .text(&["unhandled (?:exception|rejection)", "uncaught exception", "fatal python error", "fatal error: "])
        .example("fatal: unhandled exception, terminating"),
];
