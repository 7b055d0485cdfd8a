//! A gateway in front of a fake provider, and a client that sees every byte.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use steadfast_api::{Api, Configuration, Control, Parts, Simulator};
use steadfast_config::{Config, ConfigFile, Loaded, Problems, Sources};
use steadfast_core::policy::Policy;
use steadfast_engine::Engine;
use steadfast_fake::Fake;
use steadfast_gateway::{Gateway, Settings};
use steadfast_store::{Address, Options, Store};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

/// Long enough for a loaded machine, short enough to notice a hang.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// A gateway in front of a fake provider.
pub(crate) struct Stage {
    pub(crate) fake: Fake,
    pub(crate) engine: Arc<Engine>,
    pub(crate) control: Control,
    pub(crate) address: SocketAddr,
    pub(crate) stop: Option<oneshot::Sender<()>>,
    pub(crate) serving: Option<tokio::task::JoinHandle<()>>,
    folder: PathBuf,
    /// The configuration file.
    text: Arc<Mutex<String>>,
    settings: Settings,
    /// Where the store lies.
    store: String,
}

/// Where a store lies that nobody finds again.
const NOWHERE: &str = ":memory:";

/// A response, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: Bytes,
    /// Whether the body ended as it should.
    pub(crate) clean: bool,
}

impl Stage {
    /// `FAKE` in the configuration stands for the fake provider's address.
    pub(crate) async fn new(config: &str) -> Self {
        Self::with_settings(config, Settings::default()).await
    }

    pub(crate) async fn with_settings(config: &str, settings: Settings) -> Self {
        Self::build(config, settings, |_| NOWHERE.to_owned()).await
    }

    /// The same with a store on disk, for [`Stage::restart`].
    pub(crate) async fn kept(more: &str) -> Self {
        let on_disk = |folder: &Path| folder.join("steadfast.db").display().to_string();
        Self::build(&format!("{USUAL}\n{more}"), Settings::default(), on_disk).await
    }

    /// Another gateway on the store of this one.
    pub(crate) async fn beside(&self, more: &str) -> Self {
        let store = self.store.clone();
        Self::build(&format!("{USUAL}\n{more}"), Settings::default(), |_| store).await
    }

    async fn build(config: &str, settings: Settings, store: impl FnOnce(&Path) -> String) -> Self {
        let fake = Fake::start().await.unwrap();
        let folder = std::env::temp_dir().join(format!("steadfast-it-{}-{}", std::process::id(), fake.addr().port()));
        std::fs::create_dir_all(&folder).unwrap();
        let text = written(config, &fake, &folder);
        let store = store(&folder);
        Self::open_with(fake, folder, text, settings, store).await
    }

    async fn open_with(fake: Fake, folder: PathBuf, text: String, settings: Settings, store: String) -> Self {
        let engine = Engine::start(load(&text)).unwrap();
        let text = Arc::new(Mutex::new(text));
        let configuration = Arc::new(AsWritten(Arc::clone(&text)));
        let opened = Store::open(Options::new(Address::sqlite(&store), 30)).unwrap();
        let parts = Parts { engine: Arc::clone(&engine), store: opened, configuration, simulator: Arc::new(Echo) };
        let control = Control::start(parts).await;
        let api = Api::new(control.clone(), []);
        let gateway = Gateway::bind(Arc::clone(&engine), settings).await.unwrap().with_api(api);
        let address = gateway.address();
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(gateway.serve(async {
            let _ = stopped.await;
        }));
        let (stop, serving) = (Some(stop), Some(serving));
        Self { fake, engine, control, address, stop, serving, folder, text, settings, store }
    }

    /// Ends the gateway and starts another on the same store.
    pub(crate) async fn restart(self) -> Self {
        self.restart_after(|_| {}).await
    }

    /// The same; `meanwhile` is told the store's folder while nobody uses it.
    pub(crate) async fn restart_after(mut self, meanwhile: impl FnOnce(&Path)) -> Self {
        drop(self.stop.take());
        if let Some(serving) = self.serving.take() {
            serving.await.unwrap();
        }
        self.control.store().close().await;
        let fake = std::mem::replace(&mut self.fake, Fake::start().await.unwrap());
        let (folder, store) = (std::mem::take(&mut self.folder), std::mem::take(&mut self.store));
        meanwhile(&folder);
        let text = self.text.lock().unwrap().clone();
        Self::open_with(fake, folder, text, self.settings, store).await
    }

