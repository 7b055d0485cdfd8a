//! Where a store is and how long it keeps what it is given.

use std::fmt;
use std::time::Duration;

/// Which database.
#[derive(Clone, PartialEq, Eq)]
pub enum Address {
    /// A file; `:memory:` for one that ends with the process.
    Sqlite {
        /// Its path. Folders on the way are made.
        path: String,
    },
    /// A server.
    Postgres {
        /// `postgres://user:password@host/database`.
        url: String,
    },
}

/// How a store is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Which database.
    pub address: Address,
    /// How long events, sessions and alerts are kept. What people wrote (documents) is kept for ever.
    pub keep: Duration,
}

impl Options {
    /// A store that keeps everything for the given number of days.
    pub const fn new(address: Address, keep_days: u32) -> Self {
        Self { address, keep: Duration::from_secs(24 * 60 * 60 * keep_days as u64) }
    }
}

impl Address {
    /// A file or `:memory:`.
    pub fn sqlite(path: impl Into<String>) -> Self {
        Self::Sqlite { path: path.into() }
    }

    /// A server.
    pub fn postgres(url: impl Into<String>) -> Self {
        Self::Postgres { url: url.into() }
    }
}

impl fmt::Display for Address {
    /// Without user and password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite { path } => write!(f, "sqlite:{path}"),
            Self::Postgres { url } => {
                let place = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
                let place = place.rsplit_once('@').map_or(place, |(_, place)| place);
                write!(f, "postgres://{}", place.split('?').next().unwrap_or_default())
            }
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        let address = Address::postgres("postgres://me:p@ss@db.example:5432/steadfast?sslmode=require");
        assert_eq!(
            format!("{address} {address:?}"),
            "postgres://db.example:5432/steadfast postgres://db.example:5432/steadfast"
        );
    }
}
