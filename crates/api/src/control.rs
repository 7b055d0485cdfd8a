//! What every route needs, and the one way in which people change things.
//!
//! A change is checked together with everything else that is configured, committed to the store, and only then put
//! in force: what was acknowledged lasts. Other replicas on the same store look for changes every few seconds.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use serde_json::{Value, json};
use steadfast_config::{Loaded, Problems};
use steadfast_core::Timestamp;
use steadfast_core::breaker::{Mode, Override};
use steadfast_core::policy::Policy;
use steadfast_core::record::{Event, Record};
use steadfast_engine::{Clock, Engine, EngineError, Listener, Snapshot};
use steadfast_store::{Document, Expected, PutError, Range, Store};
use tokio::sync::{Semaphore, mpsc};

use crate::problem::Problem;
use crate::pulse::{Feeler, Pulse};
use crate::stored::{Space, Stored};

/// Readers of live events at a time.
const READERS_MAX: usize = 256;

/// Exports that are written at once: each keeps a reader of the store busy.
const EXPORTS_MAX: usize = 2;

/// How often another replica's changes are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// A climb is remembered for a week over restarts.
const CLIMB_KEPT_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// Budgets are those of a day.
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// Climbs that ended and wait to be forgotten.
const ENDED_MAX: usize = 256;

/// Where the configuration comes from: file, environment, flags.
pub trait Configuration: Send + Sync {
    /// Loads it with this laid over it.
    fn load(&self, stored: &Value) -> Result<Loaded, Problems>;
}

/// Shows what policies do when things fail.
pub trait Simulator: Send + Sync {
    /// What can happen: names, and what each is about.
    fn scenarios(&self) -> Vec<(String, String)>;

    /// Runs a scenario under each policy and reports on each, in order. Takes seconds.
    fn run(&self, scenario: &str, policies: &[Policy]) -> Result<Vec<Value>, String>;
}

/// What a control is made of.
pub struct Parts {
    /// The engine.
    pub engine: Arc<Engine>,
    /// What is kept.
    pub store: Store,
    /// Where the configuration comes from.
    pub configuration: Arc<dyn Configuration>,
    /// Shows what policies do.
    pub simulator: Arc<dyn Simulator>,
}

/// Why a configuration could not be put in force.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// It is wrong.
    #[error("{0}")]
    Problems(Problems),
    /// The engine does not take it.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// What every route needs.
#[derive(Clone, Debug)]
pub struct Control(Arc<Inner>);

struct Inner {
    parts: Parts,
    pulse: Arc<Pulse>,
    readers: Arc<Semaphore>,
    exports: Arc<Semaphore>,
    started: Timestamp,
    /// What a demo plays right now.
    playing: Mutex<Option<Arc<str>>>,
    stored: Mutex<Stored>,
    /// The number of the last change of the store that was seen. Held while something is changed.
    seen: tokio::sync::Mutex<i64>,
}

impl Control {
    /// Begins to listen to an engine, puts in force what people stored, and follows what others store. Must be
    /// called in the runtime that is to answer.
    pub async fn start(parts: Parts) -> Self {
        let pulse = Arc::new(Pulse::default());
        let (ended, climbs) = mpsc::channel(ENDED_MAX);
        parts.engine.listen(Box::new(Feeler(Arc::clone(&pulse))));
        if parts.engine.snapshot().config.keep_requests {
            parts.engine.listen(Box::new(Feed(parts.store.clone())));
        }
        parts.engine.listen(Box::new(Ended(ended)));
        let started = parts.engine.clock().wall();
        let readers = Arc::new(Semaphore::new(READERS_MAX));
        let exports = Arc::new(Semaphore::new(EXPORTS_MAX));
        let (playing, stored, seen) = (Mutex::default(), Mutex::default(), tokio::sync::Mutex::new(0));
        let control = Self(Arc::new(Inner { parts, pulse, readers, exports, started, playing, stored, seen }));
        control.store().watch_from(started.as_millis());
        control.take_up().await;
        tokio::spawn(follow(Arc::downgrade(&control.0)));
        tokio::spawn(forget_climbs(Arc::downgrade(&control.0), climbs));
        control
    }

    /// Takes up what is stored and what was spent. A store that is away has said so itself, once, and everything is
    /// taken up when it is back.
    async fn take_up(&self) {
        let caught_up = self.catch_up().await;
        let is_away = self.store().health().trouble.is_some();
        let resumed = match is_away {
            true => Err(steadfast_store::Error::Away(String::new())),
            false => self.resume_spending().await,
        };
        match (&caught_up, &resumed) {
            (Ok(()), Ok(())) => {}
            _ if is_away => tracing::info!(
                "until the store is back, what was stored through the control API is not in force and budgets begin anew"
            ),
            (Err(error), _) => tracing::warn!(%error, "what was stored through the control API is not in force yet"),
            (_, Err(error)) => tracing::warn!(%error, "what was spent today is not known yet: budgets begin anew"),
        }
        if resumed.is_err() {
            tokio::spawn(resume_later(Arc::downgrade(&self.0)));
        }
    }

