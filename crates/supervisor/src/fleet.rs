//! What the tasks of one supervisor share: the configuration, and what is known of each agent with each model.
//!
//! To a task, an agent with a model is an endpoint: it has a breaker, an allowance of retries, and may rest when its
//! quota is used up. Where the agent's calls go is the gateway's business, and seen there.

use std::collections::HashMap;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

use steadfast_config::{self as configuration, Agent, Config, Dialect};
use steadfast_core::classify::Classifier;
use steadfast_core::cost::Price;
use steadfast_core::policy::Policy;
use steadfast_core::recovery::{Face, Plan};
use steadfast_core::route::{Abilities, Catalogue, EndpointId, Model, Needs, Route, Served};
use steadfast_core::world::{Endpoint, Project, Session, Turn, World};
use steadfast_core::{Evidence, Failure};
use steadfast_engine::{Clock, Engine, Snapshot};

use crate::attempt::{remove_left, uuid};
use crate::gateway::Gateway;
use crate::health::Healths;
use crate::services::Services;
use crate::task::{Conversation, Memory, Task, seconds};

/// Endpoints are remembered up to this many: tasks choose the names.
const ENDPOINTS_MAX: usize = 4096;

/// How long a run of a task may take with all its attempts.
pub const DEADLINE: Duration = Duration::from_secs(24 * 60 * 60);

/// What tasks share.
#[derive(Debug)]
pub struct Fleet {
    /// Unique to this supervisor: its processes are recognised by it.
    pub id: String,
    pub(crate) configured: Configured,
    pub(crate) gateway: Option<Gateway>,
    /// It was said that a project's agents go without the gateway.
    pub(crate) said: Once,
    /// Where attempts have their files.
    pub folder: PathBuf,
    /// What agents need beside models.
    pub services: Services,
    /// Whether they can work.
    pub health: Healths,
    pub(crate) clock: Clock,
    endpoints: Mutex<HashMap<String, Arc<Endpoint>>>,
    projects: Mutex<HashMap<String, Arc<Project>>>,
}

/// What is configured.
#[derive(Debug)]
pub(crate) enum Configured {
    Once(Arc<Config>, Box<Classifier>),
    /// As the engine has it at the moment.
    By(Arc<Engine>),
}

/// A configuration in force.
pub enum InForce {
    /// The only one.
    Once(Arc<Config>),
    /// The engine's, as it was when it was asked.
    Snapshot(Arc<Snapshot>),
}

impl Deref for InForce {
    type Target = Config;

    fn deref(&self) -> &Config {
        match self {
            Self::Once(config) => config,
            Self::Snapshot(snapshot) => &snapshot.config,
        }
    }
}

impl InForce {
    /// Whether this opens the gateway for a project.
    pub(crate) fn is_key_of(&self, key: &str, project: &configuration::Project) -> bool {
        match self {
            Self::Once(_) => project.keys.iter().any(|known| known.expose() == key),
            Self::Snapshot(snapshot) => snapshot.project_of_key(key) == Some(&project.name),
        }
    }
}

/// Why a task cannot even be planned.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The classification rules do not compile.
    #[error(transparent)]
    Rules(#[from] steadfast_core::classify::RuleError),
    /// It says something that cannot be.
    #[error("the task `{label}`: {problem}")]
    Task {
        /// Which task.
        label: String,
        /// What.
        problem: String,
    },
}

/// A task with everything it needs to begin.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) plan: Plan,
    pub(crate) world: Arc<World>,
    /// The agent and model at each place of the chain.
    pub(crate) crew: Vec<Crew>,
}

/// An agent with a model.
#[derive(Clone, Debug)]
pub(crate) struct Crew {
    /// What people call it: the model, `agent:model` where the chain says so, or the agent alone.
    pub(crate) name: String,
    pub(crate) agent_name: String,
    pub(crate) agent: Agent,
    /// Empty where it is left to the agent.
    pub(crate) model: String,
}

