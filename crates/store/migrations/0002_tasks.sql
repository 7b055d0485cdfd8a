-- Tasks of the supervisor. A row is the whole truth about a task: whoever holds its lease runs it, and the
-- token grows with every lease, so that a worker that was cut off can change nothing any more.
CREATE TABLE tasks (
    id            TEXT PRIMARY KEY,
    label         TEXT NOT NULL,
    project       TEXT NOT NULL,
    state         TEXT NOT NULL,
    due           BIGINT NOT NULL,
    created       BIGINT NOT NULL,
    updated       BIGINT NOT NULL,
    ended         BIGINT,
    worker        TEXT,
    worker_before TEXT,
    lease_until   BIGINT,
    token         BIGINT NOT NULL,
    wanted        TEXT,
    crashes       BIGINT NOT NULL,
    attempts      BIGINT NOT NULL,
    restarts      BIGINT NOT NULL,
    model         TEXT,
    kind          TEXT,
    error         TEXT,
    spec          TEXT NOT NULL,
    memory        TEXT NOT NULL,
    result        TEXT
);
CREATE INDEX tasks_due ON tasks (due) WHERE state = 'waiting';
CREATE INDEX tasks_leases ON tasks (lease_until) WHERE state = 'running';
CREATE INDEX tasks_workers ON tasks (worker) WHERE state = 'running';
CREATE INDEX tasks_created ON tasks (created, id);
CREATE INDEX tasks_state ON tasks (state, created, id);
CREATE INDEX tasks_ended ON tasks (ended) WHERE ended IS NOT NULL;
