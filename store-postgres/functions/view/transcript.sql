-- Sessions, messages and events for a person to read. It cannot be written to. Give a tenant and a session: who
-- asks for all of it reads all of it. There is one, of whichever program brought its functions last.
CREATE OR REPLACE VIEW holdover.transcript (tenant, session, kind, seq, at, content) AS
    SELECT s.tenant, s.id, 'session', 0::bigint, holdover.instant(s.updated_at), json_build_object(
            'status', s.status, 'version', s.version, 'epoch', s.epoch, 'queue', s.queue,
            'worker', s.lease_worker, 'lease_ends', holdover.instant(s.lease_ends),
            'alarm', holdover.instant(s.alarm), 'unread', s.unread, 'interrupt', s.interrupt_kind,
            'created_at', holdover.instant(s.created_at), 'state', holdover.readable(t.payload))
        FROM holdover.session s LEFT JOIN holdover.state t ON t.sid = s.sid
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
