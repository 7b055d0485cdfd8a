//! What replicas share, in Redis or Valkey: facts about endpoints, slices of rate limits, parts of
//! budgets.
//!
//! One question and one answer per round (`round.lua`), atomic on the server and by its clock, so
//! that no two replicas ever get the same slice and no replica's clock matters. Whoever drives the
//! rounds keeps them off the way of requests.
//!
//! *Invariant:* every key begins with the prefix and ends by itself; names come in as salted hashes.

use std::fmt;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, ErrorKind, RedisError, Script, Value};
use serde::Serialize;

/// A connection that does not stand by then does not stand.
const CONNECT_WITHIN: Duration = Duration::from_secs(1);

/// The salt's bytes: enough that nobody guesses what is hashed with it.
const SALT_BYTES: usize = 16;

/// What replicas share, as one replica reaches it.
pub struct Shared {
    client: Client,
    connection: Option<MultiplexedConnection>,
    script: Script,
    prefix: String,
    answer_within: Duration,
}

/// Why there was no answer.
#[derive(Debug, thiserror::Error)]
pub enum SharedError {
    /// The address cannot be used.
    #[error("the address of the shared state cannot be used")]
    Address(#[source] RedisError),
    /// It cannot be reached, or does not let us in.
    #[error("cannot reach the shared state")]
    Reach(#[source] RedisError),
    /// It did not answer, or not as it should.
    #[error("the shared state does not answer")]
    Answer(#[source] RedisError),
}

/// What one replica says in one round.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Round {
    /// What it hashes names with; empty before it was told.
    pub salt: String,
    /// What to hash names with where nobody has said so yet: another one every time, so that a server which
    /// has forgotten everything is noticed by everybody.
    pub proposal: String,
    /// Its own name, made anew with every start.
    pub replica: String,
    /// Which of its rounds this is: one that comes after a later one is not heard.
    pub number: u64,
    /// The last of its rounds that it was answered.
    pub heard: u64,
    /// The newest version of facts it knows.
    pub seen: u64,
    /// It stops: what it holds goes back.
    pub leaving: bool,
    /// What changed.
    pub facts: Vec<Fact>,
    /// Rate limits it wants more of, or uses.
    pub rates: Vec<RateAsk>,
    /// Budgets it wants more of, or uses.
    pub spends: Vec<SpendAsk>,
}

/// Something that is true of an endpoint for a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// What it is about.
    pub field: String,
    /// For how long.
    pub left_ms: u64,
    /// What is so, in words of one line.
    pub words: String,
}

/// One rate limit of a round.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RateAsk {
    /// Whose.
    pub key: String,
    /// Requests per minute.
    pub limit: u32,
    /// Started since the last round that was answered.
    pub used: u32,
    /// What it may still start without asking.
    pub held: u32,
    /// What requests are waiting for.
    pub short: u32,
    /// It needs nothing ahead.
    pub idle: bool,
}

/// One budget of a round.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SpendAsk {
    /// Whose, and of which period.
    pub key: String,
    /// All of it.
    pub limit: u64,
    /// Spent, or held for calls under way.
    pub committed: u64,
    /// What it may commit.
    pub allotted: u64,
    /// What it needs in all.
    pub needed: u64,
    /// It needs nothing ahead.
    pub idle: bool,
}

/// The answer of a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered {
    /// Names are hashed with another salt here: nothing of the round counted.
    OtherSalt(String),
    /// Everything counted.
    Round(Answer),
}

/// What a replica is told in one round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// How many replicas there are, this one included.
    pub replicas: u32,
    /// It has forgotten everything and listens: what was said counts, and nothing is handed out yet.
    pub settling: bool,
    /// The newest version of facts.
    pub version: u64,
    /// What others said since the version that was seen.
    pub facts: Vec<Fact>,
    /// For each rate limit of the round: what this replica holds now, what nobody has started beyond that,
    /// milliseconds until one more, until all.
    pub rates: Vec<[u64; 4]>,
    /// For each budget of the round: this replica's part, and what the others have committed.
    pub spends: Vec<[u64; 2]>,
}

