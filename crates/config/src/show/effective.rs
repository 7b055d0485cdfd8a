//! The configuration as a tree again, in the form in which it is written.

use std::sync::Arc;
use std::time::Duration;

use steadfast_core::backoff::{Backoff, Jitter};
use steadfast_core::breaker;
use steadfast_core::classify::UserRule;
use steadfast_core::policy::{Policy, Step, StepRule};
use steadfast_core::route::Model;

use crate::agents::{Agent, AgentOutput};
use crate::clients::Client;
use crate::config::{Alerts, Config, Council, Credential, Endpoint, Project, Store, Traces};
use crate::node::Value;
use crate::raw::AS_IT_IS;
use crate::read::Words;
use crate::secret::{MASK, mask_tokens, mask_url};
use crate::value::format_duration;

/// Everything that is true, in the order of the contract.
pub(super) fn tree(config: &Config) -> Value {
    let mut models: Vec<&Arc<Model>> = config.catalogue.models().collect();
    models.sort_by(|one, other| one.name.cmp(&other.name));
    let used = |name: &str| {
        let by_project = config.projects.values().any(|project| project.policy.name == name);
        by_project || config.council.as_ref().is_some_and(|council| council.policy.name == name)
    };
    let policies = config.policies.iter().filter(|(name, _)| used(name));
    let tables = [
        ("endpoints", named(config.endpoints.iter().map(|known| (known.name.to_string(), endpoint(known))))),
        ("models", named(models.into_iter().map(|known| (known.name.to_string(), model(known, config))))),
        ("ladders", named(config.ladders.iter().map(|(name, rungs)| (name.clone(), texts(rungs))))),
        ("policies", named(policies.map(|(name, known)| (name.clone(), policy(known, &config.roots[name]))))),
        ("projects", named(config.projects.iter().map(|(name, known)| (name.clone(), project(known))))),
        ("clients", named(config.clients.iter().map(|known| (known.name.to_string(), client(known))))),
        ("rules", (!config.rules.is_empty()).then(|| Value::list(config.rules.iter().map(rule)))),
        ("agents", named(config.agents.iter().map(|(name, known)| (name.clone(), agent(known))))),
        (
            "services",
            named(config.services.iter().map(|(name, service)| {
                let written = |parts: &[String]| (!parts.is_empty()).then(|| command(parts));
                (
                    name.clone(),
                    Value::table([
                        ("health", service.health.as_deref().map(|url| Value::text(mask_url(url)))),
                        ("start", written(&service.start)),
                        ("cooldown", Some(wait(service.cooldown))),
                        ("settle", Some(wait(service.settle))),
                        ("register", written(&service.register)),
                    ]),
                )
            })),
        ),
        ("council", config.council.as_ref().map(council)),
        (
            "store",
            Some(Value::table([
                ("url", config.store.as_ref().map(store)),
                ("requests", Some(Value::Boolean(config.keep_requests))),
                ("keep_days", Some(whole(config.keep_days.into()))),
                ("turns", Some(wait(config.keep_turns))),
            ])),
        ),
        (
            "shared",
            config.shared.as_ref().map(|shared| {
                let url = Some(Value::text(mask_url(shared.url.expose())));
                Value::table([("url", url), ("prefix", Some(Value::text(&*shared.prefix)))])
            }),
        ),
        (
            "log",
            config.decision_log.as_ref().map(|log| {
                let decisions = Value::table([
                    ("path", Some(Value::text(&*log.path))),
                    ("rotate_mb", Some(whole(log.rotate_bytes >> 20))),
                    ("keep", Some(whole(log.keep.into()))),
                ]);
                Value::table([("decisions", Some(decisions))])
            }),
        ),
        (
            "proxy",
            config.proxy.as_ref().map(|proxy| {
                let url = Some(Value::text(mask_url(proxy.url.expose())));
                Value::table([("url", url), ("except", (!proxy.except.is_empty()).then(|| texts(&proxy.except)))])
            }),
        ),
        ("traces", config.traces.as_ref().map(traces)),
        ("alerts", alerts(&config.alerts)),
        ("admin", config.admin_token.as_ref().map(|_| Value::table([("token", Some(Value::text(MASK)))]))),
    ];
    let top = [
        ("listen", Some(Value::text(config.listen.to_string()))),
        ("enabled", Some(Value::Boolean(config.enabled))),
        ("chain", (!config.chain.is_empty()).then(|| texts(&config.chain))),
    ];
    Value::table(top.into_iter().chain(tables))
}

