//! Whatever is asked or answered means the same in every other format, or it is said what does not.

use bytes::Bytes;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use super::meaning::{Facts, lost, noted, of_answer, of_prompt};
use super::{any, responses, *};
use crate::translate::canon::{Answer, Event, Part, Prompt, Raw, Str, Thought, ToolCall};
use crate::translate::stream::{Reader, Writer};

/// Models that take different things, by format.
const MODELS: [(Format, [&str; 4]); 3] = [
    (Format::Chat, ["gpt-4o", "gpt-5.2", "o4-mini", "mistral-large-latest"]),
    (Format::Messages, ["claude-sonnet-4-5", "claude-opus-4-6", "claude-3-5-haiku-latest", "claude-opus-4-1"]),
    (Format::Gemini, ["gemini-3-pro", "gemini-3-flash", "gemini-2.5-flash", "gemini-2.0-flash"]),
];

/// A prompt as a client of this format writes it. Few of Gemini's give ids to their calls.
fn written(prompt: &Prompt<'_>, target: Target<'_>, with_ids: bool) -> String {
    let mut notes = Notes::default();
    match target.format {
        Format::Chat => chat::write_request(prompt, target, &mut notes),
        Format::Messages => messages::write_request(prompt, target, &mut notes),
        Format::Gemini if with_ids => gemini::write_request(prompt, target, &mut notes),
        Format::Gemini => {
            let mut body = serde_json::from_str(&gemini::write_request(prompt, target, &mut notes)).unwrap();
            drop_ids(&mut body);
            body.to_string()
        }
        Format::Responses => responses::write_request(prompt),
    }
}

fn drop_ids(body: &mut Value) {
    let contents = body["contents"].as_array_mut().into_iter().flatten();
    for part in contents.flat_map(|content| content["parts"].as_array_mut().into_iter().flatten()) {
        for field in ["functionCall", "functionResponse"] {
            if let Some(Value::Object(fields)) = part.get_mut(field) {
                fields.remove("id");
            }
        }
    }
}

/// Whether the answer is to stream stands in the body, or in Gemini's path.
fn facts(format: Format, body: &str, stream: bool) -> Facts {
    let prompt = read_prompt(format, body.as_bytes(), &mut Notes::default());
    let mut prompt = prompt.unwrap_or_else(|broken| panic!("{broken:?}: {body}"));
    prompt.stream |= format == Format::Gemini && stream;
    of_prompt(&prompt)
}

/// A request that may be refused, which says enough.
fn carried(client: Format, body: &str, stream: bool, target: Target<'_>) -> Option<Translation> {
    match request(client, body.as_bytes(), stream, target) {
        Ok(translation) => Some(translation),
        Err(Untranslatable::Refused(_)) => None,
        Err(Untranslatable::Malformed(malformed)) => panic!("{malformed}: {body}"),
    }
}

#[track_caller]
fn check(before: &Facts, after: &Facts, notes: &[&Notes], way: &str) {
    let lost = lost(before, after, &noted(notes.iter().copied()));
    assert!(lost.is_empty(), "{way}\nnoted: {notes:?}\nlost in silence: {lost:#?}");
}

/// From a client to a provider, and, where clients and providers both speak it, back into the client's format.
fn check_request(prompt: &Prompt<'_>, client: Target<'_>, provider: Target<'_>, with_ids: bool) {
    let body = written(prompt, client, with_ids);
    let stream = prompt.stream;
    let Some(there) = carried(client.format, &body, stream, provider) else { return };
    let way = format!("{body}\n{} {}: {}", client.format.as_str(), provider.model, there.body);
    let asked = facts(client.format, &body, stream);
    check(&asked, &facts(provider.format, &there.body, stream), &[&there.notes], &way);
    if client.format == Format::Responses {
        return;
    }
    let Some(back) = carried(provider.format, &there.body, stream, client) else { return };
    let way = format!("{way}\n{}: {}", client.model, back.body);
    check(&asked, &facts(client.format, &back.body, stream), &[&there.notes, &back.notes], &way);
}

fn answer_in(format: Format, answer: &Answer<'_>) -> String {
    match format {
        Format::Chat => chat::write_answer(answer, 0),
        Format::Messages => messages::write_answer(answer),
        Format::Gemini => gemini::write_answer(answer),
        Format::Responses => unreachable!("nobody is asked in it"),
    }
}

fn read_whole(format: Format, body: &str) -> Answer<'_> {
    let answer = match format {
        Format::Chat => chat::read_answer(body.as_bytes()),
        Format::Messages => messages::read_answer(body.as_bytes()),
        Format::Gemini => gemini::read_answer(body.as_bytes()),
        Format::Responses => Ok(responses::read_answer(body)),
    };
    answer.unwrap_or_else(|broken| panic!("{broken:?}: {body}"))
}

