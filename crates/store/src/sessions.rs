//! Sessions: conversations, with what they took and where they stand.

use serde::Serialize;

use crate::Store;
use crate::db::{Database, Row};
use crate::error::Error;
use crate::escalations::{self, Escalation};
use crate::page::{Conditions, Cursor, PAGE_MAX, Page, Paging};

/// A session in a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SessionSummary {
    /// Its name, as the client gave it.
    pub session: String,
    /// Whose it is.
    pub project: String,
    /// The program that asks.
    pub client: Option<String>,
    /// The agent that asked last.
    pub agent: Option<String>,
    /// The model that served last, or was asked for last.
    pub model: Option<String>,
    /// How its last request ended; none while it runs.
    pub outcome: Option<String>,
    /// How its last failed attempt failed.
    pub kind: Option<String>,
    /// When it began, in milliseconds since the epoch.
    pub first: i64,
    /// When something last happened in it.
    pub last: i64,
    /// Requests.
    pub requests: u64,
    /// Of them, served.
    pub succeeded: u64,
    /// Of them, failed for good.
    pub gave_up: u64,
    /// Attempts made.
    pub attempts: u64,
    /// Of them, failed.
    pub failures: u64,
    /// Requests that went to another model than the one asked for.
    pub fallbacks: u64,
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// What it cost, in millionths of a dollar.
    pub usd_micros: u64,
    /// Of it, on attempts that failed.
    pub failed_usd_micros: u64,
}

/// A session with its climbs. Its requests are a list of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionDetail {
    /// Where it stands.
    #[serde(flatten)]
    pub summary: SessionSummary,
    /// Its climbs, newest first.
    pub escalations: Vec<Escalation>,
}

/// Which sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionFilter {
    /// Whose.
    pub project: Option<String>,
    /// The program that asks.
    pub client: Option<String>,
    /// Only sessions in which an attempt failed.
    pub failed: bool,
    /// Only sessions with this text in their name, project, program, agent or model, in capitals or not.
    pub search: Option<String>,
}

impl SessionSummary {
    /// Where the list goes on after it.
    fn place(&self) -> Cursor {
        Cursor::new([self.last.to_string(), self.session.clone(), self.project.clone()])
    }

    fn read(row: &Row) -> Result<Self, Error> {
        Ok(Self {
            session: row.get("session")?,
            project: row.get("project")?,
            client: row.get("client")?,
            agent: row.get("agent")?,
            model: row.get("model")?,
            outcome: row.get("outcome")?,
            kind: row.get("kind")?,
            first: row.get("first")?,
            last: row.get("last")?,
            requests: row.count("requests")?,
            succeeded: row.count("succeeded")?,
            gave_up: row.count("gave_up")?,
            attempts: row.count("attempts")?,
            failures: row.count("failures")?,
            fallbacks: row.count("fallbacks")?,
            input_tokens: row.count("input_tokens")?,
            output_tokens: row.count("output_tokens")?,
            usd_micros: row.count("usd_micros")?,
            failed_usd_micros: row.count("failed_usd_micros")?,
        })
    }
}

impl Store {
    /// Sessions, those in which something happened last first.
    pub async fn sessions(&self, filter: SessionFilter, paging: Paging) -> Result<Page<SessionSummary>, Error> {
        self.run(move |db| async move { sessions(&db, filter, &paging).await }).await
    }

    /// One session; where several projects have one of this name and none is given, the last one to do something.
    pub async fn session(&self, session: &str, project: Option<&str>) -> Result<Option<SessionDetail>, Error> {
        let (session, project) = (session.to_owned(), project.map(str::to_owned));
        self.run(move |db| async move { one(&db, &session, project).await }).await
    }
}

async fn one(db: &Database, session: &str, project: Option<String>) -> Result<Option<SessionDetail>, Error> {
    let mut conditions = Conditions::default();
    conditions.and("session = ?", session);
    conditions.and_some("project = ?", project);
    let sql = format!("SELECT * FROM sessions {} ORDER BY last DESC LIMIT 1", conditions.sql());
    let Some(row) = db.row(sql, conditions.values).await? else { return Ok(None) };
    let summary = SessionSummary::read(&row)?;
    let mut escalations = escalations::of_session(db, session).await?;
    escalations.retain(|escalation| escalation.project == summary.project);
    Ok(Some(SessionDetail { summary, escalations }))
}

/// Rows that one step of a page looks at.
const LOOK_MAX: usize = 2_000;