fn council(council: &Council) -> Value {
    let member = council.members.iter().map(|member| {
        let known = [
            ("model", Some(Value::text(&*member.model))),
            ("fallback", member.fallback.as_deref().map(texts)),
            ("prompt", member.prompt.as_deref().map(Value::text)),
        ];
        (member.name.clone(), Value::table(known))
    });
    let server = |parts: &[String]| Value::table([("command", Some(command(parts)))]);
    let tools = council.tools.iter().map(|(name, parts)| (name.clone(), server(parts)));
    Value::table([
        ("members", Some(Value::list(council.members.iter().map(|member| Value::text(&*member.name))))),
        ("policy", Some(Value::text(&*council.policy.name))),
        ("metrics", council.metrics.as_deref().map(Value::text)),
        ("tool_timeout", Some(wait(council.tool_timeout))),
        ("member", Some(Value::named(member))),
        ("tools", (!council.tools.is_empty()).then(|| Value::named(tools))),
    ])
}

fn alerts(alerts: &Alerts) -> Option<Value> {
    let command = alerts.command.iter().map(|part| Value::text(&**part));
    let any = *alerts != Alerts::default();
    any.then(|| {
        Value::table([
            ("webhook", alerts.webhook.as_ref().map(|_| Value::text(MASK))),
            ("secret", alerts.secret.as_ref().map(|_| Value::text(MASK))),
            ("command", (!alerts.command.is_empty()).then(|| Value::list(command))),
        ])
    })
}

/// A policy so that, pasted under its name, it loads to itself: `extends` names the template at
/// its root, because steps are merged and only the root's triggers are all replaced.
pub(super) fn policy(policy: &Policy, root: &str) -> Value {
    let Policy { name: _, vendor_boundary, stream, deadline, attempts_max, session_retries, .. } = policy;
    let on = policy.on.iter().map(|(trigger, steps)| (trigger.to_string(), Value::list(steps.iter().map(step))));
    Value::table([
        ("extends", Some(Value::text(root))),
        ("vendor_boundary", Some(Value::text(vendor_boundary.word()))),
        ("stream", Some(Value::text(stream.word()))),
        ("deadline", Some(wait(*deadline))),
        ("attempts_max", Some(whole(u64::from(*attempts_max)))),
        (
            "session_retries",
            Some(Value::table([
                ("max", Some(whole(session_retries.max.into()))),
                ("warn", Some(whole(session_retries.warn.into()))),
            ])),
        ),
        ("retry_share", Some(Value::Float(policy.retry_share))),
        ("fallback_share", Some(Value::Float(policy.fallback_share))),
        ("breaker", Some(breaker(&policy.breaker))),
        (
            "escalate",
            Some(Value::table([
                ("auto", Some(Value::Boolean(policy.escalate.auto))),
                ("after_retries", Some(whole(policy.escalate.after_retries.into()))),
            ])),
        ),
        ("quota_rest", Some(wait(policy.quota_rest))),
        ("park", Some(wait(policy.park))),
        ("journal", Some(wait(policy.journal))),
        (
            "timeouts",
            Some(Value::table([
                ("connect", Some(wait(policy.timeouts.connect))),
                ("first_token", Some(wait(policy.timeouts.first_token))),
                ("idle", Some(wait(policy.timeouts.idle))),
                ("heartbeat", Some(wait(policy.timeouts.heartbeat))),
            ])),
        ),
        ("on", Some(Value::named(on))),
    ])
}

fn breaker(settings: &breaker::Settings) -> Value {
    Value::table([
        ("failures", Some(whole(settings.failures.into()))),
        ("adaptive", Some(Value::Boolean(settings.adaptive))),
        ("ratio", Some(Value::Float(settings.ratio))),
        ("window", Some(wait(settings.window))),
        ("floor", Some(whole(settings.floor.into()))),
        ("cooldown", Some(wait(settings.cooldown))),
        ("cooldown_max", Some(wait(settings.cooldown_max))),
        ("probes", Some(whole(settings.probes.into()))),
        ("successes", Some(whole(settings.successes.into()))),
        ("lease", Some(wait(settings.lease))),
        ("rate_limits_trip", Some(Value::Boolean(settings.rate_limits_trip))),
    ])
}

fn step(rule: &StepRule) -> Value {
    let name = rule.step.name();
    let mut fields: Vec<(&str, Option<Value>)> = match &rule.step {
        Step::Retry(retry) => {
            let mut fields = vec![(name, Some(whole(retry.max.into())))];
            fields.extend(waits(&retry.backoff));
            fields.push(("with_context", retry.with_context.then_some(Value::Boolean(true))));
            fields
        }
        Step::Restart(restart) => {
            let mut fields = vec![(name, Some(whole(restart.max.into())))];
            fields.extend(waits(&restart.backoff));
            fields
        }
        Step::Repair { max } => vec![(name, Some(whole((*max).into())))],
        Step::Ask(ask) => {
            vec![(name, Some(Value::Boolean(true))), ("nudge", Some(wait(ask.nudge))), ("skip", Some(wait(ask.skip)))]
        }
        Step::Fallback | Step::Escalate | Step::Defer | Step::Degrade | Step::GiveUp => match &rule.tool {
            None => return Value::text(name),
            Some(_) => vec![(name, Some(Value::Boolean(true)))],
        },
    };
    fields.push(("tool", rule.tool.as_deref().map(Value::text)));
    Value::table(fields)
}

