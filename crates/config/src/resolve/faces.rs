//! What the faces need: addresses, stores, the council.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use steadfast_core::policy::Policy;

use super::models::{self, Catalogued, member_chain};
use super::policies::Policies;
use super::tasks::check_command;
use super::{Vault, missing};
use crate::config::{Alerts, Council, DecisionLog, Endpoint, Member, Proxy, Shared, Store};
use crate::node::Path;
use crate::problem::Report;
use crate::raw::RawConfig;
use crate::raw::faces::RawCouncil;
use crate::secret::{self, Secret};

const LISTEN: &str = "127.0.0.1:4141";

/// Where to listen. Off this machine only with a token.
pub(super) fn listen(raw: &RawConfig, token: Option<&Secret>, report: &Report<'_>) -> Option<SocketAddr> {
    let at = Path::of("listen");
    let written = raw.listen.as_deref().unwrap_or(LISTEN);
    let numeric = match written.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => written.to_owned(),
    };
    let Ok(address) = numeric.parse::<SocketAddr>() else {
        let what = format!("`{written}` is not an address to listen on");
        report.refuse(&at, what, "a numeric address and a port, such as \"127.0.0.1:4141\" or \"[::1]:4141\"");
        return None;
    };
    if !address.ip().is_loopback() && token.is_none() {
        let what = format!("`{written}` can be reached from other machines, and there is no admin token");
        report.refuse(
            &at,
            what,
            "set [admin] token = { env = \"STEADFAST_TOKEN\" } and the variable, or listen on 127.0.0.1",
        );
    }
    Some(address)
}

pub(super) fn admin_token(raw: &RawConfig, report: &Report<'_>, vault: &Vault<'_>) -> Option<Secret> {
    let reference = raw.admin.as_ref()?.token.as_ref()?;
    vault.fetch(reference, &Path::of("admin").key("token"), report)
}

/// The policy of the council, where there is a council.
pub(super) fn council_policy(raw: &RawConfig, policies: &Policies, report: &Report<'_>) -> Option<Arc<Policy>> {
    let raw = raw.council.as_ref()?;
    let name = raw.policy.as_deref().unwrap_or("council");
    Some(policies.named(name, &Path::of("council").key("policy"), report))
}

/// The council. A member without a model cannot speak and is left out, with a warning.
pub(super) fn council(
    raw: &RawConfig,
    policy: Option<&Arc<Policy>>,
    catalogued: &mut Catalogued,
    endpoints: &[Endpoint],
    report: &Report<'_>,
) -> Option<Council> {
    let raw = raw.council.as_ref()?;
    let at = Path::of("council");
    let described = raw.member.as_ref().map_or(&[][..], |member| &member.0);
    let names = raw.members.as_deref().unwrap_or_default();
    let mut members: Vec<Member> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let place = at.key("members").index(index);
        if members.iter().any(|known| known.name == *name) {
            report.refuse(&place, format!("`{name}` is a member twice"), "each voice has a name of its own");
            continue;
        }
        let described_at = at.key("member").key(name);
        let model_at = described_at.key("model");
        let described = described.iter().find(|(known, _)| known == name).map(|(_, member)| member);
        let model = described.and_then(|member| member.model.as_deref());
        let (model, place) = match model {
            Some(model) => (model, model_at),
            None if catalogued.is_model(name) => (name.as_str(), place),
            None => {
                let help = format!("[council.member.{}] with model = \"…\"", crate::node::Key(name));
                report.warn(&place, format!("the member `{name}` has no model and stays silent"), help);
                continue;
            }
        };
        if catalogued.admit(model, endpoints, &place, report) {
            let chain = described.and_then(|member| member.fallback.as_deref());
            let own_at = described_at.key("fallback");
            if let Some(chain) = chain {
                models::check_own_chain(model, chain, &own_at, catalogued, endpoints, report);
            }
            if let Some(policy) = policy {
                member_chain(model, chain.map(|chain| (chain, &own_at)), policy, catalogued, report);
            }
            members.push(Member {
                name: name.clone(),
                model: model.into(),
                fallback: chain.map(|chain| chain.iter().map(|entry| entry.as_str().into()).collect()),
                prompt: described.and_then(|member| member.prompt.clone()),
            });
        }
    }
    for (name, _) in described.iter().filter(|(name, _)| !names.contains(name)) {
        let what = format!("`{name}` is described but not among the members");
        report.warn(&at.key("member").key(name), what, report.suggest(name, names.iter().map(String::as_str)));
    }
    let (tools, tool_timeout) = council_tools(raw, &at, report);
    let (policy, metrics) = (Arc::clone(policy?), raw.metrics.clone());
    (!members.is_empty()).then_some(Council { members, policy, metrics, tools, tool_timeout })
}

