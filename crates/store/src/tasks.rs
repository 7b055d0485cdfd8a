//! The supervisor's tasks: a queue that survives everybody who works on it.
//!
//! ```text
//! waiting ──lease──▶ running ──▶ succeeded · gave_up · not_now · budget_spent · cancelled
//!    ▲                  │
//!    └── put aside ◀────┤  until it is due
//!    └── lease ran out ◀┘  the worker is gone; counted
//! ```
//!
//! A lease has an end and a token that grows with every lease: whatever a worker says with an old token changes
//! nothing. The attempt is counted in the transaction that leases, so a task that kills its worker is not revived for
//! ever. What a person stopped stays stopped. What a task is told is kept with it, as nothing else of anybody's words
//! is; it goes with the task, days after its end.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value as Json;

use crate::Store;
use crate::db::{Database, Durability, Row, Tx, Value, args};
use crate::error::Error;
use crate::insert::Insert;
use crate::page::{Conditions, Cursor, Page, Paging};

/// How many tasks may wait or run; more are refused.
pub const TASKS_MAX: u64 = 200_000;

/// How many are leased at once.
const LEASED_MAX: usize = 1024;

/// A task to be kept.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTask {
    /// Its id; one that is known is not kept again.
    pub id: String,
    /// What people call it.
    pub label: String,
    /// Who pays.
    pub project: String,
    /// The model it begins with.
    pub model: Option<String>,
    /// When it is to be run, in milliseconds since the epoch; at once where that has passed.
    pub due: i64,
    /// What it is.
    pub spec: Json,
}

/// Why tasks were not kept.
#[derive(Debug, thiserror::Error)]
pub enum AddError {
    /// Too many wait already.
    #[error("{waiting} tasks wait or run already, and {TASKS_MAX} are the most: try again when some are done")]
    Full {
        /// How many.
        waiting: u64,
    },
    /// The store could not.
    #[error(transparent)]
    Store(#[from] Error),
}

/// A task in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TaskSummary {
    /// Its id.
    pub id: String,
    /// What people call it.
    pub label: String,
    /// Who pays.
    pub project: String,
    /// `waiting`, `running`, or how it ended.
    pub state: String,
    /// When it is to be run next, in milliseconds since the epoch.
    pub due: i64,
    /// When it came.
    pub created: i64,
    /// When something last happened to it.
    pub updated: i64,
    /// When it ended.
    pub ended: Option<i64>,
    /// Who runs it, or did last.
    pub worker: Option<String>,
    /// A person wants it stopped.
    pub stopping: bool,
    /// How often it was tried.
    pub attempts: i64,
    /// How often it was run anew.
    pub restarts: i64,
    /// How often its worker died while it ran.
    pub crashes: i64,
    /// The model it uses.
    pub model: Option<String>,
    /// The kind of its last failure.
    pub kind: Option<String>,
    /// How it last failed, in words.
    pub error: Option<String>,
}

/// A task with everything that is known of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskDetail {
    /// As in a list.
    #[serde(flatten)]
    pub summary: TaskSummary,
    /// What it is.
    pub spec: Json,
    /// What is known of it between its runs.
    pub memory: Json,
    /// What came of it.
    pub result: Option<Json>,
}

/// A task that a worker may run until its lease ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Leased {
    /// Its id.
    pub id: String,
    /// Proves the lease.
    pub token: i64,
    /// How often its worker died while it ran.
    pub crashes: i64,
    /// How often it was tried, the attempt of this lease included.
    pub attempts: i64,
    /// How often it was run anew since somebody last wanted it.
    pub restarts: i64,
    /// Who ran it before, where that one never said that it stopped.
    pub worker_before: Option<String>,
    /// What it is.
    pub spec: Json,
    /// What is known of it.
    pub memory: Json,
}

/// What a worker has to say about a task of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// Which task.
    pub id: String,
    /// Proves the lease.
    pub token: i64,
    /// What.
    pub news: News,
    /// What is known of it by now.
    pub memory: Json,
    /// How often it was tried.
    pub attempts: u32,
    /// How often it was run anew.
    pub restarts: u32,
    /// The model it uses.
    pub model: Option<String>,
    /// How it last failed: the kind, and in words.
    pub failure: Option<(String, String)>,
}

