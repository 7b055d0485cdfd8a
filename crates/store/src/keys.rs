//! Keys that are handed out: kept only as salted hashes.
//!
//! A key is `sf_<id>_<secret>`. The id finds what is stored about it; the secret is 160 bits of chance,
//! so one round of SHA-256 with a salt is as good as any slow hash, and cheap enough for every request.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// What is stored about a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredKey {
    /// Its name in the key itself; not secret.
    pub id: String,
    /// Whose requests it lets in.
    pub project: String,
    /// What people call it.
    pub label: String,
    /// When it was made, in milliseconds since the epoch.
    pub created: i64,
    /// Chance, in hexadecimal.
    salt: String,
    /// SHA-256 of salt and key, in hexadecimal.
    hash: String,
}

/// A new key: shown once, stored never.
pub struct NewKey {
    /// The key itself.
    pub key: String,
    /// What is stored about it.
    pub stored: StoredKey,
}

impl NewKey {
    /// Makes a key.
    pub fn make(project: &str, label: &str, created: i64) -> Result<Self, getrandom::Error> {
        let (mut id, mut secret, mut salt) = ([0; 6], [0; 20], [0; 16]);
        getrandom::fill(&mut id)?;
        getrandom::fill(&mut secret)?;
        getrandom::fill(&mut salt)?;
        let (id, salt) = (hex(&id), hex(&salt));
        let key = format!("sf_{id}_{}", hex(&secret));
        let hash = hash(&salt, &key);
        let stored = StoredKey { id, project: project.to_owned(), label: label.to_owned(), created, salt, hash };
        Ok(Self { key, stored })
    }
}

impl StoredKey {
    /// The id within a key of ours.
    pub fn id_of(key: &str) -> Option<&str> {
        let (id, secret) = key.strip_prefix("sf_")?.split_once('_')?;
        (!id.is_empty() && !secret.is_empty()).then_some(id)
    }

    /// Says whether this is the key, in the same time whether it is or not.
    pub fn is(&self, key: &str) -> bool {
        let (ours, theirs) = (self.hash.as_bytes(), hash(&self.salt, key).into_bytes());
        let differs = ours.iter().zip(&theirs).fold(0, |differs, (a, b)| differs | (a ^ b));
        differs == 0 && ours.len() == theirs.len()
    }
}

impl std::fmt::Debug for NewKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewKey").field("key", &"***").field("stored", &self.stored).finish()
    }
}

fn hash(salt: &str, key: &str) -> String {
    hex(&Sha256::new().chain_update(salt).chain_update(key).finalize())
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_known_again_and_not_kept() {
        let new = NewKey::make("acme", "ci", 1).unwrap();
        let kept = serde_json::to_string(&new.stored).unwrap();
        let secret = new.key.rsplit('_').next().unwrap();
        assert!(!kept.contains(secret) && !format!("{new:?}").contains(secret));
        let stored: StoredKey = serde_json::from_str(&kept).unwrap();
        assert_eq!(StoredKey::id_of(&new.key), Some(stored.id.as_str()));
        assert!(stored.is(&new.key));
        assert!(!stored.is(&NewKey::make("acme", "ci", 1).unwrap().key) && !stored.is(""));
        assert_eq!(StoredKey::id_of("sk-something"), None);
    }
}