fn waits(backoff: &Backoff) -> Vec<(&'static str, Option<Value>)> {
    let jitter = match backoff.jitter() {
        Jitter::Spread(share) => Value::Float(share),
        Jitter::Full => Value::text("full"),
        Jitter::Decorrelated => Value::text("decorrelated"),
    };
    if *backoff == Backoff::every(backoff.base()) {
        return vec![("every", Some(wait(backoff.base())))];
    }
    vec![
        ("base", Some(wait(backoff.base()))),
        ("multiplier", Some(Value::Float(backoff.multiplier()))),
        ("cap", Some(wait(backoff.cap()))),
        ("jitter", Some(jitter)),
    ]
}

fn endpoint(endpoint: &Endpoint) -> Value {
    let headers = endpoint.headers.iter().map(|(name, _)| (name.clone(), Value::text(MASK)));
    let key = match &endpoint.credential {
        Credential::Client => None,
        Credential::Own(_) => Some(Value::text(MASK)),
        Credential::Missing { wanted } => Some(Value::text(format!("missing: {wanted}"))),
    };
    Value::table([
        ("dialect", Some(Value::text(endpoint.dialect.as_str()))),
        ("url", Some(Value::text(endpoint.url.as_str()))),
        ("key", key),
        ("headers", (!endpoint.headers.is_empty()).then(|| Value::named(headers))),
        (
            "rate",
            (endpoint.requests_per_minute.is_some() || !endpoint.learns_limits).then(|| {
                Value::table([
                    ("requests_per_minute", endpoint.requests_per_minute.map(|rate| whole(rate.into()))),
                    ("learn", (!endpoint.learns_limits).then_some(Value::Boolean(false))),
                ])
            }),
        ),
        ("http2", endpoint.http2.then_some(Value::Boolean(true))),
        ("responses", (!endpoint.responses).then_some(Value::Boolean(false))),
        (
            "health",
            endpoint.health.as_ref().map(|health| {
                Value::table([("path", Some(Value::text(&*health.path))), ("every", Some(wait(health.every)))])
            }),
        ),
    ])
}

