//! Any prompt and any answer, as the canonical model has them: each format then writes them in its own words.

use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use crate::translate::canon::{
    Answer, Effort, Media, Output, Part, Prompt, Raw, Role, Stop, Str, Thinking, Thought, Tokens, Tool, ToolCall,
    ToolChoice, ToolResult,
};

/// Words that say something, whatever is around them.
fn words() -> impl Strategy<Value = Str<'static>> {
    "\\PC{0,8}[a-z][\\PC\n\"\\\\]{0,8}".prop_map(|text| Str::escape(&text))
}

fn text() -> impl Strategy<Value = Part<'static>> {
    words().prop_map(Part::Text)
}

fn media(mime: &'static str, ending: &'static str) -> impl Strategy<Value = Media<'static>> {
    let mime = Str::plain(mime);
    prop_oneof![
        3 => "[A-Za-z0-9+/]{4}".prop_map(move |data| Media::Inline { mime: mime.clone(), data: Str::escape(&data) }),
        1 => "[a-z]{1,5}".prop_map(move |name| {
            Media::Address { mime: None, url: Str::escape(&format!("https://example.com/{name}.{ending}")) }
        }),
    ]
}

fn image() -> impl Strategy<Value = Part<'static>> {
    media("image/png", "png").prop_map(Part::Image)
}

fn file() -> impl Strategy<Value = Part<'static>> {
    let name = of("[a-z]{1,5}\\.pdf".prop_map(|name| Str::escape(&name)));
    (name, media("application/pdf", "pdf")).prop_map(|(name, media)| Part::File { name, media })
}

/// Some that every format takes, and some that one or the other does not.
fn tool_name() -> impl Strategy<Value = Str<'static>> {
    prop_oneof![4 => "[a-z][a-z_-]{0,8}", 1 => "[a-z]{1,4}[.:][a-z]{1,4}", 1 => "[a-z]{70}"]
        .prop_map(|name| Str::escape(&name))
}

/// A call without its id, which is unique.
fn call() -> impl Strategy<Value = ToolCall<'static>> {
    (tool_name(), words()).prop_map(|(name, argument)| {
        let arguments = json!({"x": argument.decode(), "y": [1, null]}).to_string();
        ToolCall::new(Str::default(), name, Raw::made(arguments))
    })
}

/// What a tool says to a call: words, and sometimes something to look at.
fn result() -> impl Strategy<Value = ToolResult<'static>> {
    let shown = prop_oneof![2 => image(), 1 => file()];
    (prop::collection::vec(text(), 1..3), prop_oneof![4 => Just(None), 1 => shown.prop_map(Some)], any::<bool>())
        .prop_map(|(mut parts, shown, is_error)| {
            parts.extend(shown);
            ToolResult { id: Str::default(), name: None, parts, is_error }
        })
}

/// What the user says, what the model says to it, and the tools it calls.
type Exchange = (Vec<Part<'static>>, Option<Part<'static>>, Vec<(ToolCall<'static>, ToolResult<'static>)>);

fn exchange() -> impl Strategy<Value = Exchange> {
    (said(), of(text()), prop::collection::vec((call(), result()), 0..3))
}

fn said() -> impl Strategy<Value = Vec<Part<'static>>> {
    prop::collection::vec(prop_oneof![6 => text(), 3 => image(), 1 => file()], 1..3)
}

fn tool() -> impl Strategy<Value = Tool<'static>> {
    let schema = json!({"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"], "additionalProperties": false});
    let parameters = of(Just(Raw::made(schema.to_string())));
    (tool_name(), of(words()), parameters, of(any::<bool>())).prop_map(|(name, description, parameters, strict)| Tool {
        name,
        description,
        parameters,
        strict,
        freeform: false,
    })
}

fn output() -> impl Strategy<Value = Output<'static>> {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false});
    let schema = Raw::made(schema.to_string());
    let named = of("[a-z]{1,9}").prop_map(move |name| Output::Schema {
        name: name.as_deref().map(Str::escape),
        schema: schema.clone(),
        strict: true,
    });
    prop_oneof![4 => Just(Output::Text), 1 => Just(Output::Json), 1 => named]
}

fn thinking() -> impl Strategy<Value = Option<Thinking>> {
    let efforts = vec![Effort::Minimal, Effort::Low, Effort::Medium, Effort::High, Effort::Max];
    prop_oneof![
        4 => Just(None),
        1 => select(efforts).prop_map(|effort| Some(Thinking::Effort(effort))),
        1 => select(vec![Thinking::Off, Thinking::Adaptive]).prop_map(Some),
        1 => (100..30_000_u64).prop_map(|tokens| Some(Thinking::Tokens(tokens))),
    ]
}