impl Shared {
    /// Gets ready to reach it; whether it can be reached shows in the first round.
    pub fn new(url: &str, prefix: &str, answer_within: Duration) -> Result<Self, SharedError> {
        let client = Client::open(url).map_err(SharedError::Address)?;
        let script = Script::new(include_str!("shared/round.lua"));
        Ok(Self { client, connection: None, script, prefix: prefix.to_owned(), answer_within })
    }

    /// Random letters, for a salt or a name.
    pub fn random_name() -> String {
        let mut text = String::with_capacity(2 * SALT_BYTES);
        for _ in 0..SALT_BYTES {
            text.push_str(&format!("{:02x}", fastrand::u8(..)));
        }
        text
    }

    /// Says and hears everything. After an error the next round connects anew.
    pub async fn round(&mut self, round: &Round) -> Result<Answered, SharedError> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let words = serde_json::to_string(round).map_err(|_| malformed("the round")).map_err(SharedError::Answer)?;
        let answer: Value = self
            .script
            .key(&self.prefix)
            .arg(words)
            .invoke_async(&mut connection)
            .await
            .map_err(SharedError::Answer)?;
        let answered = read(answer).map_err(SharedError::Answer)?;
        self.connection = Some(connection);
        Ok(answered)
    }

    /// Asks whether it is there, and what it is: `Redis 7.0.15`.
    pub async fn check(&mut self) -> Result<String, SharedError> {
        let mut connection = self.connect().await?;
        let info: String =
            redis::cmd("INFO").arg("server").query_async(&mut connection).await.map_err(SharedError::Answer)?;
        let told = |name: &str| info.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        Ok(match (told("valkey_version:"), told("redis_version:")) {
            (Some(version), _) => format!("Valkey {version}"),
            (None, Some(version)) => format!("Redis {version}"),
            (None, None) => "a server that speaks as Redis does".to_owned(),
        })
    }

    async fn connect(&self) -> Result<MultiplexedConnection, SharedError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_WITHIN))
            .set_response_timeout(Some(self.answer_within));
        let connecting = self.client.get_multiplexed_async_connection_with_config(&config);
        connecting.await.map_err(SharedError::Reach)
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address may hold a password.
        f.debug_struct("Shared").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

fn read(answer: Value) -> Result<Answered, RedisError> {
    let Value::Array(parts) = answer else { return Err(malformed("the answer")) };
    let mut parts = parts.into_iter();
    let salt: String = part(&mut parts)?;
    if parts.len() == 0 {
        return Ok(Answered::OtherSalt(salt));
    }
    let (replicas, settling): (u32, u8) = (part(&mut parts)?, part(&mut parts)?);
    let version: u64 = part(&mut parts)?;
    let facts: Vec<String> = part(&mut parts)?;
    let (rates, spends): (Vec<u64>, Vec<u64>) = (part(&mut parts)?, part(&mut parts)?);
    let fact = |fact: &[String]| {
        let [field, left, words] = fact else { return None };
        Some(Fact { field: field.clone(), left_ms: left.parse().ok()?, words: words.clone() })
    };
    Ok(Answered::Round(Answer {
        replicas,
        settling: settling == 1,
        version,
        facts: facts.chunks_exact(3).filter_map(fact).collect(),
        rates: rates.as_chunks::<4>().0.to_vec(),
        spends: spends.as_chunks::<2>().0.to_vec(),
    }))
}

fn part<T: redis::FromRedisValue>(parts: &mut impl Iterator<Item = Value>) -> Result<T, RedisError> {
    let part = parts.next().ok_or_else(|| malformed("the answer"))?;
    redis::from_redis_value(part).map_err(RedisError::from)
}

fn malformed(what: &'static str) -> RedisError {
    RedisError::from((ErrorKind::UnexpectedReturnType, what))
}
