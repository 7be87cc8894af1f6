-- Locks both tables at once, in the order in which programs lock them. Other writers wait meanwhile, without a
-- deadlock.
LOCK TABLE holdover.session, holdover.label IN ACCESS EXCLUSIVE MODE;

-- Each label names its session, so that the sessions with a label are found along an index, newest first. The new
-- columns have no default, so an INSERT of an earlier program fails.
ALTER TABLE holdover.label ADD COLUMN tenant text COLLATE "C";
ALTER TABLE holdover.label ADD COLUMN created_at bigint;
ALTER TABLE holdover.label ADD COLUMN id text COLLATE "C";
UPDATE holdover.label AS l SET tenant = s.tenant, created_at = s.created_at, id = s.id
    FROM holdover.session s WHERE s.sid = l.sid;
-- Labels that belong to no session.
DELETE FROM holdover.label WHERE tenant IS NULL;
ALTER TABLE holdover.label ALTER COLUMN tenant SET NOT NULL, ALTER COLUMN created_at SET NOT NULL,
    ALTER COLUMN id SET NOT NULL;
CREATE INDEX label_newest ON holdover.label (tenant, name, value, created_at, id) INCLUDE (sid);

-- A query by a session's key could also use the index by incarnation: while the table is small, both indexes cost the
-- same, and all sessions of the tenant would be read. Every `sid` is above 0, and only a query by incarnation has
-- this condition.
DROP INDEX holdover.session_life;
CREATE INDEX session_life ON holdover.session (tenant, incarnation) WHERE sid > 0;