    /// Goes on from what each project has spent today: a restart is no new day. Where replicas share what they spend,
    /// that knows better.
    async fn resume_spending(&self) -> Result<(), steadfast_store::Error> {
        let snapshot = self.snapshot();
        if snapshot.config.shared.is_some() {
            return Ok(());
        }
        let day = self.clock().day();
        let from = i64::try_from(day * DAY_MS).unwrap_or(0);
        let to = self.clock().wall().as_millis();
        let mut known = Vec::new();
        for name in snapshot.config.projects.keys() {
            let range = Range { from, to, project: Some(name.clone()) };
            let analytics = self.store().analytics(range).await?;
            known.push((name, u64::try_from(analytics.totals.usd_micros).unwrap_or(0)));
        }
        for (name, spent) in known {
            if let Some(project) = snapshot.project(name) {
                project.spend.roll(day);
                // Where the store took its time, what was spent meanwhile may be in it already.
                let own = project.spend.ledger().settled_usd_micros;
                project.spend.settle(0, spent.saturating_sub(own));
            }
        }
        Ok(())
    }

    /// Loads the configuration again, with what people stored.
    pub async fn reload(&self) -> Result<Loaded, ReloadError> {
        // What is being changed meanwhile must not be lost.
        let _seen = self.0.seen.lock().await;
        self.load_again().await
    }

    /// The same for whoever holds `seen`.
    async fn load_again(&self) -> Result<Loaded, ReloadError> {
        let overlay = self.stored().overlay();
        let loaded = self.load(overlay).await.map_err(ReloadError::Problems)?;
        self.put_in_force(&loaded)?;
        Ok(loaded)
    }

