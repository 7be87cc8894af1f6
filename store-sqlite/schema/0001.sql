-- One row per session: all that a write decides on. What is large or never changes lies elsewhere, so that
-- an update rewrites a few hundred bytes however long the session is.
CREATE TABLE session (
    sid                 INTEGER PRIMARY KEY,
    tenant              TEXT    NOT NULL,
    id                  TEXT    NOT NULL,
    incarnation         BLOB    NOT NULL,
    created_by          TEXT    NOT NULL,
    queue               TEXT    NOT NULL,
    created_at          INTEGER NOT NULL,
    status              TEXT    NOT NULL,
    version             INTEGER NOT NULL,
    epoch               INTEGER NOT NULL,
    format              INTEGER NOT NULL,
    lease_worker        TEXT,
    lease_ends          INTEGER,
    lease_granted_ms    INTEGER,
    last_claim          TEXT,
    found               TEXT    NOT NULL,
    last_commit         TEXT,
    run_open            INTEGER NOT NULL,
    attempts            INTEGER NOT NULL,
    interrupt_handed_to INTEGER,
    last_message        INTEGER NOT NULL,
    last_event          INTEGER NOT NULL,
    last_item           INTEGER NOT NULL,
    unread              INTEGER NOT NULL,
    inbox_seen          INTEGER NOT NULL,
    unseen_counted      INTEGER NOT NULL,
    unseen_urgent       INTEGER NOT NULL,
    wake_on             INTEGER NOT NULL,
    updated_at          INTEGER NOT NULL,
    alarm               INTEGER,
    interrupt           TEXT
) STRICT;
CREATE UNIQUE INDEX session_key ON session (tenant, id);
CREATE INDEX session_newest ON session (tenant, created_at, id);
CREATE INDEX session_due ON session (queue, alarm) WHERE alarm IS NOT NULL;
CREATE INDEX session_due_interrupted ON session (alarm) WHERE alarm IS NOT NULL AND interrupt IS NOT NULL;

CREATE TABLE label (
    sid   INTEGER NOT NULL,
    name  TEXT    NOT NULL,
    value TEXT    NOT NULL,
    PRIMARY KEY (sid, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE definition (
    sid     INTEGER PRIMARY KEY,
    digest  BLOB NOT NULL,
    payload BLOB NOT NULL
) STRICT;

CREATE TABLE state (
    sid     INTEGER PRIMARY KEY,
    digest  BLOB NOT NULL,
    payload BLOB NOT NULL
) STRICT;

CREATE TABLE message (
    mid     INTEGER PRIMARY KEY,
    sid     INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    digest  BLOB    NOT NULL,
    payload BLOB    NOT NULL
) STRICT;
CREATE UNIQUE INDEX message_place ON message (sid, seq);

CREATE TABLE event (
    eid     INTEGER PRIMARY KEY,
    sid     INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    digest  BLOB    NOT NULL,
    payload BLOB    NOT NULL
) STRICT;
CREATE UNIQUE INDEX event_place ON event (sid, seq);

-- A consumed item keeps its key and content digest for ever and drops its payload.
CREATE TABLE item (
    iid     INTEGER PRIMARY KEY,
    sid     INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    key     TEXT    NOT NULL,
    content BLOB    NOT NULL,
    kind    TEXT    NOT NULL,
    wake    TEXT    NOT NULL,
    pending TEXT,
    settles INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    digest  BLOB,
    payload BLOB
) STRICT;
CREATE UNIQUE INDEX item_key ON item (sid, key);
CREATE UNIQUE INDEX item_unread ON item (sid, seq) WHERE payload IS NOT NULL;

CREATE TABLE staged (
    stid    INTEGER PRIMARY KEY,
    sid     INTEGER NOT NULL,
    call    TEXT    NOT NULL,
    digest  BLOB    NOT NULL,
    payload BLOB    NOT NULL
) STRICT;
CREATE UNIQUE INDEX staged_call ON staged (sid, call);

CREATE TABLE start_mark (
    sid  INTEGER NOT NULL,
    call TEXT    NOT NULL,
    PRIMARY KEY (sid, call)
) STRICT, WITHOUT ROWID;

-- Tenant and session are repeated here, so that the list across sessions is one walk along an index.
CREATE TABLE pending (
    pid         INTEGER PRIMARY KEY,
    sid         INTEGER NOT NULL,
    tenant      TEXT    NOT NULL,
    session     TEXT    NOT NULL,
    incarnation BLOB    NOT NULL,
    id          TEXT    NOT NULL,
    call        TEXT    NOT NULL,
    kind        TEXT    NOT NULL,
    needed      INTEGER NOT NULL,
    answered    INTEGER NOT NULL,
    last_answer INTEGER NOT NULL,
    endless     INTEGER NOT NULL,
    deadline    INTEGER NOT NULL,
    opened_at   INTEGER NOT NULL,
    digest      BLOB    NOT NULL,
    payload     BLOB    NOT NULL
) STRICT;
CREATE UNIQUE INDEX pending_id ON pending (sid, id);
CREATE INDEX pending_soonest ON pending (tenant, endless, deadline, session, id);

-- Every pending call that was ever opened: its id is not used again, also when it is closed.
CREATE TABLE opened (
    sid INTEGER NOT NULL,
    id  TEXT    NOT NULL,
    PRIMARY KEY (sid, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE run (
    rid        INTEGER PRIMARY KEY,
    sid        INTEGER NOT NULL,
    epoch      INTEGER NOT NULL,
    run        TEXT    NOT NULL,
    worker     TEXT    NOT NULL,
    found      TEXT    NOT NULL,
    parent     INTEGER,
    started_at INTEGER NOT NULL,
    ended_at   INTEGER,
    outcome    TEXT,
    digest     BLOB,
    detail     BLOB
) STRICT;
CREATE UNIQUE INDEX run_epoch ON run (sid, epoch);
