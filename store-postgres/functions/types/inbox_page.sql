-- One page of what is not consumed of an inbox, as parallel arrays.
CREATE TYPE holdover.inbox_page AS (
    seq     bigint[],
    key     text[],
    kind    text[],
    wake    text[],
    pending text[],
    settles boolean[],
    at      bigint[],
    digest  bytea[],
    payload bytea[],
    more    boolean
);