/// What happened to a task.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// Another attempt is about to start.
    Attempt,
    /// It is put aside until then.
    Later {
        /// Milliseconds from now.
        wait_ms: i64,
    },
    /// It is over.
    Over {
        /// How it ended.
        outcome: &'static str,
        /// What came of it.
        result: Json,
    },
}

/// What became of a worker's turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnTaken {
    /// What it may run from now on.
    pub leased: Vec<Leased>,
    /// For each thing it said, whether that counted: the lease was its own.
    pub counted: Vec<bool>,
    /// How long until something is due or another's lease ends, in milliseconds; none where there is neither.
    pub next_due_ms: Option<i64>,
}

/// What a worker holds, as the store sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Which task.
    pub id: String,
    /// Proves the lease.
    pub token: i64,
    /// A person wants it stopped.
    pub stop: bool,
}

/// Which tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Only those in this state.
    pub state: Option<String>,
    /// Only those of this project.
    pub project: Option<String>,
    /// Only those of this label.
    pub label: Option<String>,
}

/// What a person's wish came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// It is done.
    Done,
    /// Whoever runs it is told.
    Told,
    /// There is nothing to do: it is over, or runs already.
    Nothing,
    /// There is no such task.
    Unknown,
}

impl Store {
    /// Keeps tasks, all or none, and says how many were not known before.
    pub async fn add_tasks(&self, tasks: Vec<NewTask>) -> Result<usize, AddError> {
        let added = self.run(move |db| async move { add(&db, tasks).await }).await?;
        added.map_err(|waiting| AddError::Full { waiting })
    }

    /// Takes what a worker has to say, and leases it up to `want` tasks that are due, in one transaction. What it runs
    /// is not leased to it once more, also where a clock that jumped says that the lease ran out.
    pub async fn take_turn(
        &self,
        worker: &str,
        runs: Vec<String>,
        said: Vec<Said>,
        want: usize,
        lease: Duration,
    ) -> Result<TurnTaken, Error> {
        let worker = worker.to_owned();
        self.run(move |db| async move { take_turn(&db, worker, runs, said, want.min(LEASED_MAX), lease).await }).await
    }

    /// Extends what a worker runs, and says what of it is still its own. A lease it never heard of, because the answer
    /// was lost, runs out.
    pub async fn extend_leases(&self, worker: &str, runs: Vec<String>, lease: Duration) -> Result<Vec<Held>, Error> {
        let worker = worker.to_owned();
        self.run(move |db| async move { extend(&db, worker, runs, lease).await }).await
    }

    /// Stops a task for good.
    pub async fn cancel_task(&self, id: &str) -> Result<Wish, Error> {
        let id = id.to_owned();
        self.run(move |db| async move { cancel(&db, id).await }).await
    }

    /// Runs a task that is over, or waits, once more and at once.
    pub async fn retry_task(&self, id: &str) -> Result<Wish, Error> {
        let id = id.to_owned();
        self.run(move |db| async move { retry(&db, id).await }).await
    }

    /// A task with everything that is known of it. The beginning of an id will do where it fits one task only.
    pub async fn task(&self, id: &str) -> Result<Option<TaskDetail>, Error> {
        let id = id.to_owned();
        self.run(move |db| async move {
            if let Some(row) = db.row("SELECT * FROM tasks WHERE id = $1", args![id.as_str()]).await? {
                return detail(&row).map(Some);
            }
            let sql = format!("SELECT * FROM tasks WHERE substr(id, 1, {}) = $1 LIMIT 2", id.chars().count());
            let rows = if id.is_empty() { Vec::new() } else { db.rows(sql, args![id]).await? };
            rows.first().filter(|_| rows.len() == 1).map(detail).transpose()
        })
        .await
    }

    /// Tasks, newest first.
    pub async fn tasks(&self, filter: TaskFilter, paging: Paging) -> Result<Page<TaskSummary>, Error> {
        self.run(move |db| async move { list(&db, filter, &paging).await }).await
    }

    /// How many tasks are in each state.
    pub async fn task_counts(&self) -> Result<Vec<(String, u64)>, Error> {
        self.run(|db| async move {
            let sql = "SELECT state, count(*) AS number FROM tasks GROUP BY state ORDER BY state";
            let rows = db.rows(sql, args![]).await?;
            rows.iter().map(|row| Ok((row.get("state")?, row.count("number")?))).collect()
        })
        .await
    }

