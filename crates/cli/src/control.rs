//! What the control API is made of in this binary: the store, the configuration as the flags say, the simulator.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use steadfast_api::{Configuration, Control, Parts, Simulator};
use steadfast_config::{Config, Loaded, Problems};
use steadfast_core::policy::Policy;
use steadfast_engine::Engine;
use steadfast_sim::Scenario;
use steadfast_sim::scenario::NAMES;
use steadfast_store::{Address, Options, Store};

use crate::cli::SourceArgs;
use crate::commands::{environment, load_with};
use crate::decisions;

/// A simulation for a person who waits: three seeds of two minutes tell one policy from another.
const SEEDS: u64 = 3;
const SECONDS: u32 = 120;

/// Opens the store that the configuration names, or the usual one.
pub(crate) fn open_store(config: &Config) -> std::io::Result<Store> {
    let address = match &config.store {
        Some(steadfast_config::Store::Sqlite { path }) => Address::sqlite(path.clone()),
        Some(steadfast_config::Store::Postgres { url }) => Address::postgres(url.expose()),
        None => match usual_path() {
            Some(path) => Address::sqlite(path.display().to_string()),
            None => {
                tracing::warn!("neither XDG_STATE_HOME nor HOME names a folder: what is stored ends with this process");
                Address::sqlite(":memory:")
            }
        },
    };
    Store::open(Options::new(address, config.keep_days))
}

/// The store of a gateway whose configuration names none.
fn usual_path() -> Option<PathBuf> {
    decisions::state_folder(&environment()).map(|folder| folder.join("steadfast.db"))
}

/// The control over a running engine. Must be called in the runtime that is to answer.
pub(crate) async fn start(engine: Arc<Engine>, store: Store, configuration: Arc<dyn Configuration>) -> Control {
    Control::start(Parts { engine, store, configuration, simulator: Arc::new(Simulation) }).await
}

/// The configuration as the flags say.
pub(crate) struct AsFlagsSay {
    pub(crate) sources: SourceArgs,
    pub(crate) no_log: bool,
}

impl Configuration for AsFlagsSay {
    fn load(&self, stored: &Value) -> Result<Loaded, Problems> {
        let mut loaded = load_with(&self.sources, stored)?;
        add_log(&mut loaded.config, self.no_log);
        Ok(loaded)
    }
}

/// Where no log is configured, the usual one is written, unless that is not wanted or cannot be.
pub(crate) fn add_log(config: &mut Config, no_log: bool) {
    if no_log {
        return;
    }
    if let Err(error) = decisions::with_default(config, &environment()) {
        tracing::warn!("there will be no decision log: {error:#}");
    }
}

/// The simulator, as `steadfast simulate` runs it.
struct Simulation;

impl Simulator for Simulation {
    fn scenarios(&self) -> Vec<(String, String)> {
        NAMES.iter().map(|(name, about)| ((*name).to_owned(), (*about).to_owned())).collect()
    }

    fn run(&self, scenario: &str, policies: &[Policy]) -> Result<Vec<Value>, String> {
        let named = Scenario::named(scenario).ok_or_else(|| format!("there is no scenario `{scenario}`"))?;
        let reports = steadfast_sim::compare(&named.with_seconds(SECONDS), policies, 0, SEEDS);
        let reports = reports.map_err(|trouble| trouble.to_string())?;
        reports.iter().map(|report| serde_json::to_value(report).map_err(|error| error.to_string())).collect()
    }
}
