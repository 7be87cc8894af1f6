-- Sessions of a tenant after this place, newest first, at most `p_limit`.
CREATE FUNCTION holdover.list_sessions(
    p_tenant text, p_status text[], p_queue text, p_label_names bytea[], p_label_values bytea[],
    p_created_at bigint, p_id text, p_limit bigint)
RETURNS TABLE (session holdover.session, label_names bytea[], label_values bytea[]) LANGUAGE sql STABLE AS $$
    SELECT s, l.names, l.vals FROM holdover.session s CROSS JOIN LATERAL (
        SELECT array_agg(l.name) AS names, array_agg(l.value) AS vals FROM holdover.label l WHERE l.sid = s.sid
    ) l
    WHERE s.tenant = p_tenant AND (s.created_at, s.id) < (p_created_at, p_id)
        AND (p_status IS NULL OR s.status = ANY (p_status))
        AND (p_queue IS NULL OR s.queue = p_queue)
        AND NOT EXISTS (
            SELECT FROM unnest(p_label_names, p_label_values) AS w (name, value)
            WHERE NOT EXISTS (
                SELECT FROM holdover.label o WHERE o.sid = s.sid AND o.name = w.name AND o.value = w.value))
    ORDER BY s.created_at DESC, s.id DESC LIMIT p_limit
$$;
