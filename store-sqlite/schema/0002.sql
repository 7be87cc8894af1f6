-- What a model says while it says it: the deltas of the stream that runs, one area per session. The session
-- row says which stream that is; when it is over they are removed.
ALTER TABLE session ADD COLUMN stream_run    INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session ADD COLUMN stream_number INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session ADD COLUMN stream_last   INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session ADD COLUMN stream_open   INTEGER NOT NULL DEFAULT 0;

CREATE TABLE delta (
    did     INTEGER PRIMARY KEY,
    sid     INTEGER NOT NULL,
    place   INTEGER NOT NULL,
    digest  BLOB    NOT NULL,
    payload BLOB    NOT NULL
) STRICT;
CREATE UNIQUE INDEX delta_place ON delta (sid, place);

-- Places from which a fork can begin. The id is the version that the commit made.
CREATE TABLE checkpoint (
    cid          INTEGER PRIMARY KEY,
    sid          INTEGER NOT NULL,
    id           INTEGER NOT NULL,
    epoch        INTEGER NOT NULL,
    last_message INTEGER NOT NULL,
    last_event   INTEGER NOT NULL,
    at           INTEGER NOT NULL,
    format       INTEGER NOT NULL,
    digest       BLOB    NOT NULL,
    payload      BLOB    NOT NULL
) STRICT;
CREATE UNIQUE INDEX checkpoint_id ON checkpoint (sid, id);

-- Retention walks along what rests with nothing waiting in it, longest unchanged first.
CREATE INDEX session_resting ON session (updated_at, tenant, id)
    WHERE alarm IS NULL AND status IN ('idle', 'interrupted', 'failed', 'aborted');