/// The servers of tools, and how long a tool may take.
fn council_tools(raw: &RawCouncil, at: &Path, report: &Report<'_>) -> (Vec<(String, Vec<String>)>, Duration) {
    const TOOL_TIMEOUT: Duration = Duration::from_secs(3);
    let mut tools = Vec::new();
    for (name, server) in raw.tools.iter().flat_map(|tools| &tools.0) {
        let place = at.key("tools").key(name);
        match &server.command {
            Some(command) => {
                check_command(command, &[], &place.key("command"), report);
                tools.push((name.clone(), command.clone()));
            }
            None => missing(report, &place, "command", "command = [\"program\", \"argument\"]"),
        }
    }
    let limit = raw.tool_timeout.map_or(TOOL_TIMEOUT, |wait| wait.0);
    if !(Duration::from_millis(100)..=Duration::from_secs(60)).contains(&limit) {
        report.refuse(&at.key("tool_timeout"), "`tool_timeout` must be between 100ms and 60s", "\"3s\"");
    }
    (tools, limit)
}

pub(super) fn store(raw: &RawConfig, report: &Report<'_>, vault: &Vault<'_>) -> Option<Store> {
    let at = Path::of("store").key("url");
    let written = raw.store.as_ref()?.url.as_ref()?;
    let Some(url) = vault.text(written, &at, report) else {
        report.refuse(&at, "the address of the store is not set", "set the variable, or write the address");
        return None;
    };
    let text = url.expose();
    if text.starts_with("postgres://") || text.starts_with("postgresql://") {
        return Some(Store::Postgres { url });
    }
    let path = text.strip_prefix("sqlite:").map(|path| path.strip_prefix("//").unwrap_or(path));
    match path.filter(|path| !path.is_empty()) {
        Some(path) => Some(Store::Sqlite { path: path.to_owned() }),
        None => {
            let what = format!("`{}` is no store", secret::mask_url(text));
            report.refuse(&at, what, "\"sqlite:steadfast.db\" or \"postgres://user@host/database\"");
            None
        }
    }
}

pub(super) fn shared(raw: &RawConfig, report: &Report<'_>, vault: &Vault<'_>) -> Option<Shared> {
    let raw = raw.shared.as_ref()?;
    let at = Path::of("shared").key("url");
    let url = vault.text(raw.url.as_ref()?, &at, report)?;
    if !["redis://", "rediss://"]
        .iter()
        .any(|scheme| url.expose().strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()))
    {
        let what = format!("`{}` is nothing to share through", secret::mask_url(url.expose()));
        report.refuse(&at, what, "\"redis://127.0.0.1:6379\"");
    }
    let prefix = raw.prefix.clone().unwrap_or_else(|| "steadfast".to_owned());
    if prefix.is_empty() || prefix.chars().any(|letter| letter.is_whitespace() || letter.is_control()) {
        let at = Path::of("shared").key("prefix");
        report.refuse(&at, "`prefix` is empty or has blanks in it", "a word such as \"steadfast\"");
    }
    Some(Shared { url, prefix })
}

pub(super) fn proxy(raw: &RawConfig, report: &Report<'_>, vault: &Vault<'_>) -> Option<Proxy> {
    let raw = raw.proxy.as_ref()?;
    let at = Path::of("proxy").key("url");
    let url = vault.text(raw.url.as_ref()?, &at, report)?;
    // Without a scheme, as in many people's environment.
    let (scheme, rest) = url.expose().split_once("://").unwrap_or(("http", url.expose()));
    let host = rest.trim_end_matches('/').rsplit('@').next().unwrap_or_default();
    if scheme != "http" || host.is_empty() || host.contains(['/', '?', '#']) || host.contains(char::is_whitespace) {
        let what = format!("`{}` is no proxy that can be used", secret::mask_url(url.expose()));
        report.refuse(&at, what, "\"http://proxy.example:3128\": one that speaks HTTP and tunnels with CONNECT");
        return None;
    }
    let url = Secret::new(format!("{scheme}://{}", rest.trim_end_matches('/')));
    Some(Proxy { url, except: raw.except.clone().unwrap_or_default() })
}

