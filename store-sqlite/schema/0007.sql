-- The labels of sessions, from which all that have one are found, newest first. Tenant, creation and id of the session are
-- repeated here, so that a list by a label is one walk along an index.
ALTER TABLE label RENAME TO label_before;
CREATE TABLE label (
    sid        INTEGER NOT NULL,
    name       TEXT    NOT NULL,
    value      TEXT    NOT NULL,
    tenant     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    id         TEXT    NOT NULL,
    PRIMARY KEY (sid, name)
) STRICT, WITHOUT ROWID;
INSERT INTO label (sid, name, value, tenant, created_at, id)
    SELECT l.sid, l.name, l.value, s.tenant, s.created_at, s.id FROM label_before AS l JOIN session AS s USING (sid)
    ORDER BY l.sid, l.name;
DROP TABLE label_before;
CREATE INDEX label_newest ON label (tenant, name, value, created_at, id);