    /// Forgets tasks that ended longer ago than events are kept.
    pub async fn forget_tasks(&self, ended_for: Duration) -> Result<u64, Error> {
        self.run(move |db| async move {
            let mut tx = db.begin(Durability::Process).await?;
            let before = now(&mut tx).await?.saturating_sub(millis(ended_for));
            let gone = tx.execute("DELETE FROM tasks WHERE ended IS NOT NULL AND ended < $1", args![before]).await?;
            tx.commit().await?;
            Ok(gone)
        })
        .await
    }
}

/// What is written of a new task.
const NEW_COLUMNS: &[&str] = &[
    "id", "label", "project", "state", "due", "created", "updated", "token", "crashes", "attempts", "restarts",
    "model", "spec", "memory",
];

async fn add(db: &Database, tasks: Vec<NewTask>) -> Result<Result<usize, u64>, Error> {
    let mut tx = db.begin(Durability::Power).await?;
    let counted = tx.row("SELECT count(*) AS number FROM tasks WHERE state IN ('waiting', 'running')", args![]).await?;
    let waiting = counted.map(|row| row.count("number")).transpose()?.unwrap_or(0);
    if waiting + tasks.len() as u64 > TASKS_MAX {
        tx.commit().await?;
        return Ok(Err(waiting));
    }
    let now = now(&mut tx).await?;
    let rows = tasks.into_iter().map(|task| {
        let zero = 0_i64;
        let NewTask { id, label, project, model, due, spec } = task;
        args![
            id,
            label,
            project,
            "waiting",
            due.max(now),
            now,
            now,
            zero,
            zero,
            zero,
            zero,
            model,
            spec.to_string(),
            "{}"
        ]
    });
    let added = Insert::new("tasks", NEW_COLUMNS, rows, "(id) DO NOTHING").write(&mut tx).await?;
    tx.commit().await?;
    Ok(Ok(usize::try_from(added).unwrap_or(usize::MAX)))
}

async fn take_turn(
    db: &Database,
    worker: String,
    mut runs: Vec<String>,
    said: Vec<Said>,
    want: usize,
    lease: Duration,
) -> Result<TurnTaken, Error> {
    let mut tx = db.begin(Durability::Power).await?;
    let now = now(&mut tx).await?;
    let mut turn = TurnTaken::default();
    for said in said {
        turn.counted.push(hear(&mut tx, &worker, said, now).await?);
    }
    // What a person stopped and nobody runs any more is stopped.
    let sql = "UPDATE tasks SET state = 'cancelled', ended = $1, updated = $1, worker_before = NULL \
               WHERE state = 'running' AND lease_until < $1 AND wanted IS NOT NULL";
    tx.execute(sql, args![now]).await?;
    if want > 0 {
        let abandoned = "state = 'running' AND lease_until < $2";
        turn.leased = lease_some(&mut tx, &worker, &runs, (abandoned, "lease_until"), now, want, lease).await?;
        let due = "state = 'waiting' AND due <= $2";
        let rest = want - turn.leased.len();
        turn.leased.extend(lease_some(&mut tx, &worker, &runs, (due, "due"), now, rest, lease).await?);
        runs.extend(turn.leased.iter().map(|leased| leased.id.clone()));
    }
    let due = tx.row("SELECT min(due) AS next FROM tasks WHERE state = 'waiting'", args![]).await?;
    let (others, values) = not_among(&runs, Vec::new());
    let sql = format!("SELECT min(lease_until) AS next FROM tasks WHERE state = 'running' {others}");
    let abandoned = tx.row(sql, values).await?;
    for row in [due, abandoned].iter().flatten() {
        let next: Option<i64> = row.get("next")?;
        let wait = next.map(|next| (next - now).max(0));
        turn.next_due_ms = [turn.next_due_ms, wait].into_iter().flatten().min();
    }
    tx.commit().await?;
    Ok(turn)
}

