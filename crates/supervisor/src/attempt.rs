//! One attempt: an agent is started with a model, watched to its end, and judged.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::ops::ControlFlow;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use steadfast_api::Standing;
use steadfast_config::{AgentOutput, KEY_VARIABLE};
use steadfast_core::context::{FailedAttempt, PartLimits, retry_note, retry_prompt};
use steadfast_core::time::Words;
use steadfast_core::{Evidence, Exit, Failure, FailureKind, Surface, Transport};
use tokio::sync::{oneshot, watch};

use crate::adapter::{Complaint, End, Reader, Told};
use crate::fleet::{Crew, Fleet};
use crate::gateway::{Pointed, failed_between, prefix};
use crate::process::output::{Stream, Tail, Taker};
use crate::process::{self, CannotRun, Copy, Ended, EndedBy, GRACE, InPane, Launch, Limits, Stop};
use crate::task::{Conversation, LastFailure, Memory, Task, seconds};
use crate::template::{Values, fill, fill_text};

/// A task that is longer is not put into a variable: all of them together may not be long either.
const VARIABLE_BYTES_MAX: usize = 64 * 1024;

/// What is kept of the end of the output for the next attempt and for people.
const OUTPUT_BYTES_MAX: usize = 4 * 1024;

/// What the agent is told, in a file.
const TASK_FILE: &str = "task.txt";

/// The files of an attempt that is just beginning are nobody's yet.
const LEFT_AFTER: Duration = Duration::from_secs(60);

/// What came of an attempt.
#[derive(Debug)]
pub(crate) struct Attempted {
    pub(crate) verdict: Verdict,
    pub(crate) told: Told,
    /// The end of what it wrote.
    pub(crate) output: String,
    /// The conversation that goes on, where there is one.
    pub(crate) conversation: Option<Conversation>,
    /// The gateway in this process has charged its calls already.
    pub(crate) charged: bool,
}

/// Whether the work was done.
#[derive(Debug)]
pub(crate) enum Verdict {
    Done,
    Failed(Failure),
    /// Somebody stopped it.
    Stopped,
}

/// What one attempt is made of.
pub(crate) struct Attempting<'a> {
    pub(crate) fleet: &'a Fleet,
    pub(crate) task: &'a Task,
    pub(crate) crew: &'a Crew,
    pub(crate) memory: &'a Memory,
    /// Tell it what failed before.
    pub(crate) with_context: bool,
    /// Which one over all runs.
    pub(crate) number: u32,
    pub(crate) deadline: tokio::time::Instant,
    pub(crate) session: &'a str,
}

/// Output as it comes: the end of it, and what the agent tells by it.
struct Watched {
    reader: Reader,
    tail: Tail,
    errors: Tail,
    /// Who wants to know the conversation as soon as it is told.
    tell: Option<oneshot::Sender<String>>,
}

/// The files of one attempt, gone with it.
struct Files(Option<PathBuf>, Option<File>);