    /// Three endpoints `a`, `b`, `c` of each dialect, and models that fall back from one to the next.
    pub(crate) async fn usual(more: &str) -> Self {
        Self::new(&format!("{USUAL}\n{more}")).await
    }

    /// Writes the file anew; nobody reads it before he is told to.
    pub(crate) fn rewrite(&self, config: &str) {
        *self.text.lock().unwrap() = written(config, &self.fake, &self.folder);
    }

    /// Puts another configuration in force.
    pub(crate) fn reload(&self, config: &str) {
        self.engine.reload(load(&written(config, &self.fake, &self.folder))).unwrap();
    }

    pub(crate) fn script(&self, endpoint: &str, specs: &str) {
        self.fake.script(endpoint, specs).unwrap_or_else(|error| panic!("{specs}: {error}"));
    }

    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> Answer {
        tokio::time::timeout(LIMIT, async { read(self.open(request).await).await }).await.expect("an answer in time")
    }

    /// Sends a request on a connection of its own; dropping the response closes it.
    pub(crate) async fn open(&self, request: Request<Full<Bytes>>) -> Response<Incoming> {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        sender.send_request(request).await.unwrap()
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(post(path, body)).await
    }

    /// Where the store lies.
    pub(crate) fn database(&self) -> PathBuf {
        PathBuf::from(&self.store)
    }

