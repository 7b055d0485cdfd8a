//! Lists: capped, in pages, summaries first.

use serde::Serialize;
use steadfast_store::{Cursor, Page, Paging};
use utoipa::ToSchema;

use crate::problem::Problem;

/// A part of a list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Listed<T> {
    /// What is on it. It may hold less than asked for, or nothing, although there is a next one.
    pub(crate) items: Vec<T>,
    /// Send it as `cursor` to get the next part; none after the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

impl<T> Listed<T> {
    /// A page of the store as it is told.
    pub(crate) fn of<S>(page: Page<S>, tell: impl FnMut(S) -> T) -> Self {
        let next = page.next.map(|next| next.to_string());
        Self { items: page.items.into_iter().map(tell).collect(), next }
    }
}

/// Which part of a list is asked for.
pub(crate) fn paging(cursor: Option<&str>, limit: Option<u16>) -> Result<Paging, Problem> {
    let after = cursor.map(str::parse::<Cursor>).transpose();
    let after = after.map_err(|error| Problem::invalid("cursor", error.to_string()))?;
    let limit = limit.map(usize::from);
    if limit.is_some_and(|limit| !(1..=steadfast_store::PAGE_MAX).contains(&limit)) {
        let message = format!("a list holds between 1 and {} items", steadfast_store::PAGE_MAX);
        return Err(Problem::invalid("limit", message));
    }
    Ok(Paging { after, limit })
}