impl Attempting<'_> {
    /// Makes it.
    pub(crate) async fn make(
        &self,
        copy: Option<&Copy>,
        stop: &mut watch::Receiver<Stop>,
        tell: oneshot::Sender<String>,
    ) -> Attempted {
        // Its key, where it has one, ends with the attempt.
        let pointed = self.fleet.point(self.task.project.as_deref(), &self.crew.agent);
        let before = self.standing(pointed.as_ref()).await;
        let (launch, conversation, _files) = match self.launch(pointed.as_ref()) {
            Ok(ready) => ready,
            Err(error) => return self.not_run(&error),
        };
        let agent = &self.crew.agent;
        let timeout = self.task.timeout.map_or(agent.timeout, seconds);
        let limits = Limits {
            deadline: self.deadline.min(tokio::time::Instant::now() + timeout),
            silence: self.task.silence.map_or(agent.silence, seconds),
            grace: GRACE,
        };
        let mut watched = Watched {
            reader: Reader::new(agent.output),
            tail: Tail::default(),
            errors: Tail::default(),
            tell: Some(tell),
        };
        let ended = match process::run(&launch, limits, &mut watched, copy, stop).await {
            Ok(ended) => ended,
            Err(error) => return self.not_run(&error),
        };
        let Watched { reader, tail, errors, .. } = watched;
        let mut told = reader.finish();
        let judge = Judge {
            fleet: self.fleet,
            crew: self.crew,
            strict: self.task.command.is_empty() && agent.output != AgentOutput::Text,
            told: &told,
            tail: &tail,
            errors: &errors,
            limits: (timeout, limits.silence),
        };
        let mut verdict = judge.judge(ended);
        let after = self.standing(pointed.as_ref()).await;
        if let Some(after) = after {
            let cost = after.usd_micros.saturating_sub(before.as_ref().map_or(0, |before| before.usd_micros));
            told.usd_micros = told.usd_micros.max(Some(cost).filter(|cost| *cost > 0));
            // Somebody else's signal ended it, whatever its calls came to.
            let by_signal = ended.by == EndedBy::Itself && !matches!(ended.exit, Exit::Code(_));
            if let Verdict::Failed(failure) = &mut verdict
                && !by_signal
                && let Some(truth) = failed_between(before.as_ref(), after)
            {
                *failure = truth;
            }
        }
        let begun = told.session.clone().or_else(|| told.structured.then_some(conversation));
        let conversation = begun.filter(|_| !agent.resume.is_empty());
        let agent = self.crew.agent_name.clone();
        Attempted {
            verdict,
            conversation: conversation.map(|id| Conversation { agent, id, begun: true }),
            output: last_words(&tail),
            charged: pointed.is_some() && self.crew.uses_gateway() && self.fleet.engine().is_some(),
            told,
        }
    }

    /// How the session stands at the gateway, where the agent is pointed there.
    async fn standing(&self, pointed: Option<&Pointed<'_>>) -> Option<Standing> {
        pointed.filter(|_| self.crew.uses_gateway())?;
        self.fleet.standing(self.task.project.as_deref(), self.session).await
    }

    /// A program that cannot be started is wrong, and not unlucky.
    fn not_run(&self, error: &CannotRun) -> Attempted {
        use std::io::ErrorKind::{ArgumentListTooLong, InvalidInput, NotFound, PermissionDenied};
        let kind = match error.source.kind() {
            NotFound | PermissionDenied | ArgumentListTooLong | InvalidInput => FailureKind::InvalidRequest,
            _ => FailureKind::ProcessDied,
        };
        let hint = match error.source.kind() {
            ArgumentListTooLong | InvalidInput => "; `{task_file}` in the command hands the task over as a file",
            _ => "",
        };
        let message = format!("{error}: {}{hint}", error.source);
        let failure = Failure { message, ..Failure::new(kind, "process.cannot_run") };
        Attempted {
            verdict: Verdict::Failed(failure),
            told: Told::default(),
            output: String::new(),
            conversation: None,
            charged: false,
        }
    }

    /// The command for this agent, model and attempt, and the conversation it begins or goes on with.
    fn launch(&self, pointed: Option<&Pointed<'_>>) -> Result<(Launch, String, Files), CannotRun> {
        let Self { fleet, task, crew, memory, .. } = self;
        let agent = &crew.agent;
        let known = memory.conversation.as_ref().filter(|known| known.agent == crew.agent_name);
        let known = known.filter(|_| !agent.resume.is_empty());
        let resumed = known.filter(|known| known.begun);
        let conversation = known.map_or_else(uuid, |known| known.id.clone());
        let prompt = self.prompt(resumed.is_some());
        let mark = format!("{}.{}.{}", fleet.id, task.id, self.number);
        let files = self.files(&mark, &prompt)?;
        let task_file = files.task_file();
        // Project and session are in the path, so that what happens to its calls and to the task are one story.
        let gateway = pointed.map(|pointed| pointed.url.to_owned() + &prefix(task.project.as_deref(), self.session));
        let key = pointed.and_then(Pointed::key);
        let attempt = self.number.to_string();
        let project = task.project.as_deref().unwrap_or(steadfast_config::DEFAULT_PROJECT);
        let pairs = vec![
            ("task", prompt.as_str()),
            ("task_file", task_file.as_str()),
            ("model", crew.model.as_str()),
            ("label", task.label.as_str()),
            ("session", conversation.as_str()),
            ("project", project),
            ("attempt", attempt.as_str()),
            ("gateway", gateway.as_deref().unwrap_or_default()),
        ];
        let mut values = Values { pairs, arguments: &[] };
        let pointed = gateway.iter().flat_map(|_| &agent.gateway.arguments).map(|part| fill_text(part, &values));
        // They were written for one agent; another of the chain would not know them.
        let own = task.arguments.iter().filter(|_| task.agent.is_empty() || crew.agent_name == task.agent);
        let arguments: Vec<String> = pointed.chain(own.cloned()).collect();
        values.arguments = &arguments;
        let template = if resumed.is_some() { &agent.resume } else { &agent.command };
        let mut parts = fill(template, &values).into_iter();
        let program = parts.next().unwrap_or_default();
        let mut environment = self.environment(&values, &files);
        if gateway.is_some() {
            // For variables alone: everybody on this machine can read a command line.
            values.pairs.push(("key", key.unwrap_or_default()));
            let set = agent.gateway.variables(key.is_some());
            environment.extend(set.map(|(name, value)| (name.clone(), fill_text(value, &values))));
            environment.extend(key.map(|key| (KEY_VARIABLE.to_owned(), key.to_owned())));
            let unset = agent.gateway.defaults.iter().filter(|(name, _)| std::env::var_os(name).is_none());
            environment.extend(unset.cloned());
        }
        environment.extend(agent.environment.iter().map(|(name, value)| (name.clone(), value.expose().to_owned())));
        let launch = Launch {
            program: OsString::from(program),
            arguments: parts.map(OsString::from).collect(),
            environment,
            folder: task.folder.clone(),
            pane: task.tmux.then(|| InPane { name: pane_name(&task.id), folder: files.folder(&fleet.folder, &mark) }),
            mark,
            thorough: agent.output != AgentOutput::Text,
        };
        Ok((launch, conversation, files))
    }

    /// What the agent is told: its task, what went wrong with it before, or both.
    fn prompt(&self, resumed: bool) -> String {
        let task = self.task.task.as_str();
        let Some(LastFailure { kind, message, output }) = &self.memory.failure else { return task.to_owned() };
        let failed = FailedAttempt { request: task, kind: Some(*kind), message, trace: "", output };
        let limits = PartLimits::default();
        match (resumed, self.with_context) {
            // The conversation holds the task and what was done.
            (true, true) => retry_note(&failed, limits),
            (true, false) => {
                format!("The previous run was interrupted ({message}). Continue the task where you left off.")
            }
            (false, true) if !task.is_empty() => retry_prompt(&failed, limits),
            (false, _) => task.to_owned(),
        }
    }

    /// What any command can know of itself.
    fn environment(&self, values: &Values<'_>, files: &Files) -> Vec<(String, String)> {
        let Self { task, crew, memory, .. } = self;
        let own = ["model", "label", "session", "project", "attempt", "gateway"];
        let known = values.pairs.iter().filter(|(name, value)| own.contains(name) && !value.is_empty());
        let mut environment: Vec<(String, String)> =
            known.map(|(name, value)| (format!("STEADFAST_{}", name.to_uppercase()), (*value).to_owned())).collect();
        let mut set = |name: &str, value: &str| environment.push((name.to_owned(), value.to_owned()));
        set("STEADFAST_TASK_ID", &task.id);
        let prompt = values.pairs.iter().find(|(name, _)| *name == "task").map_or("", |(_, prompt)| *prompt);
        if !prompt.is_empty() && prompt.len() <= VARIABLE_BYTES_MAX && !prompt.contains('\0') {
            set("STEADFAST_TASK", prompt);
        }
        if let Some(folder) = &files.0 {
            set("STEADFAST_TASK_FILE", &files.task_file());
            if crew.agent.output != AgentOutput::Text {
                // opencode leaves 5 MB there with every run, Gemini CLI its reports of errors (agents.md 5).
                set("TMPDIR", &folder.join("tmp").display().to_string());
            }
        }
        if let Some(failure) = &memory.failure {
            set("STEADFAST_FAILURE", failure.kind.as_str());
            set("STEADFAST_FAILURE_MESSAGE", &failure.message.replace('\0', " "));
        }
        if crew.agent.output != AgentOutput::Text {
            set("NO_COLOR", "1");
        }
        environment
    }

    fn files(&self, mark: &str, prompt: &str) -> Result<Files, CannotRun> {
        if prompt.is_empty() && !self.task.tmux {
            return Ok(Files(None, None));
        }
        let folder = self.fleet.folder.join(mark);
        let write = || {
            process::create_private(&folder)?;
            process::create_private(&folder.join("tmp"))?;
            let mut options = OpenOptions::new();
            let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(folder.join(TASK_FILE))?;
            // Held while the attempt runs; a supervisor that is killed lets go of it.
            file.lock()?;
            file.write_all(prompt.as_bytes()).map(|()| file)
        };
        let mut files = Files(Some(folder.clone()), None);
        let program = self.crew.agent_name.clone();
        files.1 = Some(write().map_err(|source| CannotRun { program, source })?);
        Ok(files)
    }
}

