//! Sessions that moved along their ladder: by a policy, or by a person.

use serde::Serialize;
use steadfast_core::record::Record;

use crate::Store;
use crate::db::{Database, Durability, Tx, args};
use crate::error::Error;
use crate::fold::Draft;

/// No session shows more climbs.
const SHOWN_MAX: usize = 200;

/// A session that moved to another model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Escalation {
    /// The session.
    pub session: String,
    /// Whose it is.
    pub project: String,
    /// When, in milliseconds since the epoch.
    pub time: i64,
    /// `climbed` or `rolled_back`.
    pub state: String,
    /// `manual`, `auto_after_retries` or `context_limit`.
    pub reason: String,
    /// The model before.
    pub from_model: String,
    /// The model after.
    pub to_model: String,
    /// An average turn of this session on the old model, in millionths of a dollar.
    pub from_usd_micros: Option<u64>,
    /// The same on the new one.
    pub to_usd_micros: Option<u64>,
    /// The request that made the policy climb.
    pub request: Option<String>,
}

impl Escalation {
    /// A policy's climb, from the decision that says so.
    pub(crate) fn by_policy(record: &Record, draft: &Draft) -> Option<Self> {
        let climb = record.escalation.as_ref()?;
        // A request without a session of its own has one that ends with it.
        let session = draft.session.as_ref()?;
        Some(Self {
            session: session.to_string(),
            project: draft.project.to_string(),
            state: "climbed".to_owned(),
            request: Some(record.request.to_string()),
            ..Self::between(record, &climb.reason)
        })
    }

    /// A person's, from the line about it. The control API has committed it before; this finds it there.
    pub(crate) fn by_person(record: &Record) -> Option<Self> {
        let session = record.about.as_ref().or(record.session.as_ref())?;
        let reason = record.escalation.as_ref().map_or("manual", |climb| &climb.reason);
        Some(Self {
            session: session.to_string(),
            project: record.project.as_deref().unwrap_or("default").to_owned(),
            state: record.state.as_deref().unwrap_or("climbed").to_owned(),
            request: (!record.request.is_empty()).then(|| record.request.to_string()),
            ..Self::between(record, reason)
        })
    }

    fn between(record: &Record, reason: &str) -> Self {
        let model = |place: &Option<steadfast_core::record::Place>| {
            place.as_ref().map(|place| place.model.to_string()).unwrap_or_default()
        };
        let climb = record.escalation.as_ref();
        Self {
            time: record.time.as_millis(),
            reason: reason.to_owned(),
            from_model: model(&record.from),
            to_model: model(&record.to),
            from_usd_micros: climb.and_then(|climb| climb.from_usd_micros),
            to_usd_micros: climb.and_then(|climb| climb.to_usd_micros),
            ..Self::default()
        }
    }

    /// The same climb (session, moment and direction) is written once, whoever tells of it first.
    pub(crate) async fn write(&self, tx: &mut Tx<'_>) -> Result<(), Error> {
        let sql = "INSERT INTO escalations (session, time, state, project, reason, from_model, to_model, \
                   from_usd_micros, to_usd_micros, request) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
                   ON CONFLICT (session, time, state) DO NOTHING";
        let values = args![
            self.session.as_str(),
            self.time,
            self.state.as_str(),
            self.project.as_str(),
            self.reason.as_str(),
            self.from_model.as_str(),
            self.to_model.as_str(),
            self.from_usd_micros,
            self.to_usd_micros,
            self.request.as_deref(),
        ];
        tx.execute(sql, values).await?;
        Ok(())
    }
}

impl Store {
    /// Commits a person's climb or way back; it lasts when this returns.
    pub async fn escalate(&self, escalation: Escalation) -> Result<(), Error> {
        self.run(move |db| async move {
            let mut tx = db.begin(Durability::Power).await?;
            escalation.write(&mut tx).await?;
            tx.commit().await
        })
        .await
    }

    /// The climbs of a session, newest first, 200 at most.
    pub async fn escalations(&self, session: String) -> Result<Vec<Escalation>, Error> {
        self.run(move |db| async move { of_session(&db, &session).await }).await
    }
}

pub(crate) async fn of_session(db: &Database, session: &str) -> Result<Vec<Escalation>, Error> {
    let sql = "SELECT * FROM escalations WHERE session = $1 ORDER BY time DESC LIMIT $2";
    let rows = db.rows(sql, args![session, SHOWN_MAX]).await?;
    let read = |row: &crate::db::Row| {
        let usd = |column| Ok::<_, Error>(row.get::<Option<i64>>(column)?.and_then(|usd| u64::try_from(usd).ok()));
        Ok(Escalation {
            session: row.get("session")?,
            project: row.get("project")?,
            time: row.get("time")?,
            state: row.get("state")?,
            reason: row.get("reason")?,
            from_model: row.get("from_model")?,
            to_model: row.get("to_model")?,
            from_usd_micros: usd("from_usd_micros")?,
            to_usd_micros: usd("to_usd_micros")?,
            request: row.get("request")?,
        })
    };
    rows.iter().map(read).collect()
}