pub(super) fn keep_days(raw: &RawConfig, report: &Report<'_>) -> u32 {
    const KEEP_DAYS: u32 = 30;
    let days = raw.store.as_ref().and_then(|store| store.keep_days).map_or(KEEP_DAYS, |count| count.0);
    if !(1..=Store::KEEP_DAYS_MAX).contains(&days) {
        let at = Path::of("store").key("keep_days");
        let what = format!("`keep_days` is {days} but must be between 1 and {}", Store::KEEP_DAYS_MAX);
        report.refuse(&at, what, "30 keeps a month");
    }
    days
}

pub(super) fn keep_turns(raw: &RawConfig, report: &Report<'_>) -> Duration {
    const HOUR: Duration = Duration::from_secs(60 * 60);
    let time = raw.store.as_ref().and_then(|store| store.turns).map_or(HOUR, |wait| wait.0);
    if time > 24 * HOUR {
        let at = Path::of("store").key("turns");
        report.refuse(&at, "`turns` may be at most 24h: prompts are not hoarded", "\"1h\"");
    }
    time
}

pub(super) fn alerts(raw: &RawConfig, report: &Report<'_>, vault: &Vault<'_>) -> Alerts {
    let Some(alerts) = &raw.alerts else { return Alerts::default() };
    let at = Path::of("alerts");
    let command = alerts.command.clone().unwrap_or_default();
    if !command.is_empty() {
        check_command(&command, &[], &at.key("command"), report);
    }
    Alerts {
        webhook: webhook(raw, report, vault),
        secret: alerts.secret.as_ref().and_then(|secret| vault.fetch(secret, &at.key("secret"), report)),
        command,
    }
}

fn webhook(raw: &RawConfig, report: &Report<'_>, vault: &Vault<'_>) -> Option<Secret> {
    let at = Path::of("alerts").key("webhook");
    let url = vault.text(raw.alerts.as_ref()?.webhook.as_ref()?, &at, report)?;
    if !crate::value::is_web_url(url.expose()) {
        let what = "`webhook` is not an address".to_owned();
        report.refuse(&at, what, "write it in full: https://host/path");
    } else if url.expose().contains('…') {
        report.warn(&at, "the webhook is a placeholder", "put the real address there, or leave it out");
    }
    Some(url)
}

pub(super) fn decision_log(raw: &RawConfig, report: &Report<'_>) -> Option<DecisionLog> {
    const ROTATE_MB: u32 = 64;
    const KEEP: u32 = 8;
    let raw = raw.log.as_ref()?.decisions.as_ref()?;
    let at = Path::of("log").key("decisions");
    let rotate_mb = raw.rotate_mb.map_or(ROTATE_MB, |count| count.0);
    if !(1..=DecisionLog::ROTATE_MB_MAX).contains(&rotate_mb) {
        let what = format!("`rotate_mb` is {rotate_mb} but must be between 1 and {}", DecisionLog::ROTATE_MB_MAX);
        report.refuse(&at.key("rotate_mb"), what, "64 opens in any editor");
    }
    let keep = raw.keep.map_or(KEEP, |count| count.0);
    if keep > DecisionLog::KEEP_MAX {
        let what = format!("`keep` is {keep} but may be at most {}", DecisionLog::KEEP_MAX);
        report.refuse(&at.key("keep"), what, "8 files of 64 MiB are half a GiB");
    }
    match &raw.path {
        Some(path) if !path.trim().is_empty() => {
            Some(DecisionLog { path: path.clone(), rotate_bytes: u64::from(rotate_mb) << 20, keep })
        }
        Some(_) => {
            report.refuse(&at.key("path"), "`path` is empty", "\"decisions.jsonl\"");
            None
        }
        None => {
            missing(report, &at, "path", "path = \"decisions.jsonl\"");
            None
        }
    }
}
