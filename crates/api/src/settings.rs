//! `/api/settings`: what is kept, for how long, and how that is going. Read only: these come from the file.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use steadfast_store::{Address, Store};
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::control::Control;
use crate::problem::Problem;
use crate::time::{iso, millis};

/// What is kept, and for how long.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Settings {
    /// The version of Steadfast.
    version: &'static str,
    /// When this process began.
    started: String,
    /// What happened to requests, and what people wrote.
    store: StoreView,
    /// For how long the last turn of a session is held in memory, in milliseconds; 0: not at all.
    turns_ms: u64,
    /// The decision log, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision_log: Option<DecisionLogView>,
    /// Whether replicas share breakers, limits and budgets.
    shared: bool,
}

/// The store.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StoreView {
    /// `sqlite`, `postgres`, or `memory`: gone with the process.
    kind: &'static str,
    /// Where it is, without user and password.
    place: String,
    /// For how many days requests, sessions, sums and alerts are kept. What people wrote is kept until it is deleted.
    keep_days: u64,
    /// How much room it takes; absent while it is away.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    /// Whether the database answered last.
    reached: bool,
    /// What it said where it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    trouble: Option<String>,
    /// Requests and alerts that wait to be written.
    waiting: usize,
    /// Events written since this process began.
    written: u64,
    /// Events lost since then: the store was away for longer than memory holds.
    lost: u64,
}

/// The decision log.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DecisionLogView {
    /// Its path.
    path: String,
    /// A new file is begun at this size.
    rotate_bytes: u64,
    /// How many old files are kept.
    keep: u32,
}

/// What is kept, for how long, and how that is going. For the admin.
#[utoipa::path(get, path = "/api/settings", tag = "settings", responses((status = 200, body = Settings)))]
pub(crate) async fn settings(State(control): State<Control>, caller: Caller) -> Result<Json<Settings>, Problem> {
    caller.must_be_admin()?;
    let config = &control.snapshot().config;
    let decision_log = config.decision_log.as_ref().map(|log| DecisionLogView {
        path: log.path.clone(),
        rotate_bytes: log.rotate_bytes,
        keep: log.keep,
    });
    Ok(Json(Settings {
        version: env!("CARGO_PKG_VERSION"),
        started: iso(control.started()),
        store: StoreView::of(control.store()).await,
        turns_ms: millis(config.keep_turns),
        decision_log,
        shared: config.shared.is_some(),
    }))
}

impl StoreView {
    async fn of(store: &Store) -> Self {
        let (options, health) = (store.options(), store.health());
        // A store that is away is told as such; nobody waits for it here.
        let bytes = if health.is_reached { store.size_bytes().await.ok() } else { None };
        Self {
            kind: match &options.address {
                Address::Sqlite { path } if path == ":memory:" => "memory",
                Address::Sqlite { .. } => "sqlite",
                Address::Postgres { .. } => "postgres",
            },
            place: options.address.to_string(),
            keep_days: options.keep.as_secs() / (24 * 60 * 60),
            bytes,
            reached: health.is_reached,
            trouble: health.trouble,
            waiting: health.waiting,
            written: health.written,
            lost: health.lost,
        }
    }
}
