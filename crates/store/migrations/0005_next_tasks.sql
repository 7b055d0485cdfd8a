-- Which task is next, and whose lease is over. SQLite takes any index that begins with the state before one that holds
-- nothing but rows of that state, and sorts all it finds there.
DROP INDEX tasks_due;
DROP INDEX tasks_leases;
CREATE INDEX tasks_due ON tasks (state, due);
CREATE INDEX tasks_leases ON tasks (state, lease_until);
CREATE INDEX tasks_project ON tasks (project, created, id);
CREATE INDEX tasks_project_state ON tasks (project, state, created, id);