fn model(model: &Model, config: &Config) -> Value {
    let served = model.endpoints.iter().filter_map(|served| {
        let endpoint = config.endpoint(served.endpoint)?;
        Some(match &served.alias {
            None => Value::text(&*endpoint.name),
            Some(alias) => {
                Value::table([("endpoint", Some(Value::text(&*endpoint.name))), ("as", Some(Value::text(&**alias)))])
            }
        })
    });
    let lacks = |has: bool| (!has).then_some(Value::Boolean(false));
    Value::table([
        ("vendor", Some(Value::text(&*model.vendor))),
        ("endpoints", Some(Value::list(served))),
        ("fallback", (!model.fallback.is_empty()).then(|| texts(&model.fallback))),
        ("context_window", model.context_window.map(|tokens| whole(tokens.into()))),
        (
            "price",
            model.price.map(|price| {
                Value::table([
                    ("input", Some(usd(price.input_usd_micros))),
                    ("output", Some(usd(price.output_usd_micros))),
                ])
            }),
        ),
        ("tools", lacks(model.abilities.tools)),
        ("images", lacks(model.abilities.images)),
        ("thinking", lacks(model.abilities.thinking)),
    ])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn project(project: &Project) -> Value {
    let limited = project.usd_micros_per_day.is_some() || project.usd_micros_per_session.is_some();
    Value::table([
        ("policy", Some(Value::text(&*project.policy.name))),
        ("keys", (!project.keys.is_empty()).then(|| Value::list(project.keys.iter().map(|_| Value::text(MASK))))),
        (
            "key_hashes",
            (!project.key_hashes.is_empty())
                .then(|| Value::list(project.key_hashes.iter().map(|hash| Value::text(hex(hash))))),
        ),
        (
            "spend",
            limited.then(|| {
                Value::table([
                    ("usd_per_day", project.usd_micros_per_day.map(usd)),
                    ("usd_per_session", project.usd_micros_per_session.map(usd)),
                ])
            }),
        ),
        (
            "rate",
            (project.requests_per_minute.is_some() || project.requests_per_minute_per_agent.is_some()).then(|| {
                Value::table([
                    ("requests_per_minute", project.requests_per_minute.map(|rate| whole(rate.into()))),
                    ("per_agent", project.requests_per_minute_per_agent.map(|rate| whole(rate.into()))),
                ])
            }),
        ),
        ("chain", project.chain.as_deref().map(texts)),
        ("enabled", Some(Value::Boolean(project.enabled))),
    ])
}

fn client(client: &Client) -> Value {
    let finals = client.finals.iter().map(|(trigger, told)| {
        let told = match (told.status, told.kind) {
            (None, None) => Value::text(AS_IT_IS),
            (Some(status), None) => whole(status.into()),
            (status, kind) => Value::table([
                ("status", status.map(|status| whole(status.into()))),
                ("kind", kind.map(|kind| Value::text(kind.as_str()))),
            ]),
        };
        (trigger.to_string(), told)
    });
    // A header may well be told by a credential.
    let signs: Vec<String> = client.signs.iter().map(|sign| mask_tokens(&sign.written())).collect();
    Value::table([
        ("match", (!signs.is_empty()).then(|| texts(&signs))),
        ("final", named(finals)),
        ("retry_after", Some(Value::Boolean(client.retry_after))),
        ("says_why", Some(Value::Boolean(client.says_why))),
        ("waits", client.waits.map(wait)),
        ("head_wait", client.head_wait.map(wait)),
        ("heartbeat", Some(Value::text(client.heartbeat.word()))),
        ("session", Some(texts(&client.session))),
        ("agent", Some(texts(&client.agent))),
        ("project", Some(texts(&client.project))),
    ])
}

fn rule(rule: &UserRule) -> Value {
    let text = |text: &Option<String>| text.as_deref().map(Value::text);
    let header = rule.header.as_ref().map(|(name, value)| match value {
        // A header a rule looks for may well be a credential.
        Some(_) => Value::text(format!("{name}: {MASK}")),
        None => Value::text(&**name),
    });
    Value::table([
        ("name", text(&rule.name)),
        (
            "match",
            Some(Value::table([
                ("status", rule.status.map(|status| whole(status.into()))),
                ("body", text(&rule.body)),
                ("pattern", text(&rule.pattern)),
                ("code", text(&rule.code)),
                ("header", header),
                ("provider", text(&rule.provider)),
            ])),
        ),
        ("kind", Some(Value::text(rule.kind.as_str()))),
        ("retry_after", rule.retry_after.map(wait)),
    ])
}

fn traces(traces: &Traces) -> Value {
    let headers = traces.headers.iter().map(|(name, _)| (name.clone(), Value::text(MASK)));
    Value::table([
        ("endpoint", Some(Value::text(&*traces.url))),
        ("service", Some(Value::text(&*traces.service))),
        ("headers", (!traces.headers.is_empty()).then(|| Value::named(headers))),
    ])
}

fn store(store: &Store) -> Value {
    match store {
        Store::Sqlite { path } => Value::text(format!("sqlite:{path}")),
        Store::Postgres { url } => Value::text(mask_url(url.expose())),
    }
}

fn named(entries: impl Iterator<Item = (String, Value)>) -> Option<Value> {
    let entries: Vec<_> = entries.collect();
    (!entries.is_empty()).then(|| Value::named(entries))
}

fn texts(items: &[impl AsRef<str>]) -> Value {
    Value::list(items.iter().map(|item| Value::text(item.as_ref())))
}

fn agent(agent: &Agent) -> Value {
    let written = |parts: &[String]| (!parts.is_empty()).then(|| command(parts));
    let output = AgentOutput::all().into_iter().find(|(_, known)| *known == agent.output);
    let hidden = agent.environment.iter().map(|(name, _)| (name.clone(), Value::text(MASK)));
    let gateway = agent.gateway.environment.iter().map(|(name, value)| (name.clone(), Value::text(value.as_str())));
    Value::table([
        ("command", Some(command(&agent.command))),
        ("resume", written(&agent.resume)),
        ("output", output.map(|(word, _)| Value::text(word))),
        ("timeout", Some(wait(agent.timeout))),
        ("silence", Some(wait(agent.silence))),
        ("health", agent.health.as_deref().map(|health| Value::text(mask_url(health)))),
        ("environment", named(hidden)),
        ("gateway", named(gateway)),
    ])
}

/// A command; people put keys into arguments, also behind a flag of their own.
fn command(parts: &[String]) -> Value {
    let before = std::iter::once("").chain(parts.iter().map(String::as_str));
    Value::list(parts.iter().zip(before).map(|(part, before)| {
        let announced = before.starts_with('-') && mask_tokens(&format!("{before}=x")).ends_with(MASK);
        Value::text(if announced { MASK.to_owned() } else { mask_tokens(part) })
    }))
}

fn wait(duration: Duration) -> Value {
    Value::text(format_duration(duration))
}

fn whole(number: u64) -> Value {
    Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}

fn usd(micros: u64) -> Value {
    Value::Float(micros as f64 / 1e6)
}