impl Files {
    fn folder(&self, usual: &Path, mark: &str) -> PathBuf {
        self.0.clone().unwrap_or_else(|| usual.join(mark))
    }

    fn task_file(&self) -> String {
        self.0.as_deref().map(|folder| folder.join(TASK_FILE).display().to_string()).unwrap_or_default()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        if let Some(folder) = &self.0
            && let Err(error) = remove(folder)
        {
            tracing::debug!(%error, folder = %folder.display(), "cannot remove the files of an attempt");
        }
    }
}

/// Removes what attempts of supervisors that were killed have left.
pub(crate) fn remove_left(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let is_left = |folder: &Path| match File::open(folder.join(TASK_FILE)) {
        Ok(file) => file.try_lock().is_ok(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    let is_old = |folder: &Path| {
        let changed = fs::metadata(folder).and_then(|meta| meta.modified());
        changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age > LEFT_AFTER))
    };
    for folder in entries.flatten().map(|entry| entry.path()).filter(|path| is_old(path) && is_left(path)) {
        if let Err(error) = remove(&folder) {
            tracing::debug!(%error, folder = %folder.display(), "cannot remove what an attempt has left");
        }
    }
}

fn remove(folder: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

impl Taker for Watched {
    fn take(&mut self, stream: Stream, piece: &[u8]) -> ControlFlow<()> {
        self.tail.push(piece);
        match stream {
            Stream::Out => {
                self.reader.push(piece);
                if let (Some(session), true) = (&self.reader.told().session, self.tell.is_some()) {
                    // Nobody who listens any more is no reason to fail.
                    let _ = self.tell.take().map(|tell| tell.send(session.clone()));
                }
            }
            Stream::Err => self.errors.push(piece),
        }
        if self.reader.told().loops { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Everything an attempt is judged by.
struct Judge<'a> {
    fleet: &'a Fleet,
    crew: &'a Crew,
    /// It was asked for events, so it must say that it is done.
    strict: bool,
    told: &'a Told,
    tail: &'a Tail,
    errors: &'a Tail,
    /// What one attempt may take, and how long it may be silent.
    limits: (Duration, Duration),
}

impl Judge<'_> {
    fn judge(&self, ended: Ended) -> Verdict {
        match self.judge_end(ended) {
            Verdict::Failed(failure) => Verdict::Failed(Failure { tool: self.tool(&failure), ..failure }),
            verdict @ (Verdict::Done | Verdict::Stopped) => verdict,
        }
    }

    /// The tool that failed or never answered, unless the agent named another failure itself.
    fn tool(&self, failure: &Failure) -> Option<String> {
        let named = matches!(self.told.end, Some(End::Failed(_))) && failure.kind != FailureKind::Unknown;
        self.told.tools.last().filter(|_| !named).map(str::to_owned)
    }

    fn judge_end(&self, ended: Ended) -> Verdict {
        let clean = ended.exit == Exit::Code(0);
        match (ended.by, &self.told.end) {
            (EndedBy::Stopped, _) => Verdict::Stopped,
            (EndedBy::Silence, _) => self.late(format!("it wrote nothing for {}", Words(self.limits.1))),
            (EndedBy::Deadline, _) => self.late(format!("it was not done after {}", Words(self.limits.0))),
            (EndedBy::Itself, Some(End::Done)) if clean => Verdict::Done,
            (EndedBy::Itself | EndedBy::Circles, Some(End::Failed(complaint))) => {
                self.complained(complaint, ended.exit)
            }
            (EndedBy::Circles, _) => self.unfinished(ended.exit, "it went round in circles"),
            (EndedBy::Itself, Some(End::Done)) => self.unfinished(ended.exit, "it said that it was done, and failed"),
            (EndedBy::Itself, None) if self.told.structured => {
                self.unfinished(ended.exit, "it ended without saying that it was done")
            }
            (EndedBy::Itself, None) if clean && self.strict && self.tail.is_blank() => {
                let message = "it ended without a word".to_owned();
                Verdict::Failed(Failure { message, ..Failure::new(FailureKind::BadOutput, "agent.silent") })
            }
            (EndedBy::Itself, None) if clean && self.strict => {
                self.unfinished(ended.exit, "it ended without saying that it was done")
            }
            (EndedBy::Itself, None) if clean => Verdict::Done,
            (EndedBy::Itself, None) => self.by_output(ended.exit),
        }
    }

    /// The agent named the failure itself.
    fn complained(&self, complaint: &Complaint, exit: Exit) -> Verdict {
        let mut failure = self.classify(complaint.message.as_bytes(), complaint.status, Some(exit), None);
        if failure.kind == FailureKind::Unknown && !self.errors.is_blank() {
            let more = self.classify(&self.errors.to_vec(), complaint.status, Some(exit), None);
            failure = Failure { message: failure.message, ..more };
        }
        if failure.message.is_empty() {
            failure.message.clone_from(&complaint.message);
        }
        Verdict::Failed(failure)
    }

    /// It ended, and said neither that it was done nor why not.
    fn unfinished(&self, exit: Exit, message: &str) -> Verdict {
        let complaint = self.told.complaint.clone().unwrap_or_default();
        let mut body = complaint.message.into_bytes();
        body.push(b'\n');
        body.extend(self.errors.to_vec());
        let failure = self.classify(&body, complaint.status, Some(exit), None);
        let kind = if failure.kind == FailureKind::Unknown { FailureKind::ProcessDied } else { failure.kind };
        let message = match failure.message.as_str() {
            "" => format!("{message} ({})", exit_words(exit)),
            said => format!("{message} ({}): {said}", exit_words(exit)),
        };
        Verdict::Failed(Failure { kind, message, ..failure })
    }

    fn by_output(&self, exit: Exit) -> Verdict {
        let mut failure = self.classify(&self.tail.to_vec(), None, Some(exit), None);
        if failure.message.is_empty() {
            failure.message = exit_words(exit);
        }
        Verdict::Failed(failure)
    }

    /// We ended it. What it last complained about tells more than that, where it did.
    fn late(&self, message: String) -> Verdict {
        let complaint = self.told.complaint.as_ref();
        let body = complaint.map_or_else(|| self.errors.to_vec(), |complaint| complaint.message.clone().into_bytes());
        let status = complaint.and_then(|complaint| complaint.status);
        let failure = self.classify(&body, status, None, Some(Transport::ResponseTimeout));
        let message = match failure.message.as_str() {
            "" => message,
            said => format!("{message}; its last words: {said}"),
        };
        Verdict::Failed(Failure { message, ..failure })
    }

    fn classify(&self, body: &[u8], status: Option<u16>, exit: Option<Exit>, transport: Option<Transport>) -> Failure {
        let evidence = Evidence {
            provider: Some(&self.crew.agent_name),
            surface: Surface::Process,
            status,
            headers: &[],
            body,
            transport,
            exit,
            now: Some(self.fleet.clock.wall()),
        };
        self.fleet.classify(&evidence)
    }
}

/// An end in words.
pub(crate) fn exit_words(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exit code {code}"),
        Exit::Signal(signal) => format!("signal {signal}"),
        Exit::OutOfMemory => "killed for want of memory".to_owned(),
    }
}

fn last_words(tail: &Tail) -> String {
    let bytes = tail.to_vec();
    let text = String::from_utf8_lossy(&bytes);
    let from = text.ceil_char_boundary(text.len().saturating_sub(OUTPUT_BYTES_MAX));
    text[from..].to_owned()
}

/// What a task's tmux session is called. Points and colons mean something else there.
pub fn pane_name(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' }).collect()
}

/// A random id in the form that agents ask for.
pub(crate) fn uuid() -> String {
    let bits = fastrand::u128(..);
    let versioned = bits & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let hex = format!("{versioned:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
