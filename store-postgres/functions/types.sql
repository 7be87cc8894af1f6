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

-- Everything that belongs to a session beside its row, as parallel arrays.
CREATE TYPE holdover.surroundings AS (
    label_names        bytea[],
    label_values       bytea[],
    definition_digest  bytea,
    definition         bytea,
    state_digest       bytea,
    state              bytea,
    staged_call        text[],
    staged_digest      bytea[],
    staged             bytea[],
    starts             text[],
    pending_id         text[],
    pending_call       text[],
    pending_kind       text[],
    pending_needed     bigint[],
    pending_answered   bigint[],
    pending_last       bigint[],
    pending_endless    boolean[],
    pending_deadline   bigint[],
    pending_opened_at  bigint[],
    pending_digest     bytea[],
    pending            bytea[],
    inbox              holdover.inbox_page
);
