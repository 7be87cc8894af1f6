-- Opens pending calls, none of which was ever opened before. No deadline: never.
CREATE FUNCTION holdover.open_pending(
    session holdover.session, p_ids text[], p_calls text[], p_kinds text[], p_needed bigint[],
    p_deadlines bigint[], p_digests bytea[], p_bodies bytea[], p_now bigint)
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    INSERT INTO holdover.opened (sid, id) SELECT session.sid, n.id FROM unnest(p_ids) AS n (id);
    INSERT INTO holdover.pending (sid, tenant, session, incarnation, id, call, kind, needed, endless, deadline,
            opened_at, digest, payload)
        SELECT session.sid, session.tenant, session.id, session.incarnation, n.id, n.call, n.kind, n.needed,
            n.deadline IS NULL, coalesce(n.deadline, 0), p_now, n.digest, n.body
        FROM unnest(p_ids, p_calls, p_kinds, p_needed, p_deadlines, p_digests, p_bodies) WITH ORDINALITY
            AS n (id, call, kind, needed, deadline, digest, body, nth)
        ORDER BY n.nth;
END $$;
