//! From evidence to a failure, by a table of rules.
