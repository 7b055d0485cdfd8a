//! A council in session: performs what the coordinator wants, and tells it what happens.
//!
//! A front end asks [`Room::happening`] for what is next, hands in what the person does with [`Room::tell`], and shows the
//! entries both return. Everything is saved before it is shown.

use std::collections::{HashSet, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use steadfast_config::Config;
use steadfast_core::breaker;
use steadfast_core::policy::Policy;
use steadfast_core::route::RouteError;
use steadfast_core::time::{Instant, Timestamp};
use steadfast_core::world::{self, Project, World};
use steadfast_engine::Engine;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::coordinator::{Action, Call, Coordinator, Event, Metric, Setup, Status};
use crate::entry::Entry;
use crate::health;
use crate::member::Member;
use crate::session::{Head, HeadMember, SessionError, SessionFile};
use crate::speaker::{Speaker, Toolbox};
use crate::tools::{Progress, ToolServer, Tools};
use crate::transcript::Transcript;

/// Reports on their way: a slow terminal slows the provider, not the heap.
const REPORTS_MAX: usize = 64;

/// What a member is told at most where its model's window is not known, in bytes.
const TOLD_BYTES_MAX: usize = 400_000;

/// Bytes of text a token, carefully.
const BYTES_PER_TOKEN: usize = 3;

/// What a session begins with.
#[derive(Debug)]
pub struct Opening {
    /// The driver of calls; its configuration has a council.
    pub engine: Arc<Engine>,
    /// Where sessions are kept.
    pub folder: PathBuf,
    /// Take up a session instead of beginning one.
    pub resume: Option<Resume>,
    /// Where metrics are written, where they are.
    pub metrics: Option<PathBuf>,
    /// The servers of tools.
    pub tools: Vec<ToolServer>,
    /// How long a tool may take.
    pub tool_limit: Duration,
}

/// Which session to take up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resume {
    /// The one used last.
    Latest,
    /// This one.
    Id(String),
}

