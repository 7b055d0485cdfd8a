//! Writes what the fold handed out: rows, failures, sessions and roll-ups in one transaction, so that
//! they agree whenever the process dies.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use steadfast_core::kind::FailureKind;

use crate::db::{Database, Durability, Tx, Value, args};
use crate::error::Error;
use crate::fold::{Draft, Item};
use crate::insert::Insert;
use crate::rollup::{Dimension, Key, Known, Measures, Share, Sums};

const REQUEST_COLUMNS: &[&str] = &[
    "id",
    "request",
    "started",
    "ended",
    "session",
    "project",
    "client",
    "agent",
    "pattern",
    "model",
    "served_model",
    "served_endpoint",
    "outcome",
    "kind",
    "attempts",
    "failures",
    "fallbacks",
    "latency_ms",
    "input_tokens",
    "output_tokens",
    "usd_micros",
    "failed_usd_micros",
    "events",
    "records",
];

const FAILURE_COLUMNS: &[&str] = &["id", "number", "time", "project", "kind", "model", "endpoint", "pattern"];

const SESSION_COLUMNS: &[&str] = &[
    "session",
    "project",
    "client",
    "agent",
    "model",
    "outcome",
    "kind",
    "first",
    "last",
    "requests",
    "succeeded",
    "gave_up",
    "attempts",
    "failures",
    "fallbacks",
    "input_tokens",
    "output_tokens",
    "usd_micros",
    "failed_usd_micros",
];

/// What a session's sums are called, in the order of the columns.
const SESSION_SUMS: &[&str] = &[
    "requests",
    "succeeded",
    "gave_up",
    "attempts",
    "failures",
    "fallbacks",
    "input_tokens",
    "output_tokens",
    "usd_micros",
    "failed_usd_micros",
];

/// What a batch is called, so that the database knows it again: sums must not be added twice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchName {
    /// One opening of the store.
    pub(crate) writer: i64,
    /// Counts the batches of that opening.
    pub(crate) number: i64,
}

impl BatchName {
    /// Says whether the batch is new; one of this name that is neither committed nor rolled back yet is waited for.
    async fn enter(self, tx: &mut Tx<'_>) -> Result<bool, Error> {
        let sql = "INSERT INTO writers (id, batch, time) VALUES ($1, $2, $3) ON CONFLICT (id) \
                   DO UPDATE SET batch = excluded.batch, time = excluded.time WHERE writers.batch < excluded.batch";
        Ok(tx.execute(sql, args![self.writer, self.number, crate::now()]).await? > 0)
    }
}

/// Writes a batch in one transaction, unless that has been done.
pub(crate) async fn write(db: &Database, name: BatchName, items: &[Item], known: &mut Known) -> Result<(), Error> {
    // What is refused here is not the items' fault: they must not be written one by one, under other names.
    let away = |error: Error| Error::Away(error.to_string());
    let mut tx = db.begin(Durability::Process).await.map_err(away)?;
    // First of all, so that its row is locked by whatever is committed later.
    if !name.enter(&mut tx).await.map_err(away)? {
        return tx.commit().await;
    }
    for item in items {
        match item {
            Item::Request(_) => {}
            Item::Alert(change) => change.write(&mut tx).await?,
            Item::Breaker(change) => change.write(&mut tx).await?,
            Item::Escalation(escalation) => escalation.write(&mut tx).await?,
        }
    }
    for insert in inserts(items, known) {
        insert.write(&mut tx).await?;
    }
    tx.commit().await
}

/// Everything about the requests of a batch.
fn inserts<'a>(items: &'a [Item], known: &mut Known) -> [Insert; 4] {
    let of_request = |item: &'a Item| match item {
        Item::Request(draft) => Some(&**draft),
        Item::Alert(_) | Item::Breaker(_) | Item::Escalation(_) => None,
    };
    let drafts: Vec<&Draft> = items.iter().filter_map(of_request).collect();
    // The same row twice in one statement is an error on PostgreSQL; the later one knows more.
    let newest: BTreeMap<i64, &Draft> = drafts.iter().map(|draft| (draft.id, *draft)).collect();
    let mut sums = Sums::default();
    let mut sessions = BTreeMap::new();
    for draft in &drafts {
        let share = Share::of(draft);
        if let Some(session) = &draft.session {
            let change = sessions.entry((Arc::clone(session), Arc::clone(&draft.project)));
            change.or_insert_with(|| SessionChange::new(draft)).add(draft, &share);
        }
        sums.add(&draft.project, draft.started, share, draft.counted.as_deref());
    }
    let newest = newest.into_values();
    [requests(newest), failures(&drafts), update_sessions(&sessions), rollups(sums.rows(known))]
}

