-- Sessions of a tenant after this place and created no earlier than `p_created_since`, newest first, at most `p_limit`.
-- Of those that are asked for by more than tenant and creation no more than 10000 are looked at: the last row then has
-- no session and says where to go on.
CREATE FUNCTION holdover.list_sessions(
    p_tenant text, p_status text[], p_queue text, p_label_names bytea[], p_label_values bytea[],
    p_created_since bigint, p_changed_since bigint, p_changed_before bigint,
    p_created_at bigint, p_id text, p_limit bigint)
RETURNS TABLE (
    walked_at bigint, walked_id text, session holdover.session, label_names bytea[], label_values bytea[])
LANGUAGE plpgsql STABLE AS $$
DECLARE
    found_rows bigint;
BEGIN
    RETURN QUERY
        SELECT NULL::bigint, NULL::text, s, l.names, l.vals FROM (
            SELECT w.sid, w.created_at, w.id FROM (
                SELECT o.sid, o.created_at, o.id, o.status, o.queue, o.updated_at FROM holdover.session o
                WHERE o.tenant = p_tenant AND (o.created_at, o.id) < (p_created_at, p_id)
                    AND o.created_at >= p_created_since
                ORDER BY o.created_at DESC, o.id DESC LIMIT 10000
            ) w
            WHERE (p_status IS NULL OR w.status = ANY (p_status))
                AND (p_queue IS NULL OR w.queue = p_queue)
                AND (p_changed_since IS NULL OR w.updated_at >= p_changed_since)
                AND (p_changed_before IS NULL OR w.updated_at < p_changed_before)
                AND NOT EXISTS (
                    SELECT FROM unnest(p_label_names, p_label_values) AS n (name, value)
                    WHERE NOT EXISTS (
                        SELECT FROM holdover.label o
                        WHERE o.sid = w.sid AND o.name = n.name AND o.value = n.value))
            ORDER BY w.created_at DESC, w.id DESC LIMIT p_limit
        ) f JOIN holdover.session s ON s.sid = f.sid CROSS JOIN LATERAL (
            SELECT array_agg(l.name) AS names, array_agg(l.value) AS vals FROM holdover.label l WHERE l.sid = f.sid
        ) l ORDER BY f.created_at DESC, f.id DESC;
    GET DIAGNOSTICS found_rows = ROW_COUNT;
    IF found_rows < p_limit AND (p_status IS NOT NULL OR p_queue IS NOT NULL OR p_label_names <> '{}'
        OR p_changed_since IS NOT NULL OR p_changed_before IS NOT NULL) THEN
        SELECT o.created_at, o.id INTO walked_at, walked_id FROM holdover.session o
            WHERE o.tenant = p_tenant AND (o.created_at, o.id) < (p_created_at, p_id)
                AND o.created_at >= p_created_since
            ORDER BY o.created_at DESC, o.id DESC OFFSET 9999 LIMIT 1;
        IF FOUND THEN
            RETURN NEXT;
        END IF;
    END IF;
END $$;
