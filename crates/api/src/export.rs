//! `/api/export/{file}`: requests or attempts as a file, however many there are.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use http::HeaderValue;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use serde::Deserialize;
use steadfast_store::export::{Export, Format, Table};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::timeout;

use crate::caller::Caller;
use crate::channel::{Channel, PATIENCE, Part};
use crate::control::Control;
use crate::problem::{Params, Problem, Segment};
use crate::requests::requests_query;

/// Pieces under way to one reader: the next one is read while the last one is sent.
const PIECES_MAX: usize = 1;

const TABLES: [(&str, Table); 2] = [("requests", Table::Requests), ("attempts", Table::Attempts)];
const FORMATS: [Format; 3] = [Format::Csv, Format::Jsonl, Format::Parquet];

requests_query! {
    /// Which requests; all that are kept where nobody says.
    ExportQuery {}
}

/// Requests or attempts as a file, newest first. It comes a piece at a time; a file that breaks off half-way was not
/// ended properly, and programs that fetch it say so.
#[utoipa::path(get, path = "/api/export/{file}", tag = "requests",
    params(ExportQuery, ("file" = String, Path, pattern = "^(requests|attempts)\\.(csv|jsonl|parquet)$",
        description = "`requests` or `attempts`, a dot, and `csv`, `jsonl` or `parquet`")),
    responses((status = 200, description = "the file", content(
        (String = "text/csv"), (String = "application/jsonl"), (Vec<u8> = "application/vnd.apache.parquet")))))]
pub(crate) async fn export(
    State(control): State<Control>,
    caller: Caller,
    Segment(file): Segment<String>,
    Params(asked): Params<ExportQuery>,
) -> Result<Response, Problem> {
    let (table, format) = parse(&file).ok_or_else(|| {
        Problem::not_found(format!(
            "there is no `{file}`: ask for requests or attempts as .csv, .jsonl or .parquet, such as requests.csv"
        ))
    })?;
    let filter = asked.filter(&control, &caller)?;
    let full = |_| Problem::unavailable("several exports are being written already: come back when one is done");
    let permit = Arc::clone(control.exports()).try_acquire_owned().map_err(full)?;
    let mut export = control.store().export(table, format, filter).map_err(|error| Problem::of_store(&error))?;
    // A store that is away is said before anything is promised.
    let first = export.next().await.map_err(|error| Problem::of_store(&error))?;
    let (pieces, body) = Channel::new(PIECES_MAX);
    tokio::spawn(write(export, first, pieces, permit));
    let mut response = Response::new(Body::new(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
    let disposition = format!("attachment; filename=\"steadfast-{file}\"");
    if let Ok(disposition) = HeaderValue::from_str(&disposition) {
        headers.insert(CONTENT_DISPOSITION, disposition);
    }
    Ok(response)
}

/// What a file's name asks for.
fn parse(file: &str) -> Option<(Table, Format)> {
    let (table, format) = file.split_once('.')?;
    let table = TABLES.into_iter().find_map(|(name, found)| (name == table).then_some(found))?;
    Some((table, FORMATS.into_iter().find(|found| found.extension() == format)?))
}

/// Hands the pieces over; one that cannot be read breaks the body off, so that nobody takes half a file for a whole one.
async fn write(mut export: Export, first: Option<Vec<u8>>, pieces: mpsc::Sender<Part>, _permit: OwnedSemaphorePermit) {
    let mut next: Result<_, steadfast_store::Error> = Ok(first);
    loop {
        let part = match next {
            Ok(Some(piece)) => Ok(Bytes::from(piece)),
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(%error, "an export broke off");
                Err(error.into())
            }
        };
        let broken = part.is_err();
        let sent = timeout(PATIENCE, pieces.send(part)).await;
        if broken || !matches!(sent, Ok(Ok(()))) {
            return;
        }
        next = export.next().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_and_how() {
        assert_eq!(parse("requests.csv"), Some((Table::Requests, Format::Csv)));
        assert_eq!(parse("attempts.parquet"), Some((Table::Attempts, Format::Parquet)));
        for name in ["", "requests", "requests.", "requests.xlsx", "sessions.csv", "requests.csv.gz", ".csv"] {
            assert_eq!(parse(name), None, "{name}");
        }
    }
}
