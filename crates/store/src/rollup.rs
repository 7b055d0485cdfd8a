//! Sums by hour and day: what a page of analytics is made of, whatever the number of events.
//!
//! A request has a [`Share`] in the sums: which measures it adds to which values of which dimension.
//! A request that is written twice adds the difference. All of a request counts in the hour in which
//! it came in, so that a bar and the list of requests behind it agree.
//!
//! What clients name (models, prompts' patterns, messages) is bounded per bucket; the rest is
//! counted together as [`OTHERS`].

mod known;
mod share;

use std::collections::HashMap;
use std::sync::Arc;

pub(crate) use self::known::Known;
pub(crate) use self::share::Share;

/// What everything beyond the bound is counted as.
pub const OTHERS: &str = "(others)";

/// Milliseconds.
pub(crate) const HOUR: i64 = 60 * 60 * 1000;
/// Milliseconds.
pub(crate) const DAY: i64 = 24 * HOUR;

macro_rules! measures {
    ($($name:ident: $doc:literal),* $(,)?) => {
        /// What is counted, and summed over time.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
        pub struct Measures {
            $(#[doc = $doc] pub $name: i64,)*
        }

        impl Measures {
            /// The names of the columns.
            pub(crate) const COLUMNS: &[&str] = &[$(stringify!($name)),*];

            pub(crate) fn add(&mut self, other: &Self) {
                $(self.$name += other.$name;)*
            }

            pub(crate) fn subtract(&mut self, other: &Self) {
                $(self.$name -= other.$name;)*
            }

            pub(crate) fn values(&self) -> Vec<i64> {
                vec![$(self.$name),*]
            }

            pub(crate) fn read(row: &crate::db::Row) -> Result<Self, crate::error::Error> {
                Ok(Self { $($name: row.get(stringify!($name))?),* })
            }
        }
    };
}

measures! {
    requests: "Requests that came in; at a model or an endpoint, requests that went there.",
    succeeded: "Requests that were served; at a model or an endpoint, those it served.",
    gave_up: "Requests that failed for good.",
    cancelled: "Requests whose client left.",
    attempts: "Attempts made.",
    failures: "Attempts that failed.",
    affected: "Requests in which an attempt failed.",
    recovered: "Requests in which an attempt failed and which were served all the same.",
    recovery_ms: "Milliseconds from the first failure to the end, of the recovered ones.",
    recovery_retries: "Attempts after the first, of the recovered ones.",
    fallbacks: "Requests that went to another model than the one asked for.",
    latency_ms: "Milliseconds that the served ones took; at a model or an endpoint, their last attempts.",
    input_tokens: "Tokens read.",
    output_tokens: "Tokens written.",
    usd_micros: "Millionths of a dollar spent.",
    failed_usd_micros: "Of them, on attempts that failed.",
    events: "Records stored.",
}

/// What sums are broken down by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Dimension {
    /// Not at all.
    Total,
    /// By project; only where all projects are summed.
    Project,
    Kind,
    Model,
    Endpoint,
    Pattern,
    Client,
    /// By kind and message, with a tab between.
    Message,
    /// By the upper bound of how long served requests took.
    Latency,
    /// By the groups of failures that the documents' targets are about: `network`, `transient`, `restart`.
    Group,
}

impl Dimension {
    pub(crate) const ALL: [Self; 10] = [
        Self::Total,
        Self::Project,
        Self::Kind,
        Self::Model,
        Self::Endpoint,
        Self::Pattern,
        Self::Client,
        Self::Message,
        Self::Latency,
        Self::Group,
    ];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::Project => "project",
            Self::Kind => "kind",
            Self::Model => "model",
            Self::Endpoint => "endpoint",
            Self::Pattern => "pattern",
            Self::Client => "client",
            Self::Message => "message",
            Self::Latency => "latency",
            Self::Group => "group",
        }
    }
}

/// Where a sum stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    /// Empty: all of them.
    pub(crate) project: Arc<str>,
    /// [`HOUR`] or [`DAY`].
    pub(crate) grain: i64,
    /// When the hour or the day began.
    pub(crate) bucket: i64,
    pub(crate) dimension: Dimension,
    pub(crate) value: Arc<str>,
}

/// The sums of one batch, by hour and project.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    sums: HashMap<Key, Measures>,
}

impl Sums {
    /// Adds what a request has a share in and has not been counted yet.
    pub(crate) fn add(&mut self, project: &Arc<str>, started: i64, share: Share, counted: Option<&Share>) {
        let bucket = started - started.rem_euclid(HOUR);
        let mut share = share;
        if let Some(counted) = counted {
            share.subtract(counted);
        }
        for (dimension, value, measures) in share.0 {
            let key = Key { project: Arc::clone(project), grain: HOUR, bucket, dimension, value };
            self.sums.entry(key).or_default().add(&measures);
        }
    }

    /// The rows to add to: by hour and by day, for each project and for all, in an order that is the same
    /// for every writer, so that two of them never wait for each other in a circle.
    pub(crate) fn rows(self, known: &mut Known) -> Vec<(Key, Measures)> {
        let everybody: Arc<str> = Arc::default();
        let mut rows: HashMap<Key, Measures> = HashMap::new();
        for (key, measures) in self.sums {
            for grain in [HOUR, DAY] {
                let bucket = key.bucket - key.bucket.rem_euclid(grain);
                let own = Key { grain, bucket, ..key.clone() };
                let all = Key { project: Arc::clone(&everybody), ..own.clone() };
                if key.dimension == Dimension::Total {
                    let by = Key { dimension: Dimension::Project, value: Arc::clone(&key.project), ..all.clone() };
                    rows.entry(known.admit(by)).or_default().add(&measures);
                }
                rows.entry(known.admit(own)).or_default().add(&measures);
                rows.entry(known.admit(all)).or_default().add(&measures);
            }
        }
        let mut rows: Vec<_> = rows.into_iter().collect();
        rows.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        rows
    }
}
