//! Health checks when a session opens: who is not there is told before anybody waits for it.
//!
//! A check is a hint and decides nothing: whoever failed it is tried all the same. Endpoints that answered are
//! remembered for a few minutes, so that opening and closing a council asks nobody twice.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use steadfast_core::FailureKind;
use steadfast_core::route::EndpointId;
use steadfast_engine::Engine;

/// A check that takes longer has failed.
const LIMIT: Duration = Duration::from_secs(5);

/// For how long an endpoint that answered is not asked again.
const FRESH: Duration = Duration::from_secs(5 * 60);

/// When each endpoint answered last, in milliseconds since the epoch, by its address.
type Answered = BTreeMap<String, i64>;

/// Asks the first endpoint of each member, and says in words who did not answer well.
pub(crate) async fn check(engine: Arc<Engine>, members: Vec<(String, EndpointId)>, folder: PathBuf) -> Vec<String> {
    let path = folder.join("health.json");
    let mut answered = read(&path);
    let now = engine.clock().wall().as_millis();
    let snapshot = engine.snapshot();
    let fresh = |address: &str| {
        let age = answered.get(address).map(|then| now - then);
        age.is_some_and(|age| (0..FRESH.as_millis() as i64).contains(&age))
    };
    let address = |id: EndpointId| snapshot.config.endpoint(id).map(|endpoint| endpoint.url.join(""));
    let due = members.into_iter().filter_map(|(name, id)| Some((name, id, address(id)?)));
    let due: Vec<_> = due.filter(|(_, _, address)| !fresh(address)).collect();
    let asking = due.into_iter().map(|(name, id, address)| {
        let engine = Arc::clone(&engine);
        (name, address, tokio::spawn(async move { engine.ping(id, LIMIT).await }))
    });
    let mut problems = Vec::new();
    for (name, address, asking) in asking.collect::<Vec<_>>() {
        match asking.await.unwrap_or_default().filter(|failure| tells(failure.kind)) {
            None => _ = answered.insert(address, now),
            Some(failure) => {
                let kind = failure.kind.as_str().replace('_', " ");
                problems
                    .push(format!("({name} did not pass its health check: {kind}. It will be tried all the same.)"));
            }
        }
    }
    // Only a hint: without the file everybody is asked again next time.
    if let Ok(text) = serde_json::to_string(&answered) {
        _ = std::fs::write(&path, text);
    }
    problems
}

/// Whether a failed check says anything about a turn: who has no such list, or limits its rate, is there.
const fn tells(kind: FailureKind) -> bool {
    !matches!(
        kind,
        FailureKind::InvalidRequest | FailureKind::ModelUnavailable | FailureKind::RateLimit | FailureKind::StateLost
    )
}

fn read(path: &Path) -> Answered {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}