    /// The engine.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.0.parts.engine
    }

    /// What is kept.
    pub fn store(&self) -> &Store {
        &self.0.parts.store
    }

    pub(crate) fn simulator(&self) -> &Arc<dyn Simulator> {
        &self.0.parts.simulator
    }

    /// The configuration in force.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.0.parts.engine.snapshot()
    }

    pub(crate) fn clock(&self) -> &Clock {
        self.0.parts.engine.clock()
    }

    pub(crate) fn pulse(&self) -> &Pulse {
        &self.0.pulse
    }

    pub(crate) fn readers(&self) -> &Arc<Semaphore> {
        &self.0.readers
    }

    /// How many readers there are.
    pub(crate) fn readers_now(&self) -> usize {
        READERS_MAX - self.readers().available_permits()
    }

    /// Who may write an export.
    pub(crate) fn exports(&self) -> &Arc<Semaphore> {
        &self.0.exports
    }

    pub(crate) fn started(&self) -> Timestamp {
        self.0.started
    }

    /// Says what goes wrong on purpose from now on: a demo tells its own story.
    pub fn play(&self, title: &str) {
        *self.0.playing.lock().unwrap_or_else(PoisonError::into_inner) = Some(title.into());
    }

    pub(crate) fn playing(&self) -> Option<Arc<str>> {
        self.0.playing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What people stored.
    pub(crate) fn stored(&self) -> MutexGuard<'_, Stored> {
        self.0.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Loads the configuration with another layer of stored things, without putting it in force.
    pub(crate) async fn load(&self, overlay: Value) -> Result<Loaded, Problems> {
        let configuration = Arc::clone(&self.0.parts.configuration);
        // Files are read: not on the thread that answers.
        let loaded = tokio::task::spawn_blocking(move || configuration.load(&overlay)).await;
        loaded.unwrap_or_else(|_| Err(Problems::default()))
    }

    /// Writes or deletes a document, checked, committed and in force when this returns.
    pub(crate) async fn change(
        &self,
        space: Space,
        name: &str,
        body: Option<Value>,
        expected: Expected,
    ) -> Result<Option<Document>, Problem> {
        let mut seen = self.0.seen.lock().await;
        self.take_changes(&mut seen).await?;
        self.write(space, name, body, expected).await
    }

    /// Changes a part of a document: the rest stays as others last wrote it.
    pub(crate) async fn amend(
        &self,
        space: Space,
        name: &str,
        amend: impl FnOnce(&mut Value),
    ) -> Result<Option<Document>, Problem> {
        let mut seen = self.0.seen.lock().await;
        self.take_changes(&mut seen).await?;
        let (body, version) = {
            let stored = self.stored();
            (stored.body(space, name).cloned(), stored.version(space, name))
        };
        let expected = if body.is_some() { Expected::Version(version) } else { Expected::Nothing };
        let mut body = body.unwrap_or_else(|| json!({}));
        amend(&mut body);
        self.write(space, name, Some(body), expected).await
    }

    /// Writes or deletes a document, for whoever holds `seen` and has caught up.
    async fn write(
        &self,
        space: Space,
        name: &str,
        body: Option<Value>,
        expected: Expected,
    ) -> Result<Option<Document>, Problem> {
        let candidate = self.stored().with(space, name, body.clone());
        let loaded = match space.configures() {
            true => Some(self.load(candidate.overlay()).await.map_err(|problems| refused(space, name, &problems))?),
            false => None,
        };
        let written = match body {
            Some(body) => self.store().put(space.name(), name, body, expected).await,
            None => self.store().delete(space.name(), name, expected).await,
        };
        let document = written.map_err(|error| not_written(name, &error))?;
        self.stored().take(document.clone());
        if let Some(loaded) = loaded {
            self.put_in_force(&loaded).map_err(|error| Problem::unavailable(error.to_string()))?;
        }
        Ok(document.body.is_some().then_some(document))
    }

    /// Takes over what others stored, and puts it in force.
    async fn catch_up(&self) -> Result<(), Problem> {
        let mut seen = self.0.seen.lock().await;
        self.take_changes(&mut seen).await
    }

    async fn take_changes(&self, seen: &mut i64) -> Result<(), Problem> {
        let mut news = Vec::new();
        loop {
            let changes = self.store().changes(*seen).await.map_err(|error| Problem::of_store(&error))?;
            let Some(last) = changes.last().map(|last| last.change) else { break };
            let mut stored = self.stored();
            for document in changes {
                let name = document.name.clone();
                news.extend(stored.take(document).map(|space| (space, name)));
            }
            *seen = last;
        }
        if news.iter().any(|(space, _)| space.configures()) {
            match self.load_again().await {
                Ok(_) => tracing::info!("what was stored through the control API is in force"),
                Err(error) => tracing::warn!("what was stored through the control API is not in force:\n{error}"),
            }
        }
        if news.iter().any(|(space, _)| *space == Space::Override) {
            self.restore_overrides();
        }
        for (_, endpoint) in news.iter().filter(|(space, _)| *space == Space::Override) {
            let taken_back = self.stored().body(Space::Override, endpoint).is_none();
            if taken_back && self.is_overridden(endpoint) {
                self.engine().override_breaker(endpoint, None);
            }
        }
        for (_, session) in news.iter().filter(|(space, _)| *space == Space::Climb) {
            self.restore_climb(session);
        }
        Ok(())
    }

    fn put_in_force(&self, loaded: &Loaded) -> Result<(), EngineError> {
        self.engine().reload(loaded.config.clone())?;
        // An endpoint whose breaker is set otherwise now has a new one, which knows no person's word.
        self.restore_overrides();
        Ok(())
    }

    fn is_overridden(&self, endpoint: &str) -> bool {
        let (snapshot, now) = (self.snapshot(), self.clock().now());
        let known = snapshot.world.endpoints().find(|(_, known)| *known.name == *endpoint);
        known.is_some_and(|(_, known)| known.breaker.current_override(now).is_some())
    }

    /// Puts the stored words of people over their breakers, where they are not.
    fn restore_overrides(&self) {
        let (now, wall) = (self.clock().now(), self.clock().wall().as_millis());
        let words: Vec<(String, Override)> = self
            .stored()
            .all(Space::Override)
            .filter_map(|(endpoint, _, body)| {
                let left = u64::try_from(body["until"].as_i64()? - wall).ok().filter(|left| *left > 0)?;
                let mode = Mode::ALL.into_iter().find(|mode| body["mode"] == mode.name())?;
                let reason = body["reason"].as_str()?.to_owned();
                Some((endpoint.to_owned(), Override { mode, reason, until: now + Duration::from_millis(left) }))
            })
            .collect();
        let snapshot = self.snapshot();
        for (endpoint, word) in words {
            let known = snapshot.world.endpoints().find(|(_, known)| *known.name == *endpoint);
            let stands = |known: &Override| {
                let moved = known.until.since(word.until).max(word.until.since(known.until));
                known.mode == word.mode && known.reason == word.reason && moved < Duration::from_secs(1)
            };
            if known.is_some_and(|(_, known)| !known.breaker.current_override(now).is_some_and(|known| stands(&known)))
            {
                self.engine().override_breaker(&endpoint, Some(word));
            }
        }
    }

    /// Lets a session stick to the model it climbed to before, or return where that was taken back.
    fn restore_climb(&self, name: &str) {
        let stored = self.stored();
        let Some((project, session)) = name.split_once('/') else { return };
        let climb = stored.get(Space::Climb, name);
        let fresh = |document: &&Document| self.clock().wall().as_millis() - document.updated < CLIMB_KEPT_MS;
        let model = climb.filter(fresh).and_then(|document| document.body.as_ref()?["model"].as_str());
        let known = match model {
            Some(_) => self.engine().open_session(project, session),
            None => self.engine().session(project, session),
        };
        if let Some(known) = known {
            known.stick_to(model.map(Into::into));
        }
    }
}