/// Takes what a worker says, where the lease is its own.
async fn hear(tx: &mut Tx<'_>, worker: &str, said: Said, now: i64) -> Result<bool, Error> {
    let Said { id, token, news, memory, attempts, restarts, model, failure } = said;
    let (kind, error) = failure.unzip();
    let (state, due, ended, result) = match news {
        News::Attempt => ("running", None, None, None),
        News::Later { wait_ms } => ("waiting", Some(now + wait_ms.max(0)), None, None),
        News::Over { outcome, result } => (outcome, None, Some(now), Some(result.to_string())),
    };
    // A wish to stop it that came while it was put aside holds: it is over then.
    let sql = "UPDATE tasks SET state = CASE WHEN $1 = 'waiting' AND wanted IS NOT NULL THEN 'cancelled' ELSE $1 END, \
               due = coalesce($2, due), ended = CASE WHEN $1 = 'waiting' AND wanted IS NOT NULL THEN $3 ELSE $4 END, \
               updated = $3, memory = $5, attempts = $6, restarts = $7, model = coalesce($8, model), kind = $9, \
               error = $10, result = $11 WHERE id = $12 AND token = $13 AND worker = $14 AND state = 'running'";
    let values = args![
        state,
        due,
        now,
        ended,
        memory.to_string(),
        attempts,
        restarts,
        model,
        kind,
        error,
        result,
        id,
        token,
        worker
    ];
    Ok(tx.execute(sql, values).await? == 1)
}

async fn lease_some(
    tx: &mut Tx<'_>,
    worker: &str,
    runs: &[String],
    (which, order): (&str, &str),
    now: i64,
    want: usize,
    lease: Duration,
) -> Result<Vec<Leased>, Error> {
    if want == 0 {
        return Ok(Vec::new());
    }
    let (others, values) = not_among(runs, args![worker, now, now.saturating_add(millis(lease))]);
    // Workers who ask at once pass over what another is just taking.
    let skip = tx.pick("", "FOR UPDATE SKIP LOCKED");
    let sql = format!(
        "UPDATE tasks SET worker_before = CASE WHEN state = 'running' THEN worker END, \
         crashes = crashes + CASE WHEN state = 'running' THEN 1 ELSE 0 END, \
         state = 'running', worker = $1, updated = $2, lease_until = $3, token = token + 1, attempts = attempts + 1 \
         WHERE id IN (SELECT id FROM tasks WHERE {which} {others} ORDER BY {order} LIMIT {want} {skip}) RETURNING *"
    );
    let rows = tx.rows(sql, values).await?;
    rows.iter().map(leased).collect()
}

/// The condition that a task is none of these, after the values that are there already.
fn not_among(ids: &[String], mut values: Vec<Value>) -> (String, Vec<Value>) {
    if ids.is_empty() {
        return (String::new(), values);
    }
    let places = places(values.len(), ids.len());
    values.extend(ids.iter().map(|id| Value::from(id.as_str())));
    (format!("AND id NOT IN ({places})"), values)
}

/// `$3, $4, $5`: so many places after so many.
fn places(after: usize, count: usize) -> String {
    let places: Vec<String> = (after + 1..=after + count).map(|place| format!("${place}")).collect();
    places.join(", ")
}

async fn extend(db: &Database, worker: String, runs: Vec<String>, lease: Duration) -> Result<Vec<Held>, Error> {
    if runs.is_empty() {
        return Ok(Vec::new());
    }
    let mut tx = db.begin(Durability::Process).await?;
    let mut values = args![now(&mut tx).await?.saturating_add(millis(lease)), worker];
    let places = places(values.len(), runs.len());
    values.extend(runs.into_iter().map(Value::from));
    let sql = format!(
        "UPDATE tasks SET lease_until = $1 WHERE worker = $2 AND state = 'running' AND id IN ({places}) \
         RETURNING id, token, wanted"
    );
    let rows = tx.rows(sql, values).await?;
    tx.commit().await?;
    let held = |row: &Row| {
        let stop = row.get::<Option<String>>("wanted")?.is_some();
        Ok(Held { id: row.get("id")?, token: row.get("token")?, stop })
    };
    rows.iter().map(held).collect()
}

async fn cancel(db: &Database, id: String) -> Result<Wish, Error> {
    let mut tx = db.begin(Durability::Power).await?;
    let now = now(&mut tx).await?;
    let sql = "UPDATE tasks SET state = 'cancelled', wanted = 'stop', ended = $1, updated = $1 \
               WHERE id = $2 AND state = 'waiting'";
    let mut wish = Wish::Done;
    if tx.execute(sql, args![now, id.as_str()]).await? == 0 {
        let sql = "UPDATE tasks SET wanted = 'stop', updated = $1 WHERE id = $2 AND state = 'running'";
        wish = match tx.execute(sql, args![now, id.as_str()]).await? {
            0 => nothing_or_unknown(&mut tx, &id).await?,
            _ => Wish::Told,
        };
    }
    tx.commit().await?;
    Ok(wish)
}