    /// The decision log so far, a value a line.
    pub(crate) fn log(&self) -> Vec<Value> {
        self.engine.flush();
        let text = std::fs::read_to_string(self.folder.join("decisions.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The lines of one event, as `kind step` or the like.
    pub(crate) fn events(&self, event: &str, fields: &[&str]) -> Vec<String> {
        let told = |line: &Value| {
            let words = fields.iter().map(|field| match &line[*field] {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            });
            words.collect::<Vec<_>>().join(" ")
        };
        self.log().iter().filter(|line| line["event"] == event).map(told).collect()
    }
}

/// The configuration of a stage as a file.
fn written(config: &str, fake: &Fake, folder: &Path) -> String {
    let log = folder.join("decisions.jsonl");
    let text = format!("{config}\n[log]\ndecisions = {{ path = \"{}\" }}\n", log.display());
    text.replace("FAKE", &fake.url())
}

impl Drop for Stage {
    fn drop(&mut self) {
        if !self.folder.as_os_str().is_empty() {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// The configuration of a stage, with what is stored laid over it.
struct AsWritten(Arc<Mutex<String>>);

impl Configuration for AsWritten {
    fn load(&self, stored: &Value) -> Result<Loaded, Problems> {
        load_with(&self.0.lock().unwrap(), stored)
    }
}

/// A simulator that says whom it was asked about.
struct Echo;

impl Simulator for Echo {
    fn scenarios(&self) -> Vec<(String, String)> {
        vec![("outage".to_owned(), "one endpoint is gone".to_owned())]
    }

    fn run(&self, scenario: &str, policies: &[Policy]) -> Result<Vec<Value>, String> {
        let told = |policy: &Policy| json!({ "scenario": scenario, "deadline_s": policy.deadline.as_secs() });
        Ok(policies.iter().map(told).collect())
    }
}

pub(crate) const USUAL: &str = r#"
listen = "127.0.0.1:0"
[endpoints.a]
dialect = "anthropic"
url = "FAKE/@a"
[endpoints.b]
dialect = "anthropic"
url = "FAKE/@b"
[endpoints.oa]
dialect = "openai"
url = "FAKE/@a"
[endpoints.ob]
dialect = "openai"
url = "FAKE/@b"
[endpoints.ga]
dialect = "gemini"
url = "FAKE/@a"
[endpoints.gb]
dialect = "gemini"
url = "FAKE/@b"
[models.claude-one]
vendor = "anthropic"
endpoints = ["a"]
fallback = ["claude-two"]
price = { input = 1.0, output = 1.0 }
[models.claude-two]
vendor = "anthropic"
endpoints = ["b"]
price = { input = 1.0, output = 1.0 }
[models.gpt-one]
vendor = "openai"
endpoints = ["oa"]
fallback = ["gpt-two"]
[models.gpt-two]
vendor = "openai"
endpoints = ["ob"]
[models.gemini-one]
vendor = "google"
endpoints = ["ga"]
fallback = ["gemini-two"]
[models.gemini-two]
vendor = "google"
endpoints = ["gb"]
[policies.default]
breaker = { adaptive = false, failures = 5 }
[policies.default.on]
rate_limit = [{ retry = 2, base = "20ms", multiplier = 1.0, jitter = 0.0, cap = "3s" }, "fallback"]
overloaded = [{ retry = 2, base = "20ms", multiplier = 1.0, jitter = 0.0, cap = "3s" }, "fallback"]
server_error = [{ retry = 2, every = "20ms" }, "fallback"]
network_transient = [{ retry = 2, every = "20ms" }, "fallback"]
stream_interrupted = [{ retry = 1, every = "20ms" }, "fallback"]
timeout = ["fallback"]
"#;

pub(crate) fn load(text: &str) -> Config {
    load_with(text, &Value::Null).unwrap_or_else(|problems| panic!("{problems}")).config
}

fn load_with(text: &str, stored: &Value) -> Result<Loaded, Problems> {
    let file = ConfigFile::from_bytes("steadfast.toml", text.as_bytes().to_vec())?;
    let no_secret = |_: &Path| Err(std::io::ErrorKind::NotFound.into());
    let environment = vec![
        ("TEST_TOKEN".to_owned(), "admin-token-1234567890".to_owned()),
        ("ACME_KEY".to_owned(), "acme-key-planted-4711".to_owned()),
        ("PROVIDER_KEY".to_owned(), "sk-provider-planted-0815".to_owned()),
    ];
    let sources = Sources { file: Some(file), environment, settings: Vec::new(), read_secret: &no_secret };
    steadfast_config::load_with(sources, stored)
}

pub(crate) fn post(path: &str, body: &Value) -> Request<Full<Bytes>> {
    let request = Request::builder().method(Method::POST).uri(path).header("host", "localhost");
    let request = request.header("content-type", "application/json").header("authorization", "Bearer sk-client-own-42");
    request.body(Full::new(body.to_string().into())).unwrap()
}

pub(crate) fn get(path: &str) -> Request<Full<Bytes>> {
    Request::builder().uri(path).header("host", "localhost").body(Full::new(Bytes::new())).unwrap()
}

pub(crate) fn with(mut request: Request<Full<Bytes>>, name: &'static str, value: &str) -> Request<Full<Bytes>> {
    request.headers_mut().insert(name, value.parse().unwrap());
    request
}

pub(crate) async fn read(response: Response<Incoming>) -> Answer {
    let (parts, mut body) = response.into_parts();
    let mut bytes = Vec::new();
    let mut clean = true;
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => bytes.extend_from_slice(frame.data_ref().unwrap_or(&Bytes::new())),
            Err(_) => {
                clean = false;
                break;
            }
        }
    }
    Answer { status: parts.status, headers: parts.headers, body: bytes.into(), clean }
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.to_vec()).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// The four formats, and how each asks for a stream and says what it has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaks {
    Chat,
    Responses,
    Messages,
    Gemini,
    /// Gemini as it streams without `alt=sse`: the elements of a JSON array.
    Array,
}

impl Speaks {
    pub(crate) const ALL: [Self; 4] = [Self::Chat, Self::Responses, Self::Messages, Self::Gemini];

    /// The same and every other way in which one of them streams.
    pub(crate) const STREAMS: [Self; 5] = [Self::Chat, Self::Responses, Self::Messages, Self::Gemini, Self::Array];

    pub(crate) fn path(self, stream: bool) -> &'static str {
        match (self, stream) {
            (Self::Chat, _) => "/v1/chat/completions",
            (Self::Responses, _) => "/v1/responses",
            (Self::Messages, _) => "/v1/messages",
            (Self::Gemini | Self::Array, false) => "/v1beta/models/gemini-one:generateContent",
            (Self::Gemini, true) => "/v1beta/models/gemini-one:streamGenerateContent?alt=sse",
            (Self::Array, true) => "/v1beta/models/gemini-one:streamGenerateContent",
        }
    }

    pub(crate) fn body(self, stream: bool) -> Value {
        let messages = json!([{ "role": "user", "content": "say something" }]);
        match self {
            Self::Chat => json!({ "model": "gpt-one", "stream": stream, "messages": messages }),
            Self::Responses => json!({ "model": "gpt-one", "stream": stream, "input": messages }),
            Self::Messages => {
                json!({ "model": "claude-one", "stream": stream, "max_tokens": 100, "messages": messages })
            }
            Self::Gemini | Self::Array => {
                json!({ "contents": [{ "role": "user", "parts": [{ "text": "say something" }] }] })
            }
        }
    }

    /// The same with a tool the model may call.
    pub(crate) fn body_with_tool(self) -> Value {
        let mut body = self.body(true);
        let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
        body["tools"] = match self {
            Self::Chat => json!([{ "type": "function", "function": { "name": "weather", "parameters": schema } }]),
            Self::Responses => json!([{ "type": "function", "name": "weather", "parameters": schema }]),
            Self::Messages => json!([{ "name": "weather", "input_schema": schema }]),
            Self::Gemini | Self::Array => {
                json!([{ "functionDeclarations": [{ "name": "weather", "parameters": schema }] }])
            }
        };
        body
    }

    pub(crate) fn request(self, stream: bool) -> Request<Full<Bytes>> {
        post(self.path(stream), &self.body(stream))
    }

    /// The visible text of a stream.
    pub(crate) fn text(self, stream: &str) -> String {
        events(stream).iter().map(|event| self.delta(event)).collect()
    }

    fn delta(self, event: &Value) -> String {
        let text = match self {
            Self::Chat => &event["choices"][0]["delta"]["content"],
            Self::Responses if event["type"] == "response.output_text.delta" => &event["delta"],
            Self::Messages if event["delta"]["type"] == "text_delta" => &event["delta"]["text"],
            Self::Gemini | Self::Array => &event["candidates"][0]["content"]["parts"][0]["text"],
            _ => &Value::Null,
        };
        text.as_str().unwrap_or("").to_owned()
    }

    /// Whether a stream has its terminal event.
    pub(crate) fn is_whole(self, stream: &str) -> bool {
        match self {
            Self::Chat => stream.trim_end().ends_with("data: [DONE]"),
            Self::Responses => events(stream).iter().any(|event| event["type"] == "response.completed"),
            Self::Messages => events(stream).iter().any(|event| event["type"] == "message_stop"),
            Self::Gemini => events(stream).iter().any(|event| event["candidates"][0]["finishReason"].is_string()),
            Self::Array => Self::Gemini.is_whole(stream) && serde_json::from_str::<Value>(stream).is_ok(),
        }
    }

    /// The typed error in a stream, where there is one.
    pub(crate) fn error(self, stream: &str) -> Option<Value> {
        events(stream).into_iter().find_map(|event| match self {
            Self::Chat | Self::Gemini | Self::Array => event.get("error").cloned(),
            Self::Responses => (event["type"] == "response.failed").then(|| event["response"]["error"].clone()),
            Self::Messages => (event["type"] == "error").then(|| event["error"].clone()),
        })
    }
}

/// The data of every event of a stream that is JSON; the elements of an array, also of one that broke off.
pub(crate) fn events(stream: &str) -> Vec<Value> {
    if let Some(mut rest) = stream.trim_start().strip_prefix('[') {
        let mut elements = Vec::new();
        loop {
            rest = rest.trim_start_matches([',', ' ', '\r', '\n']);
            let mut values = serde_json::Deserializer::from_str(rest).into_iter();
            let Some(Ok(value)) = values.next() else { return elements };
            elements.push(value);
            rest = &rest[values.byte_offset()..];
        }
    }
    let data = stream.lines().filter_map(|line| line.strip_prefix("data:"));
    data.filter_map(|data| serde_json::from_str(data.trim()).ok()).collect()
}

/// Plays all cases at once, each in a task of its own.
pub(crate) async fn all_at_once<T, F: Future<Output = ()> + Send + 'static>(
    cases: impl IntoIterator<Item = T>,
    play: impl Fn(T) -> F,
) {
    let mut plays = tokio::task::JoinSet::new();
    for case in cases {
        plays.spawn(play(case));
    }
    while let Some(played) = plays.join_next().await {
        played.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
    }
}