impl Configured {
    fn in_force(&self) -> InForce {
        match self {
            Self::Once(config, _) => InForce::Once(Arc::clone(config)),
            Self::By(engine) => InForce::Snapshot(engine.snapshot()),
        }
    }

    pub(crate) const fn engine(&self) -> Option<&Arc<Engine>> {
        match self {
            Self::Once(..) => None,
            Self::By(engine) => Some(engine),
        }
    }
}

impl Fleet {
    /// A supervisor that has run nothing yet.
    pub fn new(config: Arc<Config>, gateway: Option<Gateway>, folder: PathBuf) -> Result<Self, PlanError> {
        let classifier = Box::new(Classifier::with_rules(&config.rules)?);
        Ok(Self::with(Configured::Once(config, classifier), gateway, folder))
    }

    /// The same beside a gateway: each task is planned with the configuration that is in force then. Services stay
    /// those of now.
    pub fn beside(engine: Arc<Engine>, gateway: Option<Gateway>, folder: PathBuf) -> Self {
        Self::with(Configured::By(engine), gateway, folder)
    }

    fn with(configured: Configured, gateway: Option<Gateway>, folder: PathBuf) -> Self {
        let (id, clock) = (format!("{:016x}", fastrand::u64(..)), Clock::start());
        Self {
            services: Services::new(&configured.in_force(), id.clone(), clock),
            health: Healths::new(clock),
            id,
            clock,
            endpoints: Mutex::default(),
            projects: Mutex::default(),
            configured,
            gateway,
            said: Once::new(),
            folder,
        }
    }

    /// What is configured at the moment.
    pub fn config(&self) -> InForce {
        self.configured.in_force()
    }

    pub(crate) fn classify(&self, evidence: &Evidence<'_>) -> Failure {
        match &self.configured {
            Configured::Once(_, classifier) => classifier.classify_task(evidence),
            Configured::By(engine) => engine.snapshot().classify_task(evidence),
        }
    }

    /// The address that this agent needs to work.
    pub(crate) fn address(&self, project: Option<&str>, crew: &Crew) -> Option<String> {
        match (&self.gateway, self.entry(project, &crew.agent)) {
            (Some(gateway), Some(_)) if crew.uses_gateway() => Some(format!("{}/health", gateway.url)),
            _ => crew.agent.health.clone(),
        }
    }

    /// Removes what attempts of supervisors that were killed have left.
    pub fn tidy(&self) {
        remove_left(&self.folder);
    }

    /// Says whether a task could be run, without running it.
    pub fn check(&self, task: &Task) -> Result<(), PlanError> {
        // Without a name, so that it leaves no session behind.
        let nameless = Task { id: String::new(), session: None, ..task.clone() };
        self.plan(&nameless, &Memory::default()).map(drop)
    }

    pub(crate) fn plan(&self, task: &Task, memory: &Memory) -> Result<Planned, PlanError> {
        let wrong = |problem: String| PlanError::Task { label: task.label.clone(), problem };
        if let Some(problem) = task.problem() {
            return Err(wrong(problem));
        }
        let config = &*self.config();
        let configured = match task.project.as_deref() {
            Some(name) if !config.projects.contains_key(name) => {
                return Err(wrong(format!("there is no project `{name}`")));
            }
            name => config.project(name),
        };
        let own = crew_of(config, task, task.model.as_deref().unwrap_or_default()).map_err(wrong)?;
        let is_behind = self.entry(task.project.as_deref(), &own.agent).is_some();
        let policy = policy_of(config, task, &configured.policy, is_behind).map_err(wrong)?;
        let mut crew = vec![own];
        for entry in chain_of(config, task, configured, is_behind) {
            crew.push(crew_of(config, task, &entry).map_err(wrong)?);
        }
        let models: Vec<Model> = crew.iter().enumerate().map(|(index, crew)| model_of(config, crew, index)).collect();
        let chain: Vec<Arc<str>> = models.iter().skip(1).map(|model| Arc::clone(&model.name)).collect();
        let catalogue = Catalogue::new(models.iter().cloned(), Vec::new());
        let primary = Arc::new(models[0].clone());
        let route = catalogue.route(&primary, Some(&chain), policy.vendor_boundary);
        let route: Route = route.map_err(|error| wrong(error.to_string()))?;
        let crew: Vec<Crew> = crew.into_iter().take(route.chain().len()).collect();
        let endpoints = crew.iter().map(|crew| self.endpoint(crew, &policy)).collect();
        let session = self.session(task, configured, is_behind && crew.iter().any(Crew::uses_gateway));
        // What was spent elsewhere, or before this process began.
        let known = session.spend.ledger().settled_usd_micros;
        session.spend.settle(0, memory.usd_micros.saturating_sub(known));
        let plan = Plan {
            policy,
            route: Arc::new(route),
            needs: Needs::default(),
            face: Face::TASK,
            project: self.project(configured),
            session,
            turn: Turn::New,
            time_limit: None,
            restarts_used: memory.restarts,
            seed: fastrand::u64(..),
        };
        Ok(Planned { plan, world: Arc::new(World::sharing(endpoints)), crew })
    }

