-- Requests, one row each, written when they are over; those that take long are written before that too.
-- Ids grow with the moment a request came in (id.rs), so ranges of time are ranges of ids.
CREATE TABLE requests (
    id                {id},
    request           TEXT NOT NULL,
    started           BIGINT NOT NULL,
    ended             BIGINT,
    session           TEXT,
    project           TEXT NOT NULL,
    client            TEXT,
    agent             TEXT,
    pattern           TEXT,
    model             TEXT,
    served_model      TEXT,
    served_endpoint   TEXT,
    outcome           TEXT,
    kind              TEXT,
    attempts          BIGINT NOT NULL,
    failures          BIGINT NOT NULL,
    fallbacks         BIGINT NOT NULL,
    latency_ms        BIGINT,
    input_tokens      BIGINT NOT NULL,
    output_tokens     BIGINT NOT NULL,
    usd_micros        BIGINT NOT NULL,
    failed_usd_micros BIGINT NOT NULL,
    events            BIGINT NOT NULL,
    records           TEXT NOT NULL
);
CREATE INDEX requests_request ON requests (request);
CREATE INDEX requests_project ON requests (project, id);
CREATE INDEX requests_session ON requests (session, id) WHERE session IS NOT NULL;
CREATE INDEX requests_outcome ON requests (outcome, id) WHERE outcome <> 'succeeded';
CREATE INDEX requests_open ON requests (id) WHERE outcome IS NULL;

-- Failed attempts: what the bars of the analytics lead to.
CREATE TABLE failures (
    id         BIGINT NOT NULL,
    number     BIGINT NOT NULL,
    time       BIGINT NOT NULL,
    project    TEXT NOT NULL,
    kind       TEXT NOT NULL,
    model      TEXT NOT NULL,
    endpoint   TEXT NOT NULL,
    pattern    TEXT NOT NULL,
    PRIMARY KEY (id, number)
) {clustered};
CREATE INDEX failures_project ON failures (project, id);
CREATE INDEX failures_kind ON failures (kind, id);
CREATE INDEX failures_model ON failures (model, id);
CREATE INDEX failures_endpoint ON failures (endpoint, id);
CREATE INDEX failures_pattern ON failures (pattern, id);

-- Conversations.
CREATE TABLE sessions (
    session           TEXT NOT NULL,
    project           TEXT NOT NULL,
    client            TEXT,
    agent             TEXT,
    model             TEXT,
    outcome           TEXT,
    kind              TEXT,
    first             BIGINT NOT NULL,
    last              BIGINT NOT NULL,
    requests          BIGINT NOT NULL,
    succeeded         BIGINT NOT NULL,
    gave_up           BIGINT NOT NULL,
    attempts          BIGINT NOT NULL,
    failures          BIGINT NOT NULL,
    fallbacks         BIGINT NOT NULL,
    input_tokens      BIGINT NOT NULL,
    output_tokens     BIGINT NOT NULL,
    usd_micros        BIGINT NOT NULL,
    failed_usd_micros BIGINT NOT NULL,
    PRIMARY KEY (session, project)
) {clustered};
CREATE INDEX sessions_last ON sessions (last);
CREATE INDEX sessions_project ON sessions (project, last);

-- What the analytics are made of: sums by hour and day, kept as events arrive.
-- `project` is empty where all of them are summed.
CREATE TABLE rollups (
    project           TEXT NOT NULL,
    grain             BIGINT NOT NULL,
    bucket            BIGINT NOT NULL,
    dimension         TEXT NOT NULL,
    value             TEXT NOT NULL,
    requests          BIGINT NOT NULL,
    succeeded         BIGINT NOT NULL,
    gave_up           BIGINT NOT NULL,
    cancelled         BIGINT NOT NULL,
    attempts          BIGINT NOT NULL,
    failures          BIGINT NOT NULL,
    affected          BIGINT NOT NULL,
    recovered         BIGINT NOT NULL,
    recovery_ms       BIGINT NOT NULL,
    recovery_retries  BIGINT NOT NULL,
    fallbacks         BIGINT NOT NULL,
    latency_ms        BIGINT NOT NULL,
    input_tokens      BIGINT NOT NULL,
    output_tokens     BIGINT NOT NULL,
    usd_micros        BIGINT NOT NULL,
    failed_usd_micros BIGINT NOT NULL,
    events            BIGINT NOT NULL,
    PRIMARY KEY (project, grain, bucket, dimension, value)
) {clustered};

-- Alerts, from when they are raised to when they are resolved.
CREATE TABLE alerts (
    id       {id},
    alert    TEXT NOT NULL,
    about    TEXT NOT NULL,
    project  TEXT,
    raised   BIGINT NOT NULL,
    resolved BIGINT,
    reason   TEXT NOT NULL,
    request  TEXT
);
CREATE INDEX alerts_open ON alerts (alert, about) WHERE resolved IS NULL;

-- Changes of breakers.
CREATE TABLE breaker_changes (
    id       {id},
    time     BIGINT NOT NULL,
    endpoint TEXT NOT NULL,
    state    TEXT NOT NULL,
    request  TEXT
);
CREATE INDEX breaker_changes_endpoint ON breaker_changes (endpoint, id);

-- Sessions that moved along a ladder, by a policy or by a person.
CREATE TABLE escalations (
    session         TEXT NOT NULL,
    time            BIGINT NOT NULL,
    state           TEXT NOT NULL,
    project         TEXT NOT NULL,
    reason          TEXT NOT NULL,
    from_model      TEXT NOT NULL,
    to_model        TEXT NOT NULL,
    from_usd_micros BIGINT,
    to_usd_micros   BIGINT,
    request         TEXT,
    PRIMARY KEY (session, time, state)
) {clustered};

-- What people wrote: policies, projects, keys (hashes only), budgets, settings. A deleted one has no body.
CREATE TABLE documents (
    space   TEXT NOT NULL,
    name    TEXT NOT NULL,
    version BIGINT NOT NULL,
    change  BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    body    TEXT,
    PRIMARY KEY (space, name)
) {clustered};
CREATE INDEX documents_change ON documents (change);

-- Numbers that are given out once.
CREATE TABLE counters (
    name  TEXT PRIMARY KEY,
    value BIGINT NOT NULL
) {clustered};
INSERT INTO counters (name, value) VALUES ('document_change', 0), ('opening', 0);
