-- Old sums are looked for by their time alone, whoever's they are.
CREATE INDEX rollups_bucket ON rollups (bucket);
