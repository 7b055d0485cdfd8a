//! Alerts from when they are raised to when they are resolved, and changes of breakers.

use std::sync::atomic::Ordering;

use serde::Serialize;
use steadfast_core::record::Record;

use crate::Store;
use crate::db::{Database, Durability, Row, Tx, args};
use crate::error::Error;
use crate::page::{Conditions, Cursor, Page, Paging};

/// Where replicas share a database, another one may still watch over what was raised this shortly before.
const OTHERS_WATCH_MS: i64 = 60 * 60 * 1000;

/// Something a person should know, or should have known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Alert {
    /// Its number.
    pub id: i64,
    /// What is the matter: `many_failures`, `fallback_rate`, `chain_failed`, `in_a_row`.
    pub alert: String,
    /// The project or model it is about.
    pub about: String,
    /// When it began, in milliseconds since the epoch.
    pub raised: i64,
    /// When it was over.
    pub resolved: Option<i64>,
    /// In words.
    pub reason: String,
    /// The request that crossed the line.
    pub request: Option<String>,
}

/// A breaker that opened, closed or let probes through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BreakerChange {
    #[serde(skip)]
    pub(crate) id: i64,
    /// When, in milliseconds since the epoch.
    pub time: i64,
    /// Whose.
    pub endpoint: String,
    /// `open`, `half_open` or `closed`.
    pub state: String,
    /// The request whose attempt did it.
    pub request: Option<String>,
}

/// Which alerts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AlertFilter {
    /// Only those that are not resolved.
    pub open: bool,
    /// Only those about this project or model.
    pub about: Option<String>,
}

impl Alert {
    fn read(row: &Row) -> Result<Self, Error> {
        Ok(Self {
            id: row.get("id")?,
            alert: row.get("alert")?,
            about: row.get("about")?,
            raised: row.get("raised")?,
            resolved: row.get("resolved")?,
            reason: row.get("reason")?,
            request: row.get("request")?,
        })
    }
}

/// An alert that begins or is over.
#[derive(Debug)]
pub(crate) struct AlertChange {
    alert: Alert,
    is_raised: bool,
}

impl AlertChange {
    pub(crate) fn of(id: i64, record: &Record) -> Self {
        let alert = Alert {
            id,
            alert: record.alert.as_deref().unwrap_or_default().to_owned(),
            about: record.about.as_deref().unwrap_or_default().to_owned(),
            raised: record.time.as_millis(),
            resolved: None,
            reason: record.reason.as_deref().unwrap_or_default().to_owned(),
            request: request(record),
        };
        Self { alert, is_raised: record.state.as_deref() == Some("raised") }
    }

    pub(crate) async fn write(&self, tx: &mut Tx<'_>) -> Result<(), Error> {
        let Alert { id, alert, about, raised, reason, request, .. } = &self.alert;
        if self.is_raised {
            let sql = "INSERT INTO alerts (id, alert, about, raised, reason, request) VALUES ($1, $2, $3, $4, $5, $6) \
                       ON CONFLICT (id) DO NOTHING";
            tx.execute(sql, args![*id, alert.as_str(), about.as_str(), *raised, reason.as_str(), request.as_deref()])
                .await?;
        } else {
            let sql = "UPDATE alerts SET resolved = $1 WHERE alert = $2 AND about = $3 AND resolved IS NULL";
            tx.execute(sql, args![*raised, alert.as_str(), about.as_str()]).await?;
        }
        Ok(())
    }
}

impl BreakerChange {
    pub(crate) fn of(id: i64, record: &Record) -> Self {
        Self {
            id,
            time: record.time.as_millis(),
            endpoint: record.about.as_deref().unwrap_or_default().to_owned(),
            state: record.state.as_deref().unwrap_or_default().to_owned(),
            request: request(record),
        }
    }

    pub(crate) async fn write(&self, tx: &mut Tx<'_>) -> Result<(), Error> {
        let sql = "INSERT INTO breaker_changes (id, time, endpoint, state, request) VALUES ($1, $2, $3, $4, $5) \
                   ON CONFLICT (id) DO NOTHING";
        tx.execute(
            sql,
            args![self.id, self.time, self.endpoint.as_str(), self.state.as_str(), self.request.as_deref()],
        )
        .await?;
        Ok(())
    }
}