/// Looks for what other replicas stored, until nobody needs it any more.
async fn follow(inner: Weak<Inner>) {
    let mut away = false;
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(inner) = inner.upgrade() else { return };
        let looked = Control(inner).catch_up().await;
        if let Err(error) = &looked
            && !away
        {
            tracing::debug!(%error, "cannot look for changes");
        }
        away = looked.is_err();
    }
}

/// A store that is busy without a pause is asked all the same: to count a little twice is better than to forget a day.
const FLUSHES_MAX: u32 = 10;

/// Asks the store again what was spent, until it answers.
async fn resume_later(inner: Weak<Inner>) {
    for tries in 1.. {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(inner) = inner.upgrade() else { return };
        let control = Control(inner);
        // What was spent while the store was away is among what it says, or would be taken for what was spent before.
        let engine = Arc::clone(control.engine());
        let _ = tokio::task::spawn_blocking(move || engine.flush()).await;
        let is_whole = control.store().flush(LOOK_EVERY).await || tries >= FLUSHES_MAX;
        if is_whole && control.resume_spending().await.is_ok() {
            tracing::info!("what was spent today is known again: budgets count it");
            return;
        }
    }
}

/// Forgets climbs that ended because the model did not serve: a restart must not bring them back.
async fn forget_climbs(inner: Weak<Inner>, mut ended: mpsc::Receiver<String>) {
    while let Some(name) = ended.recv().await {
        let Some(inner) = inner.upgrade() else { return };
        let control = Control(inner);
        let known = control.stored().get(Space::Climb, &name).is_some();
        if known && let Err(error) = control.change(Space::Climb, &name, None, Expected::Anything).await {
            tracing::warn!(%error, "cannot forget a climb that ended");
        }
    }
}

/// Hands everything to the store.
struct Feed(Store);

impl Listener for Feed {
    fn hear(&mut self, batch: &Arc<[Record]>) {
        self.0.feed(batch);
    }
}

/// Notices climbs that ended by themselves.
struct Ended(mpsc::Sender<String>);

impl Listener for Ended {
    fn hear(&mut self, batch: &Arc<[Record]>) {
        for record in batch.iter().filter(|record| record.event == Event::Escalation && !record.request.is_empty()) {
            if let (Some(project), Some(session)) = (&record.project, &record.session) {
                // Full: the climb comes back with the next restart and ends again.
                let _ = self.0.try_send(format!("{project}/{session}"));
            }
        }
    }
}

/// What the loader says about a document, as problems of its fields.
fn refused(space: Space, name: &str, problems: &Problems) -> Problem {
    let message = format!("the {} `{name}` cannot be: see `problems`", space.name());
    Problem::new(http::StatusCode::BAD_REQUEST, "invalid", message).with_problems(fields(space, name, problems))
}

/// The problems of a document by field.
pub(crate) fn fields(space: Space, name: &str, problems: &Problems) -> Vec<crate::problem::FieldProblem> {
    let above = match space {
        Space::Policy => format!("policies.{name}."),
        _ => format!("projects.{name}."),
    };
    let one = |problem: &steadfast_config::Problem| crate::problem::FieldProblem {
        field: problem.key.strip_prefix(&above).unwrap_or(&problem.key).to_owned(),
        message: problem.what.clone(),
        help: problem.help.clone(),
        severity: problem.severity.to_string(),
    };
    problems.list.iter().map(one).collect()
}

fn not_written(name: &str, error: &PutError) -> Problem {
    match error {
        PutError::Conflict(None) => {
            Problem::new(http::StatusCode::PRECONDITION_FAILED, "changed", format!("`{name}` is not stored"))
        }
        PutError::Conflict(Some(current)) => {
            let message =
                format!("somebody else changed `{name}`: it has version {} now; read it again", current.version);
            Problem::new(http::StatusCode::PRECONDITION_FAILED, "changed", message).about("if-match")
        }
        PutError::Store(error) => Problem::of_store(error),
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").finish_non_exhaustive()
    }
}