    fn endpoint(&self, crew: &Crew, policy: &Policy) -> Arc<Endpoint> {
        let name = crew.endpoint();
        let mut known = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= ENDPOINTS_MAX {
            known.clear();
        }
        let fresh = || Arc::new(Endpoint::new(&name, policy.breaker, policy.retry_share, fastrand::u64(..)));
        Arc::clone(known.entry(name.clone()).or_insert_with(fresh))
    }

    /// Beside a gateway it is the one that the task's calls belong to: their retries and their money are its own.
    fn session(&self, task: &Task, configured: &configuration::Project, is_behind: bool) -> Arc<Session> {
        let budget = task.budget_usd.map(usd_micros);
        let id = task.session.as_deref().unwrap_or(&task.id);
        let shared = self
            .engine()
            .filter(|_| is_behind && !id.is_empty())
            .and_then(|engine| engine.open_session(&configured.name, id));
        let Some(shared) = shared else {
            return Arc::new(Session::new(budget.or(configured.usd_micros_per_session)));
        };
        if budget.is_some() {
            shared.spend.set_limit(budget);
        }
        shared
    }

    fn project(&self, configured: &configuration::Project) -> Arc<Project> {
        if let Some(shared) = self.engine().and_then(|engine| engine.snapshot().project(&configured.name).cloned()) {
            shared.spend.roll(self.clock.day());
            return shared;
        }
        let mut known = self.projects.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || {
            let (name, share) = (&configured.name, configured.policy.fallback_share);
            Project::new(name, share, configured.usd_micros_per_day)
        };
        let project = known.entry(configured.name.clone()).or_insert_with(|| Arc::new(fresh()));
        project.spend.set_limit(configured.usd_micros_per_day);
        project.spend.roll(self.clock.day());
        Arc::clone(project)
    }
}

impl Crew {
    /// The conversation that it goes on with, or begins by a name it is given. Chosen before the attempt is stored, so
    /// that the conversation outlives whoever began it.
    pub(crate) fn conversation(&self, known: Option<&Conversation>) -> Option<Conversation> {
        let known = known.filter(|known| known.begun);
        let is_named = self.agent.command.iter().any(|part| part.contains("{session}"));
        if known.is_some_and(|known| known.agent == self.agent_name) || self.agent.resume.is_empty() || !is_named {
            return known.cloned();
        }
        Some(Conversation { agent: self.agent_name.clone(), id: uuid(), begun: false })
    }

    /// Whether it is told where the gateway is; any other command minds its own business.
    pub(crate) fn uses_gateway(&self) -> bool {
        let Agent { gateway, command, .. } = &self.agent;
        let is_named = || command.iter().any(|part| part.contains("{gateway}"));
        !gateway.environment.is_empty() || !gateway.arguments.is_empty() || is_named()
    }

    /// What its breaker is known by.
    pub(crate) fn endpoint(&self) -> String {
        if self.model.is_empty() { self.agent_name.clone() } else { format!("{}:{}", self.agent_name, self.model) }
    }
}