/// Why a session cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum OpeningError {
    /// Nobody would speak.
    #[error(
        "there is no council: name its members in the configuration, as in\n\n{EXAMPLE}\nor look at one with `steadfast council --fake`"
    )]
    Nobody,
    /// A member's chain is not possible.
    #[error("the council member `{member}` cannot fall back like this")]
    Chain {
        /// The member.
        member: String,
        /// Why.
        source: RouteError,
    },
    /// The session cannot be saved or taken up.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The metrics cannot be written.
    #[error("cannot write the metrics to {path}")]
    Metrics {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// How a council is configured.
const EXAMPLE: &str = "[council]\nmembers = [\"claude\", \"gemini\"]\n[council.member.claude]\nmodel = \"claude-sonnet-4-5\"\n[council.member.gemini]\nmodel = \"gemini-2.5-pro\"\n";

/// A council in session.
#[derive(Debug)]
pub struct Room {
    engine: Arc<Engine>,
    policy: Arc<Policy>,
    coordinator: Coordinator,
    transcript: Transcript,
    session: SessionFile,
    id: Arc<str>,
    metrics: Option<File>,
    tools: Toolbox,
    connecting: Option<JoinHandle<Vec<String>>>,
    checking: Option<JoinHandle<Vec<String>>>,
    reports: Receiver<Event>,
    reporter: Sender<Event>,
    call: Option<JoinHandle<()>>,
    save_failed: bool,
    /// The model that served each member last, in this session or, where it was resumed, before.
    last_good: Vec<(String, String)>,
    /// What happened when it opened, and is still to be shown.
    unshown: Vec<Entry>,
}

impl Room {
    /// Opens a session. Needs a tokio runtime.
    pub fn open(opening: Opening) -> Result<Self, OpeningError> {
        let Opening { engine, folder, resume, metrics, tools, tool_limit } = opening;
        let snapshot = engine.snapshot();
        let council = snapshot.config.council.as_ref().ok_or(OpeningError::Nobody)?;
        let members = members(&snapshot.config)?;
        let now = engine.clock().wall();
        let resume = match resume {
            Some(Resume::Latest) => Some(SessionFile::latest(&folder)?),
            Some(Resume::Id(id)) => Some(id),
            None => None,
        };
        let (session, transcript, id, last_good, waiting) = match resume {
            Some(id) => {
                let (session, recorded) = SessionFile::resume(&folder, &id, now)?;
                let mut transcript = Transcript::default();
                recorded.entries.iter().for_each(|(time, entry)| transcript.add(entry, *time));
                transcript.close();
                if let Some(text) = missing(&recorded.head, &members) {
                    transcript.add(&Entry::Note { text }, now);
                }
                (session, transcript, id, recorded.last_good, recorded.waiting)
            }
            None => {
                let id = format!("{:x}", now.as_millis());
                let head = head(&id, now, &members);
                (SessionFile::create(&folder, head)?, Transcript::default(), id, Vec::new(), VecDeque::new())
            }
        };
        let metrics = metrics.map(|path| open_metrics(&path)).transpose()?;
        let (reporter, reports) = mpsc::channel(REPORTS_MAX);
        let policy = Arc::clone(&council.policy);
        let id: Arc<str> = id.into();
        let setup = setup(&snapshot.config, members, &policy, &id, transcript.bytes());
        let coordinator = Coordinator::new(Setup { waiting, ..setup });
        let checking = Some(tokio::spawn(health::check(Arc::clone(&engine), coordinator.first_endpoints(), folder)));
        let (tools, connecting) = connect(tools, tool_limit);
        let mut room = Self {
            engine,
            policy,
            coordinator,
            transcript,
            session,
            id,
            metrics,
            tools,
            connecting,
            checking,
            reports,
            reporter,
            call: None,
            save_failed: false,
            last_good,
            unshown: Vec::new(),
        };
        // What was said and not heard is heard now.
        room.unshown = room.tell(Event::Tick);
        Ok(room)
    }

    /// Tells the coordinator something and performs what it wants; what is to be shown comes back.
    pub fn tell(&mut self, event: Event) -> Vec<Entry> {
        let now = self.now();
        if matches!(event, Event::Stop) {
            self.end_call();
        }
        let actions = self.coordinator.handle(event, now);
        let mut shown = std::mem::take(&mut self.unshown);
        for action in actions {
            match action {
                Action::Call(call) => self.call(call),
                Action::Log(entry) => self.keep(entry, &mut shown),
                Action::Waits(text) => self.session.waits(text, self.engine.clock().wall()),
                Action::Record(mut record) => {
                    record.time = self.engine.clock().wall();
                    self.engine.record(*record);
                }
                Action::Measure(metric) => self.measure(&metric),
            }
        }
        if let Some(trouble) = self.session.trouble()
            && !std::mem::replace(&mut self.save_failed, true)
        {
            let path = self.session.path().display();
            let text = format!("⚠ This session is not being saved: {path}: {trouble}. /export saves it elsewhere.");
            let entry = Entry::Note { text };
            self.transcript.add(&entry, self.engine.clock().wall());
            shown.push(entry);
        }
        shown
    }

    /// Says something to the person that is no part of any member's turn.
    pub fn note(&mut self, text: String) -> Vec<Entry> {
        let mut shown = Vec::new();
        self.keep(Entry::Note { text }, &mut shown);
        shown
    }

    /// Waits for the next thing to happen. Safe to drop while it waits.
    pub async fn happening(&mut self) -> Vec<Entry> {
        if !self.unshown.is_empty() {
            return std::mem::take(&mut self.unshown);
        }
        let wake = self.coordinator.wake();
        let clock = *self.engine.clock();
        let sleep = async {
            match wake {
                Some(wake) => clock.sleep_until(wake).await,
                None => std::future::pending().await,
            }
        };
        let connecting = async {
            match &mut self.connecting {
                Some(connecting) => connecting.await,
                None => std::future::pending().await,
            }
        };
        let checking = async {
            match &mut self.checking {
                Some(checking) => checking.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            report = self.reports.recv() => match report {
                Some(event) => self.tell(event),
                None => Vec::new(),
            },
            () = sleep => self.tell(Event::Tick),
            checked = checking => {
                self.checking = None;
                checked.unwrap_or_default().into_iter().flat_map(|problem| self.note(problem)).collect()
            }
            connected = connecting => {
                self.connecting = None;
                let problems = connected.unwrap_or_default().into_iter();
                problems.flat_map(|problem| self.note(format!("⚠ {problem}"))).collect()
            }
        }
    }

    /// What the status bar tells.
    pub fn status(&self) -> Status {
        self.coordinator.status()
    }

    /// The present moment of its clock.
    pub fn now(&self) -> Instant {
        self.engine.clock().now()
    }

    /// Who takes part in what, and when.
    pub const fn coordinator(&self) -> &Coordinator {
        &self.coordinator
    }

    /// The conversation as it stands.
    pub const fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// The session's name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Saves the conversation, as JSON where the name says so and as Markdown otherwise.
    pub fn export(&self, path: &Path) -> io::Result<()> {
        let json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        let text = match json {
            true => self.transcript.to_json(&self.id),
            false => self.transcript.to_markdown(&format!("Council {}", self.id)),
        };
        std::fs::write(path, text)
    }

    /// Who is here, in words.
    pub fn members_words(&self) -> String {
        let coordinator = &self.coordinator;
        let lines = coordinator.members().enumerate().map(|(seat, (member, presence))| {
            let model = coordinator.model(seat).map(|model| &**model).unwrap_or_default();
            let state = match presence {
                crate::Presence::Here => "here".to_owned(),
                crate::Presence::Returning => "coming back".to_owned(),
                crate::Presence::Offline { reason } => format!("offline: {reason}"),
            };
            let last = self.last_good.iter().find(|(name, _)| *name == member.name).map(|(_, model)| model);
            let last = last.filter(|last| *last != model).map(|last| format!(", last served by {last}"));
            format!("{}  {model}  {state}{}", member.name, last.unwrap_or_default())
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Which models each member may speak with, in words.
    pub fn models_words(&self) -> String {
        let lines = self.coordinator.members().enumerate().map(|(seat, (member, _))| {
            let current = self.coordinator.model(seat);
            let models = member.models().map(|model| match Some(model) == current {
                true => format!("{model} (now)"),
                false => model.to_string(),
            });
            format!("{}: {}", member.name, models.collect::<Vec<_>>().join(", "))
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    fn keep(&mut self, entry: Entry, shown: &mut Vec<Entry>) {
        let time = self.engine.clock().wall();
        self.transcript.add(&entry, time);
        self.session.add(&entry, time);
        if entry == Entry::End {
            self.remember_good(time);
        }
        shown.push(entry);
    }

    /// Keeps which model served whom last.
    fn remember_good(&mut self, time: Timestamp) {
        let Some(crate::What::Member(speech)) = self.transcript.said().last().map(|said| &said.what) else { return };
        let (member, model) = (speech.member.clone(), speech.model.clone());
        let known = self.last_good.iter().any(|known| *known == (member.clone(), model.clone()));
        if !known {
            self.session.served(&member, &model, time);
            self.last_good.retain(|(name, _)| *name != member);
            self.last_good.push((member, model));
        }
    }

    fn call(&mut self, call: Call) {
        self.end_call();
        let Some((member, _)) = self.coordinator.members().nth(call.seat) else { return };
        let window = call.route.model(call.attempt.target.model.into()).and_then(|model| model.context_window);
        // A quarter of the window is left for the answer and for what tools bring.
        let bytes_max = window.map_or(TOLD_BYTES_MAX, |tokens| tokens as usize / 4 * 3 * BYTES_PER_TOKEN);
        let speaker = Speaker {
            engine: Arc::clone(&self.engine),
            policy: Arc::clone(&self.policy),
            session: Arc::clone(&self.id),
            member: member.name.clone(),
            system: system(member, self.coordinator.members().map(|(member, _)| member)),
            turns: self.transcript.told_to(&member.name, bytes_max),
            tools: Arc::default(),
            late: HashSet::new(),
            call,
        };
        self.call = Some(tokio::spawn(speaker.speak(self.tools.clone(), self.reporter.clone())));
    }

    fn end_call(&mut self) {
        if let Some(call) = self.call.take() {
            call.abort();
        }
    }

    fn measure(&mut self, metric: &Metric) {
        let Some(file) = &mut self.metrics else { return };
        let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(metric) else { return };
        let millis = self.engine.clock().wall().as_millis();
        let time = jiff::Timestamp::from_millisecond(millis).map(|time| time.to_string()).unwrap_or_default();
        let mut line = json!({ "timestamp": time, "session_id": &*self.id });
        if let Some(line) = line.as_object_mut() {
            line.extend(fields);
        }
        // Metrics are a help: a full disk costs them and nothing else.
        _ = file.write_all(format!("{line}\n").as_bytes());
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.end_call();
        if let Some(checking) = &self.checking {
            checking.abort();
        }
        if let Some(connecting) = &self.connecting {
            connecting.abort();
        }
    }
}

/// Starts the servers of tools. Whoever speaks before they are there waits for them once, as long as for a tool: what
/// comes through a pipe is asked at once.
fn connect(servers: Vec<ToolServer>, limit: Duration) -> (Toolbox, Option<JoinHandle<Vec<String>>>) {
    let toolbox = |tools| Toolbox { tools, wait_until: tokio::time::Instant::now() + limit };
    if servers.is_empty() {
        return (toolbox(watch::channel((Arc::default(), Progress::Over)).1), None);
    }
    let (usable, tools) = watch::channel((Arc::default(), Progress::Starting));
    let connecting = tokio::spawn(async move {
        let tell = |tools, so_far| _ = usable.send_replace((Arc::new(tools), so_far));
        Tools::connect(&servers, limit, tell).await
    });
    (toolbox(tools), Some(connecting))
}

fn members(config: &Config) -> Result<Vec<Member>, OpeningError> {
    let council = config.council.as_ref().ok_or(OpeningError::Nobody)?;
    let boundary = council.policy.vendor_boundary;
    let members = council.members.iter().filter_map(|member| {
        let model = config.catalogue.model(&member.model)?;
        let seated = Member::new(&member.name, &config.catalogue, model, member.fallback.as_deref(), boundary);
        Some(match seated {
            Ok(seated) => Ok(seated.with_prompt(member.prompt.clone())),
            Err(source) => Err(OpeningError::Chain { member: member.name.clone(), source }),
        })
    });
    let members: Vec<Member> = members.collect::<Result<_, _>>()?;
    if members.is_empty() { Err(OpeningError::Nobody) } else { Ok(members) }
}

/// Breakers and shares of traffic protect providers from crowds. A council is one person who is looking: it
/// makes one call at a time and few of them, and when the person says "again", it is asked again.
fn setup(config: &Config, members: Vec<Member>, policy: &Arc<Policy>, id: &Arc<str>, bytes_said: usize) -> Setup {
    let breaker = breaker::Settings { failures: u32::MAX, ratio: 1.0, floor: u32::MAX, ..breaker::Settings::default() };
    let retry_share = 10.0;
    let endpoint =
        |endpoint: &steadfast_config::Endpoint| world::Endpoint::new(&endpoint.name, breaker, retry_share, 1);
    let paying = config.project(None);
    Setup {
        id: Arc::clone(id),
        members,
        policy: Arc::clone(policy),
        world: Arc::new(World::new(config.endpoints.iter().map(endpoint).collect())),
        project: Arc::new(Project::new(&paying.name, policy.fallback_share, paying.usd_micros_per_day)),
        session: Arc::new(world::Session::new(paying.usd_micros_per_session)),
        seed: fastrand::u64(..),
        bytes_said,
        waiting: VecDeque::new(),
    }
}

fn head(id: &str, time: Timestamp, members: &[Member]) -> Head {
    let named = |member: &Member| {
        let model = member.models().next().map(ToString::to_string).unwrap_or_default();
        HeadMember { name: member.name.clone(), model }
    };
    Head { id: id.to_owned(), time, members: members.iter().map(named).collect() }
}

/// Who took part before and does not now, in words.
fn missing(head: &Head, members: &[Member]) -> Option<String> {
    let gone = head.members.iter().filter(|before| !members.iter().any(|member| member.name == before.name));
    let gone: Vec<String> = gone.map(|before| format!("{} ({})", before.name, before.model)).collect();
    (!gone.is_empty()).then(|| format!("({} took part before and is no member now)", gone.join(", ")))
}

fn open_metrics(path: &Path) -> Result<File, OpeningError> {
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    let file = folder.and_then(|()| OpenOptions::new().create(true).append(true).open(path));
    file.map_err(|source| OpeningError::Metrics { path: path.to_owned(), source })
}

/// What a member is told about itself and the others.
fn system<'a>(member: &Member, all: impl Iterator<Item = &'a Member>) -> String {
    let others: Vec<&str> = all.map(|other| other.name.as_str()).filter(|name| *name != member.name).collect();
    let name = &member.name;
    let mut text = match others.as_slice() {
        [] => format!("You are {name}. A person talks with you."),
        others => format!(
            "You are {name}, a member of a council. The other members: {}. A person talks with all of you, and each member \
             answers in turn. What the others say comes with their name in brackets, such as [{}]; what you said comes \
             without. Speak for yourself only, do not begin with your name, and build on what was said or disagree with it \
             instead of repeating it.",
            others.join(", "),
            others[0],
        ),
    };
    if let Some(prompt) = &member.prompt {
        text.push_str("\n\n");
        text.push_str(prompt);
    }
    text
}