fn tenths(most: u8) -> impl Strategy<Value = Option<f64>> {
    of((0..=most).prop_map(|tenths| f64::from(tenths) / 10.0))
}

fn number(most: u64) -> impl Strategy<Value = Option<Raw<'static>>> {
    of((0..most).prop_map(|number| Raw::made(number.to_string())))
}

/// Numbers that steer sampling; every vendor knows others of them.
fn sampling() -> impl Strategy<Value = Prompt<'static>> {
    let penalty = || of(Just(Raw::new("0.5")));
    (tenths(20), of(Just(Raw::new("0.9"))), number(100), number(1 << 33), penalty(), penalty()).prop_map(
        |(temperature, top_p, top_k, seed, frequency_penalty, presence_penalty)| Prompt {
            temperature,
            top_p,
            top_k,
            seed,
            frequency_penalty,
            presence_penalty,
            ..Prompt::default()
        },
    )
}

/// What is asked for beside the conversation.
fn demands() -> impl Strategy<Value = Prompt<'static>> {
    let choice = select(vec![ToolChoice::Auto, ToolChoice::None, ToolChoice::Any, ToolChoice::Tool(Str::default())]);
    let limits = (of(1..20_000_u64), prop::collection::vec(words(), 0..7), of(words()), any::<bool>());
    let tools = (prop::collection::vec(tool(), 0..3), choice, of(any::<bool>()));
    (sampling(), tools, output(), thinking(), limits).prop_map(
        |(sampling, (tools, choice, parallel_tools), output, thinking, (tokens_max, stop, user, stream))| {
            let tool_choice = match (choice, tools.first()) {
                (ToolChoice::Tool(_), Some(tool)) => ToolChoice::Tool(tool.name.clone()),
                (ToolChoice::Tool(_), None) => ToolChoice::Auto,
                (choice, _) => choice,
            };
            Prompt { tools, tool_choice, parallel_tools, output, thinking, tokens_max, stop, user, stream, ..sampling }
        },
    )
}

/// Ids that every format takes, and some that one or the other does not.
fn id() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[a-z]{4}", 1 => "[a-z]{60}", 1 => "[a-z]{2}:[a-z]{2}"]
}

prop_compose! {
    pub(super) fn prompt()(
        demands in demands(),
        system in prop::collection::vec(words(), 0..3),
        exchanges in prop::collection::vec(exchange(), 0..4),
        last in said(),
        id in id(),
    ) -> Prompt<'static> {
        let mut prompt = Prompt { system, ..demands };
        for (turn, (said, text, calls)) in exchanges.into_iter().enumerate() {
            said.into_iter().for_each(|part| prompt.say(Role::User, part));
            text.into_iter().for_each(|part| prompt.say(Role::Assistant, part));
            let mut results = Vec::new();
            for (number, (call, result)) in calls.into_iter().enumerate() {
                let id = Str::escape(&format!("{id}{turn}{number}"));
                prompt.say(Role::Assistant, Part::ToolCall(ToolCall { id: id.clone(), ..call }));
                results.push(Part::ToolResult(ToolResult { id, ..result }));
            }
            results.into_iter().for_each(|part| prompt.say(Role::User, part));
        }
        last.into_iter().for_each(|part| prompt.say(Role::User, part));
        prompt
    }
}

fn tokens() -> impl Strategy<Value = Tokens> {
    (0..1000_u64, 0..1000_u64, 0..1000_u64, 0..1000_u64, 0..1000_u64).prop_map(
        |(uncached, cache_read, cache_written, words, thinking)| Tokens {
            input: uncached + cache_read + cache_written,
            cache_read,
            cache_written,
            output: words + thinking,
            thinking,
        },
    )
}

prop_compose! {
    pub(super) fn answer()(
        thinking in of(words()),
        texts in prop::collection::vec(text(), 0..3),
        refusal in prop_oneof![5 => Just(None), 1 => words().prop_map(|words| Some(Part::Refusal(words)))],
        calls in prop::collection::vec(call(), 0..3),
        stop in select(vec![Stop::Done, Stop::TokensMax, Stop::Sequence, Stop::Filtered]),
        tokens in tokens(),
        model in "[a-z]{1,5}",
    ) -> Answer<'static> {
        let thinking = thinking.map(|text| Part::Thinking(Thought { text, seal: None }));
        let stop = if stop == Stop::Done && !calls.is_empty() { Stop::ToolCalls } else { stop };
        let calls = calls.into_iter().enumerate().map(|(number, call)| {
            Part::ToolCall(ToolCall { id: Str::escape(&format!("call_{number}")), ..call })
        });
        let parts = thinking.into_iter().chain(texts).chain(refusal).chain(calls).collect();
        Answer { id: Str::plain("1"), model: Str::escape(&model), parts, stop, tokens }
    }
}