/// The policy with what this task wishes for itself.
fn policy_of(config: &Config, task: &Task, usual: &Arc<Policy>, is_behind: bool) -> Result<Arc<Policy>, String> {
    let named = match &task.policy {
        None => usual,
        Some(name) => config.policies.get(name).ok_or_else(|| {
            let known: Vec<&str> = config.policies.keys().map(String::as_str).collect();
            format!("there is no policy `{name}`; there are {}", known.join(", "))
        })?,
    };
    let mut policy = Policy::clone(named);
    if task.max_retries.is_some() || task.retry_delay.is_some() {
        let delay = seconds(task.retry_delay.unwrap_or(5.0));
        policy = policy.with_retries(task.max_retries.unwrap_or(3), delay);
    }
    if is_behind && task.command.is_empty() {
        policy = policy.behind_gateway();
    }
    // The policy's deadline is that of a model call.
    policy.deadline = task.deadline.map_or(DEADLINE, seconds).min(steadfast_core::policy::limits::DEADLINE);
    Ok(Arc::new(policy))
}

/// Where the task may fall back to. Behind the gateway the configured chain has been walked there, call by call.
fn chain_of(config: &Config, task: &Task, project: &configuration::Project, is_behind: bool) -> Vec<String> {
    if let Some(chain) = &task.chain {
        let own = task.model.as_deref().unwrap_or_default();
        // An order that names the model itself is meant to begin there.
        return chain.iter().filter(|entry| *entry != own).cloned().collect();
    }
    let Some(model) = task.model.as_deref().filter(|_| !is_behind) else { return Vec::new() };
    let route = config.route(project, model, Dialect::OpenAi);
    route.chain().iter().skip(1).map(|model| model.name.to_string()).collect()
}

/// The agent and model of an entry: `model`, or `agent:model` where such an agent is known.
fn crew_of(config: &Config, task: &Task, entry: &str) -> Result<Crew, String> {
    if let Some((name, model)) = entry.split_once(':')
        && let Some(agent) = config.agents.get(name)
    {
        let (name, model) = (name.to_owned(), model.to_owned());
        return Ok(Crew { name: entry.to_owned(), agent_name: name, agent: agent.clone(), model });
    }
    let model = entry.to_owned();
    if !task.command.is_empty() {
        let program = &task.command[0];
        let agent_name = program.rsplit('/').next().unwrap_or(program).to_owned();
        let known = config.agents.get(&agent_name).cloned().or_else(|| Agent::of_program(program));
        let agent = known.unwrap_or_else(|| Agent::command(Vec::new()));
        let agent = Agent { command: task.command.clone(), resume: Vec::new(), ..agent };
        let name = if model.is_empty() { agent_name.clone() } else { model.clone() };
        return Ok(Crew { name, agent_name, agent, model });
    }
    let agent = config.agents.get(&task.agent).cloned().ok_or_else(|| {
        let known: Vec<&str> = config.agents.keys().map(String::as_str).collect();
        format!("there is no agent `{}`; there are {}", task.agent, known.join(", "))
    })?;
    let name = if model.is_empty() { task.agent.clone() } else { model.clone() };
    Ok(Crew { name, agent_name: task.agent.clone(), agent, model })
}

fn model_of(config: &Config, crew: &Crew, index: usize) -> Model {
    let known = config.catalogue.model(&crew.model).map(|model| Model::clone(model));
    let model = known.unwrap_or_else(|| config.unlisted(&crew.model, Dialect::OpenAi));
    Model {
        name: crew.name.as_str().into(),
        endpoints: vec![Served { endpoint: EndpointId(index as u16), alias: None }],
        fallback: Vec::new(),
        abilities: Abilities::ALL,
        // Agents tell what they spent, and that is settled; nobody can tell beforehand.
        price: Some(Price { input_usd_micros: 0, output_usd_micros: 0 }),
        ..model
    }
}

fn usd_micros(usd: f64) -> u64 {
    (usd * 1e6).round() as u64
}
