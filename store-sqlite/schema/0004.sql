-- What a deletion leaves: a late duplicate of the creation is known by it, and creates nothing. Row ids rise
-- with time, so that the oldest are found without another index.
CREATE TABLE tombstone (
    tid         INTEGER PRIMARY KEY,
    tenant      TEXT    NOT NULL,
    id          TEXT    NOT NULL,
    incarnation BLOB    NOT NULL,
    operation   TEXT    NOT NULL,
    at          INTEGER NOT NULL
) STRICT;
CREATE INDEX tombstone_key ON tombstone (tenant, id);
