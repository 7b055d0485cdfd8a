-- The last batch of each opening of the store, written with it: a batch that comes again is known by its number.
CREATE TABLE writers (
    id    {id},
    batch BIGINT NOT NULL,
    time  BIGINT NOT NULL
);
