//! Finding requests: the list behind every bar of the analytics.
//!
//! A page walks the newest rows of one index and keeps those that fit. It looks at a bounded number of
//! rows however rare they are, so that no question costs more the more is stored; where the bound is
//! reached first, the page is short and says where to go on.

use crate::db::{Database, Row};
use crate::error::Error;
use crate::id;
use crate::page::{Conditions, Cursor, Page, Paging};
use crate::requests::{RequestSummary, SUMMARY};

/// Rows that one step of a page looks at.
const LOOK_MAX: usize = 5_000;

/// Steps of one page.
const STEPS_MAX: usize = 4;

/// Which requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Who pays.
    pub project: Option<String>,
    /// The conversation.
    pub session: Option<String>,
    /// The program that asked.
    pub client: Option<String>,
    /// How it ended; `running` for those that did not.
    pub outcome: Option<String>,
    /// Only requests in which an attempt failed; `kind`, `model`, `endpoint` and `pattern` are then those of
    /// the failed attempt.
    pub failed: bool,
    /// How an attempt failed; means `failed`.
    pub kind: Option<String>,
    /// The model asked for or served by.
    pub model: Option<String>,
    /// The endpoint that served.
    pub endpoint: Option<String>,
    /// The shape of what was asked.
    pub pattern: Option<String>,
    /// Not before, in milliseconds since the epoch.
    pub from: Option<i64>,
    /// Before, in milliseconds since the epoch.
    pub to: Option<i64>,
}

