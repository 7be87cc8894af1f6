-- The program decides, and the database keeps rows. The program calls no function in the database, so the functions
-- of all earlier programs are removed. An earlier program that still runs finds its functions missing, looks at the
-- version, and refuses the newer schema.
DROP VIEW IF EXISTS holdover.transcript;
DO $$
DECLARE
    old record;
    own oid := (SELECT c.relnamespace FROM pg_class c WHERE c.oid = 'holdover.session'::regclass);
BEGIN
    FOR old IN SELECT p.oid::regprocedure AS name FROM pg_proc p WHERE p.pronamespace = own
        AND (p.proname = 'remove_program' OR p.proname ~ '_[0-9a-f]{12}$') LOOP
        EXECUTE format('DROP FUNCTION IF EXISTS %s CASCADE', old.name);
    END LOOP;
    FOR old IN SELECT t.oid::regtype AS name FROM pg_type t JOIN pg_class c ON c.oid = t.typrelid
        WHERE t.typnamespace = own AND c.relkind = 'c' AND t.typname ~ '_[0-9a-f]{12}$' LOOP
        EXECUTE format('DROP TYPE IF EXISTS %s CASCADE', old.name);
    END LOOP;
END $$;
DROP TABLE holdover.program;

-- A row of `session` is the content under a session's key. `token` is a random number that every write of the session
-- replaces. A write is applied only if the row still has the token on which the write was decided. The column has no
-- default, so an INSERT of an earlier program fails.
ALTER TABLE holdover.session ADD COLUMN token bigint NOT NULL DEFAULT 0;
ALTER TABLE holdover.session ALTER COLUMN token DROP DEFAULT;

-- `lives` names the incarnations that were deleted under this key, each for at least a day, so that a late duplicate
-- of their creation creates nothing. If there is no session, the row has the status 'deleted', `dead_since` is the
-- instant at which the last incarnation ended, and most other columns have no meaning.
ALTER TABLE holdover.session ADD COLUMN lives json;
ALTER TABLE holdover.session ADD COLUMN dead_since bigint;

-- Every write replaces a row of `session`, and for every such statement Postgres parses each CHECK and each generated
-- column again. That took a quarter of the time of a commit. So the program itself writes the generated column, and
-- reports a row whose columns do not match as unreadable.
ALTER TABLE holdover.session DROP CONSTRAINT IF EXISTS session_status, DROP CONSTRAINT IF EXISTS session_found,
    DROP CONSTRAINT IF EXISTS session_lease, DROP CONSTRAINT IF EXISTS session_interrupt;
ALTER TABLE holdover.session ALTER COLUMN resting_since DROP EXPRESSION;

UPDATE holdover.session AS s SET lives = t.lives FROM (
    SELECT t.tenant, t.id, json_agg(json_build_object(
        'incarnation', encode(t.incarnation, 'hex')::uuid, 'operation', t.operation, 'at', t.at) ORDER BY t.tid) AS lives
    FROM holdover.tombstone t GROUP BY t.tenant, t.id
) t WHERE s.tenant = t.tenant AND s.id = t.id;
INSERT INTO holdover.session (tenant, id, incarnation, created_by, queue, created_at, status, version, epoch, format,
        found, updated_at, token, lives, dead_since)
    SELECT l.tenant, l.id, l.incarnation, l.operation, '', l.at, 'deleted', 0, 0, 0, 'idle', l.at, 0, l.lives, l.at
    FROM (
        SELECT DISTINCT ON (t.tenant, t.id) t.tenant, t.id, t.incarnation, t.operation, t.at, (
                SELECT json_agg(json_build_object('incarnation', encode(o.incarnation, 'hex')::uuid,
                    'operation', o.operation, 'at', o.at) ORDER BY o.tid)
                FROM holdover.tombstone o WHERE o.tenant = t.tenant AND o.id = t.id) AS lives
        FROM holdover.tombstone t ORDER BY t.tenant, t.id, t.tid DESC
    ) l
    WHERE NOT EXISTS (SELECT FROM holdover.session s WHERE s.tenant = l.tenant AND s.id = l.id);
DROP TABLE holdover.tombstone;

-- With an index over `updated_at`, every commit would write an entry. `dead_since` changes only when an incarnation
-- begins or ends.
CREATE INDEX session_dead ON holdover.session (dead_since, tenant, id) WHERE dead_since IS NOT NULL;
DROP INDEX holdover.session_newest;
CREATE INDEX session_newest ON holdover.session (tenant, created_at, id) WHERE dead_since IS NULL;

-- The program numbers pending calls in the order in which their session opened them. The program's numbers begin far
-- above the ones that are assigned here.
ALTER TABLE holdover.pending ALTER COLUMN pid DROP IDENTITY;
ALTER TABLE holdover.pending RENAME COLUMN pid TO place;
UPDATE holdover.pending AS p SET place = n.nth FROM (
    SELECT o.sid, o.id, row_number() OVER (PARTITION BY o.sid ORDER BY o.place) AS nth FROM holdover.pending o
) n WHERE p.sid = n.sid AND p.id = n.id;

-- Functions for the view `transcript`, which is for people.

-- Returns the instant of these milliseconds, or infinity beyond the years that a calendar has.
CREATE FUNCTION holdover.instant(p_ms bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN p_ms > 253402300799999 THEN 'infinity'::timestamptz
        WHEN p_ms < -62135596800000 THEN '-infinity'::timestamptz
        ELSE to_timestamp(p_ms / 1000.0) END
$$;
-- Returns the bytes as JSON, as it was written, or a note if they are not JSON.
CREATE FUNCTION holdover.readable(p_bytes bytea) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN convert_from(p_bytes, 'UTF8')::json;
EXCEPTION WHEN OTHERS THEN
    RETURN json_build_object('unreadable', 'no UTF-8 JSON', 'bytes', octet_length(p_bytes));
END $$;
-- Sessions, messages and events, to read only. A query should name a tenant and a session; without them it reads
-- everything.
CREATE VIEW holdover.transcript (tenant, session, kind, seq, at, content) AS
    SELECT s.tenant, s.id, 'session', 0::bigint, holdover.instant(s.updated_at), json_build_object(
            'status', s.status, 'version', s.version, 'epoch', s.epoch, 'queue', s.queue,
            'worker', s.lease_worker, 'lease_ends', holdover.instant(s.lease_ends),
            'alarm', holdover.instant(s.alarm), 'unread', s.unread, 'interrupt', s.interrupt_kind,
            'created_at', holdover.instant(s.created_at), 'state', holdover.readable(t.payload))
        FROM holdover.session s LEFT JOIN holdover.state t ON t.sid = s.sid WHERE s.dead_since IS NULL
    UNION ALL
    SELECT s.tenant, s.id, 'message', m.seq, holdover.instant(m.at), holdover.readable(m.payload)
        FROM holdover.session s JOIN holdover.message m ON m.sid = s.sid
    UNION ALL
    SELECT s.tenant, s.id, 'event', e.seq - cardinality(z.sizes) + n.nth, holdover.instant(e.at),
            holdover.readable(substring(e.payload FROM (1 + coalesce((
                SELECT sum(z.sizes[k]) FROM generate_series(1, n.nth - 1) AS k), 0))::int FOR z.sizes[n.nth]::int))
        FROM holdover.session s JOIN holdover.event e ON e.sid = s.sid
        CROSS JOIN LATERAL (SELECT coalesce(e.sizes, ARRAY[octet_length(e.payload)::bigint]) AS sizes) z
        CROSS JOIN LATERAL generate_subscripts(z.sizes, 1) AS n (nth);
