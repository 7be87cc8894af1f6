-- One row per session, with the data on which writes are decided. Large data lies in other tables, so that an update
-- rewrites a few hundred bytes however long the session is. Columns that change with every commit are in no index, so
-- that those updates stay on their page.
--
-- Instants and lengths of time are in milliseconds. Numbers of 2^63 or more do not occur, except for the length of a
-- lease, whose 64 bits are stored as a signed number. Text that may hold any character is stored as its UTF-8 bytes.

-- The answer to a fenced write.
CREATE TYPE holdover.receipt AS (
    version      bigint,
    last_message bigint,
    last_item    bigint,
    unread       bigint,
    interrupt    boolean,
    now          bigint,
    lease_ends   bigint
);

CREATE TABLE holdover.session (
    sid                   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant                text COLLATE "C" NOT NULL,
    id                    text COLLATE "C" NOT NULL,
    incarnation           bytea  NOT NULL,
    created_by            text COLLATE "C" NOT NULL,
    queue                 text COLLATE "C" NOT NULL,
    created_at            bigint NOT NULL,
    status                text COLLATE "C" NOT NULL,
    version               bigint NOT NULL,
    epoch                 bigint NOT NULL,
    format                bigint NOT NULL,
    lease_worker          text COLLATE "C",
    lease_ends            bigint,
    lease_granted_ms      bigint,
    last_claim            text COLLATE "C",
    found                 text COLLATE "C" NOT NULL,
    last_commit           text COLLATE "C",
    last_commit_epoch     bigint,
    last_receipt          holdover.receipt,
    run_open              boolean NOT NULL DEFAULT false,
    attempts              bigint NOT NULL DEFAULT 0,
    last_message          bigint NOT NULL DEFAULT 0,
    last_event            bigint NOT NULL DEFAULT 0,
    last_item             bigint NOT NULL DEFAULT 0,
    unread                bigint NOT NULL DEFAULT 0,
    inbox_seen            bigint NOT NULL DEFAULT 0,
    unseen_counted        bigint NOT NULL DEFAULT 0,
    unseen_urgent         boolean NOT NULL DEFAULT false,
    wake_on               bigint NOT NULL DEFAULT 0,
    stream_run            bigint NOT NULL DEFAULT 0,
    stream_number         bigint NOT NULL DEFAULT 0,
    stream_last           bigint NOT NULL DEFAULT 0,
    stream_open           boolean NOT NULL DEFAULT false,
    updated_at            bigint NOT NULL,
    alarm                 bigint,
    interrupt_id          text COLLATE "C",
    interrupt_kind        text COLLATE "C",
    interrupt_reason      bytea,
    interrupt_at          bigint,
    interrupt_incarnation bytea,
    interrupt_handed_to   bigint,
    -- The last change of a session that is at rest and in which nothing waits; null for other sessions.
    resting_since         bigint GENERATED ALWAYS AS (CASE
        WHEN alarm IS NULL AND unread = 0 AND interrupt_id IS NULL
            AND status IN ('idle', 'interrupted', 'failed', 'aborted') THEN updated_at END) STORED,
    CONSTRAINT session_key UNIQUE (tenant, id),
    CONSTRAINT session_status CHECK
        (status IN ('idle', 'active', 'suspended', 'interrupted', 'failed', 'aborted')),
    CONSTRAINT session_found CHECK
        (found IN ('idle', 'active', 'suspended', 'interrupted', 'failed', 'aborted')),
    CONSTRAINT session_lease CHECK (num_nulls(lease_worker, lease_ends, lease_granted_ms) IN (0, 3)),
    CONSTRAINT session_interrupt CHECK
        (num_nulls(interrupt_id, interrupt_kind, interrupt_reason, interrupt_at) IN (0, 4))
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX session_newest ON holdover.session (tenant, created_at, id);
CREATE INDEX session_due ON holdover.session (queue, alarm, tenant, id) WHERE alarm IS NOT NULL;
CREATE INDEX session_due_interrupted ON holdover.session (alarm, tenant, id)
    WHERE alarm IS NOT NULL AND interrupt_id IS NOT NULL;
CREATE INDEX session_resting ON holdover.session (resting_since, tenant, id) WHERE resting_since IS NOT NULL;

CREATE TABLE holdover.label (
    sid   bigint NOT NULL,
    name  bytea  NOT NULL,
    value bytea  NOT NULL,
    PRIMARY KEY (sid, name)
);

CREATE TABLE holdover.definition (
    sid     bigint PRIMARY KEY,
    digest  bytea NOT NULL,
    payload bytea NOT NULL
);

CREATE TABLE holdover.state (
    sid     bigint PRIMARY KEY,
    digest  bytea NOT NULL,
    payload bytea NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

CREATE TABLE holdover.message (
    sid     bigint NOT NULL,
    seq     bigint NOT NULL,
    at      bigint NOT NULL,
    digest  bytea  NOT NULL,
    payload bytea  NOT NULL,
    PRIMARY KEY (sid, seq)
);

-- The events of one commit are one row: their bytes one after another, under the number of the last event. If there
-- are several, `sizes` holds the length of each.
CREATE TABLE holdover.event (
    sid     bigint NOT NULL,
    seq     bigint NOT NULL,
    at      bigint NOT NULL,
    digest  bytea  NOT NULL,
    payload bytea  NOT NULL,
    sizes   bigint[],
    PRIMARY KEY (sid, seq)
);

-- The deltas of the stream that runs: parts of a model's answer while it is generated. The session's row names the
-- stream. When the stream ends, its deltas are removed.
CREATE TABLE holdover.delta (
    sid     bigint NOT NULL,
    place   bigint NOT NULL,
    digest  bytea  NOT NULL,
    payload bytea  NOT NULL,
    PRIMARY KEY (sid, place)
) WITH (autovacuum_vacuum_scale_factor = 0.02);

-- Places at which a fork can begin. The id is the version that the commit made.
CREATE TABLE holdover.checkpoint (
    sid          bigint NOT NULL,
    id           bigint NOT NULL,
    epoch        bigint NOT NULL,
    last_message bigint NOT NULL,
    last_event   bigint NOT NULL,
    at           bigint NOT NULL,
    format       bigint NOT NULL,
    digest       bytea  NOT NULL,
    payload      bytea  NOT NULL,
    PRIMARY KEY (sid, id)
);

-- A consumed item keeps its key and the digest of its content as long as the session exists. Its payload is removed.
CREATE TABLE holdover.item (
    sid     bigint NOT NULL,
    seq     bigint NOT NULL,
    key     text COLLATE "C" NOT NULL,
    content bytea  NOT NULL,
    kind    text COLLATE "C" NOT NULL,
    wake    text COLLATE "C" NOT NULL,
    pending text COLLATE "C",
    settles boolean NOT NULL,
    at      bigint NOT NULL,
    digest  bytea,
    payload bytea,
    PRIMARY KEY (sid, key)
);
CREATE UNIQUE INDEX item_unread ON holdover.item (sid, seq) WHERE payload IS NOT NULL;

CREATE TABLE holdover.staged (
    sid     bigint NOT NULL,
    call    text COLLATE "C" NOT NULL,
    digest  bytea  NOT NULL,
    payload bytea  NOT NULL,
    PRIMARY KEY (sid, call)
);

CREATE TABLE holdover.start_mark (
    sid  bigint NOT NULL,
    call text COLLATE "C" NOT NULL,
    PRIMARY KEY (sid, call)
);

-- Tenant and session are repeated here, so that a list across sessions is one walk along an index.
CREATE TABLE holdover.pending (
    pid         bigint GENERATED ALWAYS AS IDENTITY,
    sid         bigint NOT NULL,
    tenant      text COLLATE "C" NOT NULL,
    session     text COLLATE "C" NOT NULL,
    incarnation bytea  NOT NULL,
    id          text COLLATE "C" NOT NULL,
    call        text COLLATE "C" NOT NULL,
    kind        text COLLATE "C" NOT NULL,
    needed      bigint NOT NULL,
    answered    bigint NOT NULL DEFAULT 0,
    last_answer bigint NOT NULL DEFAULT 0,
    endless     boolean NOT NULL,
    deadline    bigint NOT NULL,
    opened_at   bigint NOT NULL,
    digest      bytea  NOT NULL,
    payload     bytea  NOT NULL,
    PRIMARY KEY (sid, id)
);
CREATE INDEX pending_soonest ON holdover.pending (tenant, endless, deadline, session, id);

-- Every pending call that was ever opened. Its id is not used again, even after the call is closed.
CREATE TABLE holdover.opened (
    sid bigint NOT NULL,
    id  text COLLATE "C" NOT NULL,
    PRIMARY KEY (sid, id)
);

CREATE TABLE holdover.run (
    sid        bigint NOT NULL,
    epoch      bigint NOT NULL,
    run        text COLLATE "C" NOT NULL,
    worker     text COLLATE "C" NOT NULL,
    found      text COLLATE "C" NOT NULL,
    parent     bigint,
    started_at bigint NOT NULL,
    ended_at   bigint,
    outcome    text COLLATE "C",
    digest     bytea,
    detail     bytea,
    PRIMARY KEY (sid, epoch)
);

-- The records of deletions. A late duplicate of a session's creation is recognised by them, and creates nothing.
CREATE TABLE holdover.tombstone (
    tid         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant      text COLLATE "C" NOT NULL,
    id          text COLLATE "C" NOT NULL,
    incarnation bytea  NOT NULL,
    operation   text COLLATE "C" NOT NULL,
    at          bigint NOT NULL
);
CREATE INDEX tombstone_key ON holdover.tombstone (tenant, id);