async fn retry(db: &Database, id: String) -> Result<Wish, Error> {
    let mut tx = db.begin(Durability::Power).await?;
    let now = now(&mut tx).await?;
    let sql = "UPDATE tasks SET state = 'waiting', due = $1, updated = $1, ended = NULL, result = NULL, wanted = NULL, \
               crashes = 0, restarts = 0, worker_before = NULL WHERE id = $2 AND state <> 'running'";
    let wish = match tx.execute(sql, args![now, id.as_str()]).await? {
        0 => nothing_or_unknown(&mut tx, &id).await?,
        _ => Wish::Done,
    };
    tx.commit().await?;
    Ok(wish)
}

async fn nothing_or_unknown(tx: &mut Tx<'_>, id: &str) -> Result<Wish, Error> {
    let known = tx.row("SELECT id FROM tasks WHERE id = $1", args![id]).await?;
    Ok(if known.is_some() { Wish::Nothing } else { Wish::Unknown })
}

async fn list(db: &Database, filter: TaskFilter, paging: &Paging) -> Result<Page<TaskSummary>, Error> {
    let mut conditions = Conditions::default();
    conditions.and_some("state = ?", filter.state);
    conditions.and_some("project = ?", filter.project);
    conditions.and_some("label = ?", filter.label);
    if let Some(after) = &paging.after {
        let (created, id) = (after.number(0)?, after.text(1)?.to_owned());
        conditions.and_all("(created, id) < (?, ?)", [created.into(), id.into()]);
    }
    let limit = paging.limit();
    let columns = "id, label, project, state, due, created, updated, ended, worker, wanted, attempts, restarts, crashes, \
                   model, kind, error";
    let sql =
        format!("SELECT {columns} FROM tasks {} ORDER BY created DESC, id DESC LIMIT {}", conditions.sql(), limit + 1);
    let rows = db.rows(sql, conditions.values).await?;
    let items: Vec<TaskSummary> = rows.iter().take(limit).map(summary).collect::<Result<_, _>>()?;
    let last = items.last().filter(|_| rows.len() > limit);
    let next = last.map(|last| Cursor::new([last.created.to_string(), last.id.clone()]));
    Ok(Page { items, next })
}

fn summary(row: &Row) -> Result<TaskSummary, Error> {
    Ok(TaskSummary {
        id: row.get("id")?,
        label: row.get("label")?,
        project: row.get("project")?,
        state: row.get("state")?,
        due: row.get("due")?,
        created: row.get("created")?,
        updated: row.get("updated")?,
        ended: row.get("ended")?,
        worker: row.get("worker")?,
        stopping: row.get::<Option<String>>("wanted")?.is_some() && row.get::<String>("state")? == "running",
        attempts: row.get("attempts")?,
        restarts: row.get("restarts")?,
        crashes: row.get("crashes")?,
        model: row.get("model")?,
        kind: row.get("kind")?,
        error: row.get("error")?,
    })
}

fn detail(row: &Row) -> Result<TaskDetail, Error> {
    let result: Option<String> = row.get("result")?;
    Ok(TaskDetail {
        summary: summary(row)?,
        spec: serde_json::from_str(&row.get::<String>("spec")?)?,
        memory: serde_json::from_str(&row.get::<String>("memory")?)?,
        result: result.map(|result| serde_json::from_str(&result)).transpose()?,
    })
}

fn leased(row: &Row) -> Result<Leased, Error> {
    Ok(Leased {
        id: row.get("id")?,
        token: row.get("token")?,
        crashes: row.get("crashes")?,
        attempts: row.get("attempts")?,
        restarts: row.get("restarts")?,
        worker_before: row.get("worker_before")?,
        spec: serde_json::from_str(&row.get::<String>("spec")?)?,
        memory: serde_json::from_str(&row.get::<String>("memory")?)?,
    })
}

/// The moment that counts for leases: the server's, where workers on several machines share one.
async fn now(tx: &mut Tx<'_>) -> Result<i64, Error> {
    match tx {
        Tx::Sqlite(_) => Ok(crate::now()),
        Tx::Postgres(_) => {
            let sql = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) AS now";
            let row = tx.row(sql, args![]).await?;
            row.map_or_else(|| Ok(crate::now()), |row| row.get("now"))
        }
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