fn requests<'a>(drafts: impl Iterator<Item = &'a Draft>) -> Insert {
    let values = drafts.map(|draft| {
        let place = draft.served.as_ref();
        args![
            draft.id,
            &*draft.request,
            draft.started,
            draft.ended,
            draft.session.as_deref(),
            &*draft.project,
            draft.client.as_deref(),
            draft.agent.as_deref(),
            draft.pattern.as_deref(),
            draft.model.as_deref(),
            place.map(|place| &*place.model),
            place.map(|place| &*place.endpoint),
            draft.outcome.as_deref(),
            draft.kind().map(FailureKind::as_str),
            draft.attempts,
            draft.failures.len(),
            draft.fallbacks,
            draft.latency_ms,
            draft.input_tokens,
            draft.output_tokens,
            draft.usd_micros,
            draft.failed_usd_micros,
            draft.events,
            draft.records.as_str(),
        ]
    });
    let mut update = String::from("(id) DO UPDATE SET ");
    for column in &REQUEST_COLUMNS[1..] {
        let _ = write!(update, "{column} = excluded.{column}, ");
    }
    Insert::new("requests", REQUEST_COLUMNS, values, update.trim_end_matches(", "))
}

fn failures(drafts: &[&Draft]) -> Insert {
    let values = drafts.iter().flat_map(|draft| {
        let new = draft.failures.iter().enumerate().skip(draft.failures_written);
        new.map(|(number, failed)| {
            let place = failed.place.as_ref();
            args![
                draft.id,
                number + 1,
                failed.time,
                &*draft.project,
                failed.kind.as_str(),
                place.map_or("", |place| &place.model),
                place.map_or("", |place| &place.endpoint),
                draft.pattern.as_deref().unwrap_or_default(),
            ]
        })
    });
    Insert::new("failures", FAILURE_COLUMNS, values, "(id, number) DO NOTHING")
}

/// What a batch adds to a session.
#[derive(Debug)]
struct SessionChange<'a> {
    newest: &'a Draft,
    first: i64,
    last: i64,
    sums: Measures,
}

impl<'a> SessionChange<'a> {
    fn new(draft: &'a Draft) -> Self {
        Self { newest: draft, first: draft.started, last: draft.last, sums: Measures::default() }
    }

    fn add(&mut self, draft: &'a Draft, share: &Share) {
        if draft.id >= self.newest.id {
            self.newest = draft;
        }
        self.first = self.first.min(draft.started);
        self.last = self.last.max(draft.last);
        self.sums.add(&share.total());
        if let Some(counted) = &draft.counted {
            self.sums.subtract(&counted.total());
        }
    }

    fn values(&self, session: &str, project: &str) -> Vec<Value> {
        let Self { newest, first, last, sums } = self;
        let model = newest.served.as_ref().map(|place| &place.model).or(newest.model.as_ref());
        args![
            session,
            project,
            newest.client.as_deref(),
            newest.agent.as_deref(),
            model.map(|model| &**model),
            newest.outcome.as_deref(),
            newest.kind().map(FailureKind::as_str),
            *first,
            *last,
            sums.requests,
            sums.succeeded,
            sums.gave_up,
            sums.attempts,
            sums.failures,
            sums.fallbacks,
            sums.input_tokens,
            sums.output_tokens,
            sums.usd_micros,
            sums.failed_usd_micros,
        ]
    }
}

fn update_sessions(sessions: &BTreeMap<(Arc<str>, Arc<str>), SessionChange<'_>>) -> Insert {
    let values = sessions.iter().map(|((session, project), change)| change.values(session, project));
    let mut update = String::from(
        "(session, project) DO UPDATE SET outcome = excluded.outcome, \
         client = coalesce(excluded.client, sessions.client), agent = coalesce(excluded.agent, sessions.agent), \
         model = coalesce(excluded.model, sessions.model), kind = coalesce(excluded.kind, sessions.kind), \
         first = CASE WHEN excluded.first < sessions.first THEN excluded.first ELSE sessions.first END, \
         last = CASE WHEN excluded.last > sessions.last THEN excluded.last ELSE sessions.last END",
    );
    for column in SESSION_SUMS {
        let _ = write!(update, ", {column} = sessions.{column} + excluded.{column}");
    }
    Insert::new("sessions", SESSION_COLUMNS, values, &update)
}

fn rollups(rows: Vec<(Key, Measures)>) -> Insert {
    let mut columns = vec!["project", "grain", "bucket", "dimension", "value"];
    columns.extend(Measures::COLUMNS);
    let mut update = String::from("(project, grain, bucket, dimension, value) DO UPDATE SET ");
    for column in Measures::COLUMNS {
        let _ = write!(update, "{column} = rollups.{column} + excluded.{column}, ");
    }
    let values = rows.into_iter().map(|(key, measures)| {
        let mut values = args![&*key.project, key.grain, key.bucket, key.dimension.as_str(), &*key.value];
        values.extend(measures.values().into_iter().map(Value::from));
        values
    });
    Insert::new("rollups", &columns, values, update.trim_end_matches(", "))
}

/// Learns which values have a sum of their own already.
pub(crate) async fn learn(db: &Database, known: &mut Known, from: i64, to: i64) -> Result<(), Error> {
    let sql = "SELECT project, grain, bucket, dimension, value FROM rollups WHERE bucket >= $1 AND bucket < $2";
    for row in db.rows(sql, args![from, to]).await? {
        let dimension: String = row.get("dimension")?;
        let Some(dimension) = Dimension::ALL.into_iter().find(|known| known.as_str() == dimension) else { continue };
        known.learn(&Key {
            project: row.get::<String>("project")?.into(),
            grain: row.get("grain")?,
            bucket: row.get("bucket")?,
            dimension,
            value: row.get::<String>("value")?.into(),
        });
    }
    Ok(())
}
