//! What people wrote through this API, and how it lies over the configuration.
//!
//! Each thing is a document in the store with a version: a policy, what is set of a project, a key, a person's word
//! over a breaker, a session's climb. Policies, projects and keys are laid over file, environment and flags as one
//! more layer, so that they are checked as everything else is, and a reload of the file does not lose them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use steadfast_store::Document;

/// What sort of document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Space {
    /// A policy, in the form of the configuration.
    Policy,
    /// What is set of a project, in the form of the configuration.
    Project,
    /// A key: project, hash, label, when.
    Key,
    /// A person's word over a breaker.
    Override,
    /// The model a session climbed to.
    Climb,
    /// An alert that somebody has taken note of.
    Acknowledged,
}

/// The documents as they stand.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stored(BTreeMap<(Space, String), Document>);

impl Space {
    const ALL: [Self; 6] = [Self::Policy, Self::Project, Self::Key, Self::Override, Self::Climb, Self::Acknowledged];

    /// Its name in the store.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Project => "project",
            Self::Key => "key",
            Self::Override => "override",
            Self::Climb => "climb",
            Self::Acknowledged => "acknowledged",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|space| space.name() == name)
    }

    /// Whether it changes the configuration.
    pub(crate) const fn configures(self) -> bool {
        matches!(self, Self::Policy | Self::Project | Self::Key)
    }
}

impl Stored {
    /// Takes over a document, or forgets a deleted one; says of which sort it was, where it is news.
    pub(crate) fn take(&mut self, document: Document) -> Option<Space> {
        let space = Space::named(&document.space)?;
        let key = (space, document.name.clone());
        let known = self.0.get(&key).map(|known| known.version);
        if document.body.is_none() {
            return self.0.remove(&key).map(|_| space);
        }
        let news = known != Some(document.version);
        self.0.insert(key, document);
        news.then_some(space)
    }

    /// The document of this name.
    pub(crate) fn get(&self, space: Space, name: &str) -> Option<&Document> {
        self.0.get(&(space, name.to_owned()))
    }

    /// What a document says.
    pub(crate) fn body(&self, space: Space, name: &str) -> Option<&Value> {
        self.get(space, name)?.body.as_ref()
    }

    /// Its version; 0 where there is none.
    pub(crate) fn version(&self, space: Space, name: &str) -> i64 {
        self.get(space, name).map_or(0, |document| document.version)
    }

    /// Every document of a sort, by name.
    pub(crate) fn all(&self, space: Space) -> impl Iterator<Item = (&str, &Document, &Value)> {
        let of_sort = self.0.iter().filter(move |((known, _), _)| *known == space);
        of_sort.filter_map(|((_, name), document)| Some((name.as_str(), document, document.body.as_ref()?)))
    }

    /// The same documents with one more, to see whether they would do.
    pub(crate) fn with(&self, space: Space, name: &str, body: Option<Value>) -> Self {
        let mut candidate = self.clone();
        let key = (space, name.to_owned());
        let (space, name) = (space.name().to_owned(), name.to_owned());
        candidate.0.insert(key, Document { space, name, version: 0, change: 0, updated: 0, body });
        candidate
    }

    /// What lies over the configuration.
    pub(crate) fn overlay(&self) -> Value {
        let bodies = |space| self.all(space).map(|(name, _, body)| (name.to_owned(), body.clone()));
        let policies: Map<String, Value> = bodies(Space::Policy).collect();
        let mut projects: Map<String, Value> = bodies(Space::Project).collect();
        for (_, _, key) in self.all(Space::Key) {
            let (Some(project), Some(hash)) = (key["project"].as_str(), key["hash"].as_str()) else { continue };
            let project = projects.entry(project).or_insert_with(|| json!({}));
            if let Some(project) = project.as_object_mut() {
                let hashes = project.entry("key_hashes").or_insert_with(|| json!([]));
                hashes.as_array_mut().into_iter().for_each(|hashes| hashes.push(hash.into()));
            }
        }
        json!({ "policies": policies, "projects": projects })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(space: Space, name: &str, version: i64, body: Option<Value>) -> Document {
        Document { space: space.name().into(), name: name.into(), version, change: version, updated: 0, body }
    }

    #[test]
    fn documents_become_a_layer_of_the_configuration_and_keys_go_to_their_project() {
        let mut stored = Stored::default();
        let policy = document(Space::Policy, "mine", 1, Some(json!({ "deadline": "1m" })));
        assert_eq!(stored.take(policy.clone()), Some(Space::Policy));
        assert_eq!(stored.take(policy), None, "it is known");
        stored.take(document(Space::Project, "acme", 1, Some(json!({ "policy": "mine" }))));
        stored.take(document(Space::Key, "key_1", 1, Some(json!({ "project": "acme", "hash": "ab" }))));
        stored.take(document(Space::Key, "key_2", 1, Some(json!({ "project": "other", "hash": "cd" }))));
        let expected = json!({
            "policies": { "mine": { "deadline": "1m" } },
            "projects": {
                "acme": { "policy": "mine", "key_hashes": ["ab"] },
                "other": { "key_hashes": ["cd"] },
            },
        });
        assert_eq!(stored.overlay(), expected);
        assert_eq!(stored.take(document(Space::Policy, "mine", 2, None)), Some(Space::Policy));
        assert_eq!((stored.version(Space::Policy, "mine"), stored.version(Space::Project, "acme")), (0, 1));
    }
}
