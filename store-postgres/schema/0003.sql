-- The program decides; the database keeps rows. No function is on any path of the program, so those of every earlier
-- program go: whoever still runs one finds that its functions are missing, looks, and refuses the newer schema.
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

-- A row of `session` is what stands under a key. `token` is a random number that every write of the session replaces: a
-- write is applied if the token is still the one that it was decided on. There is no default, so an INSERT of an earlier
-- program fails.
ALTER TABLE holdover.session ADD COLUMN token bigint NOT NULL DEFAULT 0;
ALTER TABLE holdover.session ALTER COLUMN token DROP DEFAULT;

-- `lives` names the lives that were deleted under this key within a day: a late duplicate of their creation creates
-- nothing. Where no session stands, the row has status 'deleted', `dead_since` says when the last life ended, and the
-- other columns hold nothing of interest.
ALTER TABLE holdover.session ADD COLUMN lives json;
ALTER TABLE holdover.session ADD COLUMN dead_since bigint;

-- Every write replaces a row of `session`, and Postgres reads the text of each CHECK and of each generated column
-- anew for every statement that writes one: a quarter of the time of a commit. The program writes the column itself,
-- and says of a row in which columns do not go together that it cannot be read.
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

-- An index over `updated_at` would make every commit write an entry: `dead_since` changes only with a life.
CREATE INDEX session_dead ON holdover.session (dead_since, tenant, id) WHERE dead_since IS NOT NULL;
DROP INDEX holdover.session_newest;
CREATE INDEX session_newest ON holdover.session (tenant, created_at, id) WHERE dead_since IS NULL;

-- The program numbers pending calls in the order in which their session opened them. Its numbers begin far above these.
ALTER TABLE holdover.pending ALTER COLUMN pid DROP IDENTITY;
ALTER TABLE holdover.pending RENAME COLUMN pid TO place;
UPDATE holdover.pending AS p SET place = n.nth FROM (
    SELECT o.sid, o.id, row_number() OVER (PARTITION BY o.sid ORDER BY o.place) AS nth FROM holdover.pending o
) n WHERE p.sid = n.sid AND p.id = n.id;

-- For people, who read the view `transcript`.

-- The instant of these milliseconds; infinity where a calendar has none.
CREATE FUNCTION holdover.instant(p_ms bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN p_ms > 253402300799999 THEN 'infinity'::timestamptz
        WHEN p_ms < -62135596800000 THEN '-infinity'::timestamptz
        ELSE to_timestamp(p_ms / 1000.0) END
$$;
-- The JSON that these bytes are, as it was written; a note where they are none.
CREATE FUNCTION holdover.readable(p_bytes bytea) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN convert_from(p_bytes, 'UTF8')::json;
EXCEPTION WHEN OTHERS THEN
    RETURN json_build_object('unreadable', 'no UTF-8 JSON', 'bytes', octet_length(p_bytes));
END $$;
-- Sessions, messages and events. It cannot be written to. Give a tenant and a session: who asks for all of it reads
-- all of it.
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
