//! Which values have a sum of their own: names that clients choose must not fill a disk.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{DAY, Dimension, Key, OTHERS};

/// Values of one dimension in one bucket of one project.
const VALUES_MAX: usize = 100;

/// Projects are named by whoever runs the gateway.
const PROJECTS_MAX: usize = 500;

type Place = (Arc<str>, i64, i64, Dimension);

/// The values that are in the database, of recent buckets.
#[derive(Debug, Default)]
pub(crate) struct Known {
    values: HashMap<Place, HashSet<Arc<str>>>,
    /// The newest bucket seen.
    newest: i64,
}

impl Known {
    /// Learns what is in the database.
    pub(crate) fn learn(&mut self, key: &Key) {
        self.newest = self.newest.max(key.bucket);
        self.values.entry(place(key)).or_default().insert(Arc::clone(&key.value));
    }

    /// The key itself, or the one for all others where there are too many of its sort.
    pub(crate) fn admit(&mut self, key: Key) -> Key {
        let max = match key.dimension {
            Dimension::Total | Dimension::Kind | Dimension::Latency | Dimension::Group => return key,
            Dimension::Project => PROJECTS_MAX,
            Dimension::Model | Dimension::Endpoint | Dimension::Pattern | Dimension::Client | Dimension::Message => {
                VALUES_MAX
            }
        };
        if key.bucket > self.newest {
            self.newest = key.bucket;
            self.forget();
        }
        let values = self.values.entry(place(&key)).or_default();
        if values.contains(&key.value) {
            return key;
        }
        if values.len() >= max {
            return Key { value: OTHERS.into(), ..key };
        }
        values.insert(Arc::clone(&key.value));
        key
    }

    /// Forgets buckets to which nothing will be added any more.
    fn forget(&mut self) {
        let oldest = self.newest - 2 * DAY;
        self.values.retain(|(_, _, bucket, _), _| *bucket >= oldest);
    }
}

fn place(key: &Key) -> Place {
    (Arc::clone(&key.project), key.grain, key.bucket, key.dimension)
}

#[cfg(test)]
mod tests {
    use super::super::HOUR;
    use super::*;

    #[test]
    fn names_beyond_the_bound_are_counted_together_and_old_ones_stay() {
        let mut known = Known::default();
        let key = |bucket, name: usize| Key {
            project: "acme".into(),
            grain: HOUR,
            bucket: bucket * HOUR,
            dimension: Dimension::Model,
            value: format!("m{name}").into(),
        };
        known.learn(&key(1, 0));
        let values: HashSet<_> = (1..500).map(|name| known.admit(key(1, name)).value).collect();
        assert_eq!(values.len(), VALUES_MAX, "99 beside the learned one, and the others");
        assert!(values.contains(OTHERS));
        assert_eq!(&*known.admit(key(1, 0)).value, "m0");
        assert_eq!(&*known.admit(key(2, 400)).value, "m400", "an hour of its own");
    }
}
