-- Both at once, in the order in which programs lock them: whoever writes meanwhile waits, and nobody for each other.
LOCK TABLE holdover.session, holdover.label IN ACCESS EXCLUSIVE MODE;

-- Labels say of which session they are, so that the sessions that have one are found along an index, newest first. No column
-- has a default, so an INSERT of an earlier program fails.
ALTER TABLE holdover.label ADD COLUMN tenant text COLLATE "C";
ALTER TABLE holdover.label ADD COLUMN created_at bigint;
ALTER TABLE holdover.label ADD COLUMN id text COLLATE "C";
UPDATE holdover.label AS l SET tenant = s.tenant, created_at = s.created_at, id = s.id
    FROM holdover.session s WHERE s.sid = l.sid;
-- What is of no session.
DELETE FROM holdover.label WHERE tenant IS NULL;
ALTER TABLE holdover.label ALTER COLUMN tenant SET NOT NULL, ALTER COLUMN created_at SET NOT NULL,
    ALTER COLUMN id SET NOT NULL;
CREATE INDEX label_newest ON holdover.label (tenant, name, value, created_at, id) INCLUDE (sid);

-- A query by a session's key could use the index by life as well: while there is little in the table both look the same, and
-- all sessions of the tenant would be read. Every `sid` is above 0, and only a query by a life says so.
DROP INDEX holdover.session_life;
CREATE INDEX session_life ON holdover.session (tenant, incarnation) WHERE sid > 0;
