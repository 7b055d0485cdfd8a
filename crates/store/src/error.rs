//! What can go wrong with a store, told apart by what the caller can do about it.

/// Why a store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be reached, is locked or full: nothing was changed, and it may work in a moment.
    #[error("the store is away: {0}")]
    Away(String),
    /// It cannot do this at all.
    #[error("the store refused: {0}")]
    Refused(String),
    /// What it holds cannot be read.
    #[error("the store holds something unreadable: {0}")]
    Unreadable(String),
}

impl Error {
    /// What the database said.
    pub fn told(&self) -> &str {
        match self {
            Self::Away(told) | Self::Refused(told) | Self::Unreadable(told) => told,
        }
    }

    /// Says whether the same thing may work later.
    pub const fn may_pass(&self) -> bool {
        matches!(self, Self::Away(_))
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(told) if is_lasting(told.as_ref()) => Self::Refused(told.message().to_owned()),
            sqlx::Error::Database(told) => Self::Away(told.message().to_owned()),
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) | sqlx::Error::ColumnNotFound(_) => {
                Self::Unreadable(error.to_string())
            }
            sqlx::Error::Encode(_) | sqlx::Error::TypeNotFound { .. } => Self::Refused(error.to_string()),
            sqlx::Error::PoolTimedOut => Self::Away("no connection came free in time".to_owned()),
            _ => Self::Away(error.to_string()),
        }
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Unreadable(error.to_string())
    }
}

/// Says whether the database would answer the same however often it is asked.
fn is_lasting(told: &dyn sqlx::error::DatabaseError) -> bool {
    let code = told.code().unwrap_or_default();
    match code.parse::<u32>().ok().filter(|_| code.len() < 5) {
        // SQLite's own numbers, the kind in the low byte: perm, busy, locked, nomem, readonly, interrupt, ioerr,
        // full, cantopen, protocol, schema pass; so do files that are no database, once somebody moved them away.
        Some(number) => !matches!(number & 0xff, 3 | 5..=11 | 13..=15 | 17 | 26),
        // PostgreSQL's classes: connections, transactions rolled back, resources, locks, operators, system errors.
        None => !["08", "25", "40", "53", "55", "57", "58"].iter().any(|class| code.starts_with(class)),
    }
}
