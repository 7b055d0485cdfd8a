//! What people write: policies, projects, keys, budgets, settings, as JSON with a version.
//!
//! Two people who change the same document at once cannot overwrite each other unseen: whoever writes
//! says which version they read. Every change has a number that grows over all documents, so that
//! another replica asks "what changed since" instead of reading everything. A document that was put
//! lasts when [`Store::put`] returns.

use serde::Serialize;
use serde_json::Value as Json;

use crate::Store;
use crate::db::{Database, Durability, Row, Tx, args};
use crate::error::Error;
use crate::page::{Conditions, Cursor, Page, Paging};

/// A document.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Document {
    /// What sort it is: `policy`, `project`, `key`, `budget`, `setting`.
    pub space: String,
    /// Its name within the sort.
    pub name: String,
    /// How often it has been written; the first version is 1.
    pub version: i64,
    /// The number of its last change, over all documents.
    pub change: i64,
    /// When it was last written, in milliseconds since the epoch.
    pub updated: i64,
    /// What it says; none where it was deleted.
    pub body: Option<Json>,
}

/// What must be there for a document to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Whatever is there.
    Anything,
    /// Nothing: it is new, or was deleted.
    Nothing,
    /// This version.
    Version(i64),
}

/// Why a document was not written.
#[derive(Debug, thiserror::Error)]
pub enum PutError {
    /// Somebody else wrote it in between, or it is not there.
    #[error("somebody else changed it in between")]
    Conflict(Option<Box<Document>>),
    /// The store could not.
    #[error(transparent)]
    Store(#[from] Error),
}

impl Store {
    /// Writes a document and says how it stands then.
    pub async fn put(&self, space: &str, name: &str, body: Json, expected: Expected) -> Result<Document, PutError> {
        self.change(space, name, Some(body), expected).await
    }

    /// Deletes a document. Its versions count on, should it be written again.
    pub async fn delete(&self, space: &str, name: &str, expected: Expected) -> Result<Document, PutError> {
        self.change(space, name, None, expected).await
    }

    /// Reads a document that is not deleted.
    pub async fn document(&self, space: &str, name: &str) -> Result<Option<Document>, Error> {
        let (space, name) = (space.to_owned(), name.to_owned());
        self.run(move |db| async move {
            let sql = "SELECT * FROM documents WHERE space = $1 AND name = $2 AND body IS NOT NULL";
            db.row(sql, args![space, name]).await?.as_ref().map(read).transpose()
        })
        .await
    }

    /// The documents of one sort that are not deleted, by name.
    pub async fn documents(&self, space: &str, paging: Paging) -> Result<Page<Document>, Error> {
        let space = space.to_owned();
        self.run(move |db| async move { documents(&db, space, &paging).await }).await
    }

    /// What changed after a change, deleted ones included, oldest first, 200 at most. Ask again with the
    /// `change` of the last of them.
    pub async fn changes(&self, after: i64) -> Result<Vec<Document>, Error> {
        self.run(move |db| async move {
            let sql = "SELECT * FROM documents WHERE change > $1 ORDER BY change LIMIT 200";
            db.rows(sql, args![after]).await?.iter().map(read).collect()
        })
        .await
    }

    async fn change(
        &self,
        space: &str,
        name: &str,
        body: Option<Json>,
        expected: Expected,
    ) -> Result<Document, PutError> {
        let (space, name) = (space.to_owned(), name.to_owned());
        let now = crate::now();
        self.run(move |db| async move {
            let mut is_repeated = false;
            loop {
                let mut tx = db.begin(Durability::Power).await?;
                let wanted = Wanted { body: body.clone(), expected, now, is_repeated };
                let changed = change(&mut tx, space.clone(), name.clone(), wanted).await?;
                match tx.commit().await {
                    // Nobody knows whether it was made. Made once more, it is recognised.
                    Err(error) if error.may_pass() && !is_repeated => is_repeated = true,
                    done => return done.map(|()| changed),
                }
            }
        })
        .await?
        .map_err(|current| PutError::Conflict(current.map(Box::new)))
    }
}

/// How a document is to be.
struct Wanted {
    body: Option<Json>,
    expected: Expected,
    now: i64,
    /// It may be so already: nobody knows whether this very change was made.
    is_repeated: bool,
}

/// Writes where what is there is what was expected; otherwise returns what is there.
async fn change(
    tx: &mut Tx<'_>,
    space: String,
    name: String,
    wanted: Wanted,
) -> Result<Result<Document, Option<Document>>, Error> {
    let Wanted { body, expected, now, is_repeated } = wanted;
    // First the counter: whoever holds it is alone with the documents until the commit, and changes
    // become visible in the order of their numbers.
    let counted =
        tx.row("UPDATE counters SET value = value + 1 WHERE name = 'document_change' RETURNING value", args![]);
    let number = match counted.await? {
        Some(row) => row.get("value")?,
        None => return Err(Error::Unreadable("its counter of changes is gone".to_owned())),
    };
    let sql = "SELECT * FROM documents WHERE space = $1 AND name = $2";
    let there = tx.row(sql, args![space.as_str(), name.as_str()]).await?.as_ref().map(read).transpose()?;
    if let Some(there) = there.as_ref().filter(|there| is_repeated && there.updated == now && there.body == body) {
        return Ok(Ok(there.clone()));
    }
    let version = there.as_ref().map_or(0, |there| there.version);
    let alive = there.filter(|there| there.body.is_some());
    let fits = match expected {
        Expected::Anything => body.is_some() || alive.is_some(),
        Expected::Nothing => alive.is_none() && body.is_some(),
        Expected::Version(wanted) => alive.as_ref().is_some_and(|there| there.version == wanted),
    };
    if !fits {
        return Ok(Err(alive));
    }
    let document = Document { space, name, version: version + 1, change: number, updated: now, body };
    let sql = "INSERT INTO documents (space, name, version, change, updated, body) VALUES ($1, $2, $3, $4, $5, $6) \
               ON CONFLICT (space, name) DO UPDATE SET version = excluded.version, change = excluded.change, \
               updated = excluded.updated, body = excluded.body";
    let text = document.body.as_ref().map(Json::to_string);
    let Document { space, name, .. } = &document;
    tx.execute(sql, args![space.as_str(), name.as_str(), version + 1, number, now, text]).await?;
    Ok(Ok(document))
}

async fn documents(db: &Database, space: String, paging: &Paging) -> Result<Page<Document>, Error> {
    let mut conditions = Conditions::default();
    conditions.and("space = ?", space);
    conditions.literally("body IS NOT NULL");
    if let Some(after) = &paging.after {
        conditions.and("name > ?", after.text(0)?);
    }
    let limit = paging.limit();
    let sql = format!("SELECT * FROM documents {} ORDER BY name LIMIT {}", conditions.sql(), limit + 1);
    let mut items: Vec<Document> =
        db.rows(sql, conditions.values).await?.iter().map(read).collect::<Result<_, Error>>()?;
    let is_more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| is_more).map(|last| Cursor::new([last.name.clone()]));
    Ok(Page { items, next })
}

fn read(row: &Row) -> Result<Document, Error> {
    let body: Option<String> = row.get("body")?;
    Ok(Document {
        space: row.get("space")?,
        name: row.get("name")?,
        version: row.get("version")?,
        change: row.get("change")?,
        updated: row.get("updated")?,
        body: body.map(|body| serde_json::from_str(&body)).transpose()?,
    })
}