/// Steps of one page.
const STEPS_MAX: usize = 5;

/// Newest first. Several may have done something in the same millisecond, in several projects under one name.
const ORDER: &str = "ORDER BY last DESC, session, project";

/// A page looks at a bounded number of sessions, as one of requests does; where they are looked through first, it is
/// short and says where to go on. What is searched for by its whole name is found at once, however far back it lies.
async fn sessions(db: &Database, filter: SessionFilter, paging: &Paging) -> Result<Page<SessionSummary>, Error> {
    let limit = paging.limit();
    let mut after = paging.after.clone();
    let mut named = match (&filter.search, &after) {
        (Some(name), None) => of_name(db, &filter, name).await?,
        _ => Vec::new(),
    };
    let mut items = Vec::new();
    for _ in 0..STEPS_MAX {
        let (more, next) = step(db, &filter, after.as_ref(), limit - items.len()).await?;
        items.extend(more);
        after = next;
        if after.is_none() || items.len() == limit {
            break;
        }
    }
    named.append(&mut items);
    Ok(Page { items: named, next: after })
}

/// Those of exactly this name, one for each project that has it, on top of what a page holds.
async fn of_name(db: &Database, filter: &SessionFilter, name: &str) -> Result<Vec<SessionSummary>, Error> {
    let mut fitting = Conditions::default();
    fitting.and("session = ?", name);
    fitting.and_some("project = ?", filter.project.as_deref());
    filter.keep(&mut fitting);
    let sql = format!("SELECT * FROM sessions {} {ORDER} LIMIT {PAGE_MAX}", fitting.sql());
    db.rows(sql, fitting.values).await?.iter().map(SessionSummary::read).collect()
}

impl SessionFilter {
    /// What is asked of a session beyond its project.
    fn keep(&self, kept: &mut Conditions) {
        kept.and_some("client = ?", self.client.as_deref());
        if self.failed {
            kept.literally("failures > 0");
        }
    }
}

/// What `LIKE` takes for this text anywhere, with its own signs taken literally.
fn anywhere(text: &str) -> String {
    let mut like = String::from("%");
    for sign in text.to_lowercase().chars() {
        if matches!(sign, '!' | '%' | '_') {
            like.push('!');
        }
        like.push(sign);
    }
    like + "%"
}

/// Some sessions that fit, and where to go on; none after the last.
async fn step(
    db: &Database,
    filter: &SessionFilter,
    after: Option<&Cursor>,
    limit: usize,
) -> Result<(Vec<SessionSummary>, Option<Cursor>), Error> {
    let mut looked_at = Conditions::default();
    looked_at.and_some("project = ?", filter.project.as_deref());
    if let Some(after) = after {
        looked_at.and("last <= ?", after.number(0)?);
        let (last, session, project) = (after.number(0)?, after.text(1)?, after.text(2)?);
        looked_at.and_all("(last < ? OR (session, project) > (?, ?))", [last.into(), session.into(), project.into()]);
    }
    let look = format!("FROM sessions {} {ORDER}", looked_at.sql());
    let mut kept = Conditions::after(looked_at.values.clone());
    filter.keep(&mut kept);
    if let Some(text) = &filter.search {
        let fits =
            ["session", "project", "client", "agent", "model"].map(|name| format!("lower({name}) LIKE ? ESCAPE '!'"));
        kept.and(&format!("({})", fits.join(" OR ")), anywhere(text));
        // They came first.
        kept.and("session <> ?", text.as_str());
    }
    let sql = match kept.is_empty() {
        true => format!("SELECT * {look} LIMIT {}", limit + 1),
        false => {
            format!("SELECT * FROM (SELECT * {look} LIMIT {LOOK_MAX}) AS s {} {ORDER} LIMIT {}", kept.sql(), limit + 1)
        }
    };
    let is_whole = kept.is_empty();
    let rows = db.rows(sql, kept.values).await?;
    let items: Vec<SessionSummary> = rows.iter().take(limit).map(SessionSummary::read).collect::<Result<_, _>>()?;
    let next = match items.last() {
        Some(last) if rows.len() > limit => Some(last.place()),
        _ if is_whole => None,
        _ => {
            let sql = format!("SELECT * {look} LIMIT 1 OFFSET {}", LOOK_MAX - 1);
            let end = db.row(sql, looked_at.values).await?;
            end.map(|row| Ok::<_, Error>(SessionSummary::read(&row)?.place())).transpose()?
        }
    };
    Ok((items, next))
}
