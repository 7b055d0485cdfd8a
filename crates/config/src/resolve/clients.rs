//! Clients: the table, with what the file says about it.

use std::sync::Arc;
use std::time::Duration;

use steadfast_core::policy::Trigger;

use crate::clients::{Client, Sign, Told, UNKNOWN_CLIENT, built_in};
use crate::node::Path;
use crate::problem::Report;
use crate::raw::{RawClient, RawConfig, trigger_help};

/// No client waits longer: it is a slip of the finger.
const WAIT_MAX: Duration = Duration::from_secs(60 * 60);

/// Every client in the order in which they are looked for: the file's own first.
pub(super) fn resolve(raw: &RawConfig, report: &Report<'_>) -> Vec<Arc<Client>> {
    let known = built_in();
    let mut own = Vec::new();
    let mut table = known.clone();
    for (name, raw) in raw.clients.iter().flat_map(|clients| &clients.0) {
        let at = Path::of("clients").key(name);
        let mine = table.iter_mut().find(|row| &*row.name == name);
        let model = raw.like.as_deref().unwrap_or(if mine.is_some() { name } else { UNKNOWN_CLIENT });
        let Some(model) = known.iter().find(|row| &*row.name == model) else {
            let help = report.suggest(model, known.iter().map(|row| &*row.name));
            report.refuse(&at.key("like"), format!("unknown client `{model}`"), help);
            continue;
        };
        refuse_odd_name(name, &at, report);
        let base = Client { name: name.as_str().into(), ..model.clone() };
        let signs = mine.as_ref().map_or_else(Vec::new, |row| row.signs.clone());
        let client = client(raw, Client { signs, ..base }, &at, report);
        match mine {
            Some(row) => *row = client,
            None => own.push(client),
        }
    }
    own.into_iter().chain(table).map(Arc::new).collect()
}

fn client(raw: &RawClient, mut client: Client, at: &Path, report: &Report<'_>) -> Client {
    if let Some(signs) = &raw.r#match {
        client.signs = signs.iter().map(|sign| Sign::parse(sign)).collect();
        for (index, sign) in client.signs.iter().enumerate() {
            refuse_odd_sign(sign, &client.name, &at.key("match").index(index), report);
        }
        if &*client.name == UNKNOWN_CLIENT {
            let help = "give the client a name of its own";
            report.refuse(&at.key("match"), "`unknown` is whoever nothing tells", help);
        }
    }
    for (written, told) in raw.r#final.iter().flat_map(|finals| &finals.0) {
        let at = at.key("final").key(written);
        match written.parse::<Trigger>() {
            Ok(Trigger::Status(400 | 422)) => {
                let help = "leave it out: clients negotiate with these";
                report.refuse_key(&at, format!("`{written}` always passes untouched"), help);
            }
            Ok(trigger) => {
                if told.status.is_some_and(|status| !(400..600).contains(&status.0)) {
                    report.refuse(&at, "a failure's status is between 400 and 599", "400 is a plain refusal");
                }
                let status = told.status.and_then(|status| u16::try_from(status.0).ok());
                client.finals.insert(trigger, Told { status, kind: told.kind });
            }
            Err(_) => report.refuse_key(&at, format!("unknown kind `{written}`"), trigger_help(written)),
        }
    }
    client.retry_after = raw.retry_after.unwrap_or(client.retry_after);
    client.says_why = raw.says_why.unwrap_or(client.says_why);
    client.waits = wait(raw.waits.map(|wait| wait.0), "waits", at, report).or(client.waits);
    client.head_wait = wait(raw.head_wait.map(|wait| wait.0), "head_wait", at, report).or(client.head_wait);
    if let (Some(head), Some(waits)) = (client.head_wait, client.waits)
        && head >= waits
    {
        // Where only the shorter wait was written, what is built in gives way to it.
        if raw.head_wait.is_some() {
            let what = "the head is held back for longer than the client waits";
            report.refuse(&at.key("head_wait"), what, "a shorter `head_wait`, or a longer `waits`");
        }
        client.head_wait = Some(waits / 2);
    }
    client.heartbeat = raw.heartbeat.map_or(client.heartbeat, |word| word.0);
    for (key, written, names) in [
        ("session", &raw.session, &mut client.session),
        ("agent", &raw.agent, &mut client.agent),
        ("project", &raw.project, &mut client.project),
    ] {
        let Some(written) = written else { continue };
        for (index, _) in written.iter().enumerate().filter(|(_, name)| !is_header_name(name)) {
            let help = "the name alone, such as \"x-session-id\"";
            report.refuse(&at.key(key).index(index), "this is no name of a header", help);
        }
        *names = written.iter().map(|name| name.to_ascii_lowercase()).collect();
    }
    client
}

fn wait(written: Option<Duration>, key: &str, at: &Path, report: &Report<'_>) -> Option<Duration> {
    let wait = written?;
    if wait < Duration::from_secs(1) || wait > WAIT_MAX {
        report.refuse(&at.key(key), format!("`{key}` must be between 1s and 1h"), "a duration such as \"50s\"");
    }
    Some(wait)
}

fn refuse_odd_sign(sign: &Sign, name: &str, at: &Path, report: &Report<'_>) {
    if let Sign::Header { name: header, .. } = sign
        && !is_header_name(header)
    {
        let what = format!("this tells nothing about `{name}`");
        report.refuse(at, what, "\"header\", \"header: text it contains\", or the beginning of a path, \"/v1/…\"");
    }
}

/// A client's name stands in paths.
fn refuse_odd_name(name: &str, at: &Path, report: &Report<'_>) {
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
        report.refuse_key(at, "a client's name has letters, digits, `-`, `_` and `.`", "it stands in paths: /c/NAME");
    }
}

/// As HTTP has them.
fn is_header_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}
