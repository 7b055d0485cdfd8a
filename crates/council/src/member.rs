//! A voice: its name, and the models it may speak with.

use std::sync::Arc;

use steadfast_core::policy::VendorBoundary;
use steadfast_core::route::{Catalogue, Model, Route, RouteError};

/// One voice of a council.
#[derive(Clone, Debug)]
pub struct Member {
    /// What people and the other members call it.
    pub name: String,
    /// What it is told about itself, beyond its name.
    pub prompt: Option<String>,
    /// For each of its models, its own first, the way from there on. Never empty.
    routes: Vec<Arc<Route>>,
}

impl Member {
    /// A member that speaks with `model` and may fall back along `chain`, or the model's own chain where none is
    /// given. A chain that leaves the vendor under a strict boundary, or names an unknown model, is an error.
    pub fn new(
        name: &str,
        catalogue: &Catalogue,
        model: &Arc<Model>,
        chain: Option<&[Arc<str>]>,
        boundary: VendorBoundary,
    ) -> Result<Self, RouteError> {
        let whole = catalogue.route(model, chain, boundary)?;
        let mut routes = Vec::with_capacity(whole.chain().len());
        for (at, start) in whole.chain().iter().enumerate() {
            // Whoever fell back and fails there may return: its own model may be well by then.
            let rest = whole.chain()[at + 1..].iter().chain(&whole.chain()[..at]);
            let rest: Vec<Arc<str>> = rest.map(|model| Arc::clone(&model.name)).collect();
            routes.push(Arc::new(catalogue.route(start, Some(&rest), boundary)?));
        }
        Ok(Self { name: name.to_owned(), prompt: None, routes })
    }

    /// The same, told something about itself.
    #[must_use]
    pub fn with_prompt(self, prompt: Option<String>) -> Self {
        Self { prompt, ..self }
    }

    /// The names of its models, its own first.
    pub fn models(&self) -> impl Iterator<Item = &Arc<str>> {
        self.routes.iter().map(|route| &route.primary().name)
    }

    /// The way from its model at this position on; positions behind the last mean the last.
    pub(crate) fn route(&self, at: usize) -> &Arc<Route> {
        &self.routes[at.min(self.routes.len() - 1)]
    }

    /// Where a model stands among its own.
    pub(crate) fn position(&self, model: &str) -> Option<usize> {
        self.models().position(|name| &**name == model)
    }
}