/// A stream that says this answer in pieces of a few letters.
fn stream_in(format: Format, answer: &Answer<'_>) -> String {
    let mut events = vec![Event::Start { id: answer.id.clone(), model: answer.model.clone() }];
    for part in &answer.parts {
        match part {
            Part::Text(text) => events.extend(pieces(text).into_iter().map(Event::Text)),
            Part::Refusal(text) => events.extend(pieces(text).into_iter().map(Event::Refusal)),
            Part::Thinking(thought) => events.extend(pieces(&thought.text).into_iter().map(Event::Thinking)),
            Part::ToolCall(call) => events.push(Event::ToolCall(call.clone())),
            other => panic!("{other:?}"),
        }
    }
    events.extend([Event::Tokens(answer.tokens), Event::Stop(answer.stop), Event::End]);
    let (mut writer, mut out) = (Writer::new(format, Framing::Sse, true, STAMP), String::new());
    events.iter().for_each(|event| writer.write(event, &mut out));
    out
}

fn pieces(text: &Str<'_>) -> Vec<Str<'static>> {
    let letters: Vec<char> = text.decode().chars().collect();
    letters.chunks(3).map(|piece| Str::escape(&piece.iter().collect::<String>())).collect()
}

/// The answer that a whole stream gives piece by piece.
fn read_streamed(format: Format, stream: &str) -> Answer<'static> {
    if format == Format::Responses {
        return responses::read_stream(stream);
    }
    let (mut answer, mut reader) = (Answer::default(), Reader::new(format));
    for frame in crate::fixture::frames(Framing::Sse, &Bytes::copy_from_slice(stream.as_bytes())) {
        reader.feed(&frame, &mut |event| collect(&mut answer, event)).unwrap();
    }
    answer
}

fn collect(answer: &mut Answer<'static>, event: Event<'_>) {
    let part = match event {
        Event::Text(text) => Part::Text(text.owned()),
        Event::Refusal(text) => Part::Refusal(text.owned()),
        Event::Thinking(text) => Part::Thinking(Thought { text: text.owned(), seal: None }),
        Event::ToolCall(call) => {
            let arguments = Raw::made(call.arguments.json().to_owned());
            Part::ToolCall(ToolCall::new(call.id.owned(), call.name.owned(), arguments))
        }
        Event::Start { model, .. } if answer.model.is_empty() => return answer.model = model.owned(),
        Event::Tokens(tokens) => return answer.tokens.add(tokens),
        Event::Stop(stop) => return answer.stop = stop,
        Event::Start { .. } | Event::Seal(_) | Event::End => return,
    };
    answer.parts.push(part);
}

/// An answer in one piece means the same to the client.
fn check_answer(answer: &Answer<'_>, client: Format, provider: Format) {
    let body = answer_in(provider, answer);
    let translated = way_back(client, provider).answer(body.as_bytes(), STAMP).unwrap();
    let meaning = |format, body| of_answer(&read_whole(format, body), [client, provider]);
    assert_eq!(meaning(client, &translated), meaning(provider, &body), "{body}\n{translated}");
}

/// A stream means the same to the client as the answer that it gives, translated at once.
fn check_stream(stream: &str, client: Format, provider: Format) {
    let Ok(translated) = stream_of(client, provider, &[stream.as_bytes()]) else { return };
    let whole = answer_in(provider, &read_streamed(provider, stream));
    let whole = way_back(client, provider).answer(whole.as_bytes(), STAMP).unwrap();
    let (is, expected) = (read_streamed(client, &translated), read_whole(client, &whole));
    let between = [client, provider];
    assert_eq!(of_answer(&is, between), of_answer(&expected, between), "{stream}\n{translated}\n{whole}");
}

/// Every client with every provider of another format.
fn pairs() -> impl Iterator<Item = (Format, Format)> {
    let clients = Format::ALL.into_iter();
    clients.flat_map(|client| PROVIDERS.map(|(provider, _)| (client, provider))).filter(|(one, other)| one != other)
}

#[test]
fn a_stream_of_a_fixture_means_what_the_whole_answer_means() {
    for (client, provider) in pairs() {
        for (_, stream) in cases(".", provider, "sse") {
            check_stream(&stream, client, provider);
        }
    }
}

proptest! {
    #[test]
    fn a_request_means_the_same_there_and_back(
        prompt in any::prompt(),
        models in prop::array::uniform4(any::<Index>()),
        with_ids in any::<bool>(),
    ) {
        for (client, provider) in pairs() {
            let target = |format: Format| {
                let model = MODELS.iter().find(|(known, _)| *known == format).map(|(_, models)| models);
                Target { format, model: model.map_or("m", |known| *models[format as usize].get(known)), thinks: true }
            };
            check_request(&prompt, target(client), target(provider), with_ids);
        }
    }

    #[test]
    fn an_answer_means_the_same_to_every_client(answer in any::answer()) {
        for (client, provider) in pairs() {
            check_answer(&answer, client, provider);
            check_stream(&stream_in(provider, &answer), client, provider);
        }
    }
}