/// Which rows a step looks at, and which of them it keeps.
struct Search {
    table: &'static str,
    looked_at: Conditions,
    /// What is asked of the failed attempts found.
    kept: Vec<(&'static str, String)>,
    /// What is asked of their requests.
    of_request: Vec<(&'static str, String)>,
    /// Only those that are not over.
    is_running: bool,
}

/// A page of summaries.
pub(super) async fn requests(db: &Database, filter: &Filter, paging: &Paging) -> Result<Page<RequestSummary>, Error> {
    let limit = paging.limit();
    let mut before = paging.after.as_ref().map(|after| after.number(0)).transpose()?;
    let mut items = Vec::new();
    for _ in 0..STEPS_MAX {
        let (rows, next) = step(db, filter, before, limit - items.len(), SUMMARY).await?;
        for row in &rows {
            items.push(RequestSummary::read(row)?);
        }
        before = next;
        if before.is_none() || items.len() == limit {
            break;
        }
    }
    Ok(Page { items, next: before.map(|id| Cursor::new([id.to_string()])) })
}

/// Some rows that fit, newest first, and where to go on; none after the last.
pub(crate) async fn step(
    db: &Database,
    filter: &Filter,
    before: Option<i64>,
    limit: usize,
    columns: &str,
) -> Result<(Vec<Row>, Option<i64>), Error> {
    let search = Search::new(filter, before);
    let mut rows = search.rows(db, limit + 1, columns).await?;
    if rows.len() > limit {
        rows.truncate(limit);
        let last = rows.last().map(|row| row.get("id")).transpose()?;
        return Ok((rows, last));
    }
    let next = search.end(db).await?;
    Ok((rows, next))
}

impl Search {
    fn new(filter: &Filter, before: Option<i64>) -> Self {
        let by_failure = filter.failed || filter.kind.is_some();
        let wanted = |column, value: &Option<String>| value.clone().map(|value| (column, value));
        let mut of_request: Vec<(&'static str, String)> = Vec::new();
        of_request.extend(wanted("session = ?", &filter.session));
        of_request.extend(wanted("client = ?", &filter.client));
        of_request.extend(wanted("outcome = ?", &filter.outcome.clone().filter(|outcome| outcome != "running")));
        let mut of_place: Vec<(&'static str, String)> = Vec::new();
        of_place.extend(wanted("pattern = ?", &filter.pattern));
        of_place.extend(wanted("kind = ?", &filter.kind));
        let (model, endpoint) = match by_failure {
            true => ("model = ?", "endpoint = ?"),
            false => ("(model = ? OR served_model = ?)", "served_endpoint = ?"),
        };
        of_place.extend(wanted(model, &filter.model));
        of_place.extend(wanted(endpoint, &filter.endpoint));
        of_place.extend(wanted("project = ?", &filter.project));

        let mut looked_at = Conditions::default();
        looked_at.and_some("id < ?", before);
        looked_at.and_some("id >= ?", filter.from.map(id::first_at));
        looked_at.and_some("id < ?", filter.to.map(id::first_at));
        let is_running = filter.outcome.as_deref() == Some("running");
        if is_running && !by_failure {
            looked_at.literally("outcome IS NULL");
        }
        let table = if by_failure { "failures" } else { "requests" };
        let indexed: &[&str] = match by_failure {
            // Any of them leads; the first is likely the rarest.
            true => &["pattern = ?", "kind = ?", "model = ?", "endpoint = ?", "project = ?"],
            false => &["session = ?", "outcome = ?", "project = ?"],
        };
        let mut kept = of_place;
        if !by_failure {
            kept.append(&mut of_request);
        }
        let lead = indexed.iter().find_map(|lead| kept.iter().position(|(column, _)| column == lead));
        if let Some((column, value)) = lead.map(|lead| kept.swap_remove(lead)) {
            // SQLite sees that its index holds them only where that is written as the index has it.
            if column == "outcome = ?" && value != "succeeded" {
                looked_at.literally("outcome <> 'succeeded'");
            }
            looked_at.and(column, value);
        }
        Self { table, looked_at, kept, of_request, is_running }
    }

    /// The rows that fit, one page of them at most.
    async fn rows(&self, db: &Database, limit: usize, columns: &str) -> Result<Vec<Row>, Error> {
        let look = self.look();
        let mut kept = Conditions::after(self.looked_at.values.clone());
        for (condition, value) in &self.kept {
            kept.and(condition, value.as_str());
        }
        let table = self.table;
        let sql = if table == "failures" {
            let mut of_request = Conditions::after(std::mem::take(&mut kept.values));
            for (condition, value) in &self.of_request {
                of_request.and(condition, value.as_str());
            }
            if self.is_running {
                of_request.literally("outcome IS NULL");
            }
            let ids = format!(
                "SELECT DISTINCT id FROM (SELECT id, pattern, kind, model, endpoint, project FROM failures {look}) AS f {}",
                kept.sql()
            );
            kept.values = std::mem::take(&mut of_request.values);
            let also = of_request.sql().replacen("WHERE", "AND", 1);
            format!("SELECT {columns} FROM requests WHERE id IN ({ids}) {also} ORDER BY id DESC LIMIT {limit}")
        } else if kept.is_empty() {
            let conditions = self.looked_at.sql();
            format!("SELECT {columns} FROM requests {conditions} ORDER BY id DESC LIMIT {limit}")
        } else {
            let conditions = kept.sql();
            format!(
                "SELECT * FROM (SELECT {columns} FROM requests {look}) AS r {conditions} ORDER BY id DESC LIMIT {limit}"
            )
        };
        db.rows(sql, kept.values).await
    }

    /// Where the next step begins; none where this one saw everything.
    async fn end(&self, db: &Database) -> Result<Option<i64>, Error> {
        let (table, look) = (self.table, self.look());
        let sql = format!("SELECT min(id) AS id, count(*) AS looked FROM (SELECT id FROM {table} {look}) AS seen");
        let Some(row) = db.row(sql, self.looked_at.values.clone()).await? else { return Ok(None) };
        let is_more = row.count("looked")? >= LOOK_MAX as u64;
        Ok(row.get::<Option<i64>>("id")?.filter(|_| is_more))
    }

    fn look(&self) -> String {
        format!("{} ORDER BY id DESC LIMIT {LOOK_MAX}", self.looked_at.sql())
    }
}