impl Store {
    /// Whoever watches begins at this moment. What was raised before and is open ends with it: those who would have
    /// said that it is over are gone. Written as soon as the database is reached.
    pub fn watch_from(&self, moment: i64) {
        self.shared().watched_from.store(moment, Ordering::Relaxed);
    }

    /// The alert of this number.
    pub async fn alert(&self, id: i64) -> Result<Option<Alert>, Error> {
        self.run(move |db| async move {
            let row = db.row("SELECT * FROM alerts WHERE id = $1", args![id]).await?;
            row.as_ref().map(Alert::read).transpose()
        })
        .await
    }

    /// Alerts, newest first.
    pub async fn alerts(&self, filter: AlertFilter, paging: Paging) -> Result<Page<Alert>, Error> {
        self.run(move |db| async move { alerts(&db, filter, &paging).await }).await
    }

    /// What an endpoint's breaker did, or all of them, newest first.
    pub async fn breaker_changes(
        &self,
        endpoint: Option<String>,
        paging: Paging,
    ) -> Result<Page<BreakerChange>, Error> {
        self.run(move |db| async move { breaker_changes(&db, endpoint, &paging).await }).await
    }
}

async fn alerts(db: &Database, filter: AlertFilter, paging: &Paging) -> Result<Page<Alert>, Error> {
    let mut conditions = Conditions::default();
    if let Some(after) = &paging.after {
        conditions.and("id < ?", after.number(0)?);
    }
    if filter.open {
        conditions.literally("resolved IS NULL");
    }
    conditions.and_some("about = ?", filter.about);
    let limit = paging.limit();
    let sql = format!("SELECT * FROM alerts {} ORDER BY id DESC LIMIT {}", conditions.sql(), limit + 1);
    let rows = db.rows(sql, conditions.values).await?;
    page(&rows, limit, Alert::read)
}

async fn breaker_changes(
    db: &Database,
    endpoint: Option<String>,
    paging: &Paging,
) -> Result<Page<BreakerChange>, Error> {
    let mut conditions = Conditions::default();
    if let Some(after) = &paging.after {
        conditions.and("id < ?", after.number(0)?);
    }
    conditions.and_some("endpoint = ?", endpoint);
    let limit = paging.limit();
    let sql = format!("SELECT * FROM breaker_changes {} ORDER BY id DESC LIMIT {}", conditions.sql(), limit + 1);
    let rows = db.rows(sql, conditions.values).await?;
    page(&rows, limit, |row| {
        Ok(BreakerChange {
            id: row.get("id")?,
            time: row.get("time")?,
            endpoint: row.get("endpoint")?,
            state: row.get("state")?,
            request: row.get("request")?,
        })
    })
}

/// Ends what was raised before this moment and is open.
pub(crate) async fn end_what_was_left(db: &Database, moment: i64) -> Result<(), Error> {
    let mut tx = db.begin(Durability::Process).await?;
    let before = match tx {
        Tx::Sqlite(_) => moment,
        Tx::Postgres(_) => moment - OTHERS_WATCH_MS,
    };
    tx.execute("UPDATE alerts SET resolved = $1 WHERE resolved IS NULL AND raised < $2", args![moment, before]).await?;
    tx.commit().await
}

/// Makes a page of one row more than it holds.
fn page<T>(rows: &[Row], limit: usize, read: impl Fn(&Row) -> Result<T, Error>) -> Result<Page<T>, Error> {
    let items: Vec<T> = rows.iter().take(limit).map(read).collect::<Result<_, _>>()?;
    let last = rows.get(limit - 1).filter(|_| rows.len() > limit);
    let next = last.map(|row| row.get::<i64>("id")).transpose()?;
    Ok(Page { items, next: next.map(|id| Cursor::new([id.to_string()])) })
}

fn request(record: &Record) -> Option<String> {
    (!record.request.is_empty()).then(|| record.request.to_string())
}
