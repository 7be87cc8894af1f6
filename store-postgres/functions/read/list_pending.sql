-- Open pending calls of a tenant after this place, soonest deadline first, at most `p_limit` and one row more. A
-- row that does not fit the page's 8 MiB any more comes without its payload.
CREATE FUNCTION holdover.list_pending(
    p_tenant text, p_session text, p_kind text,
    p_endless boolean, p_deadline bigint, p_after_session text, p_id text, p_limit bigint)
RETURNS TABLE (
    fits boolean, tenant text, session text, incarnation bytea, id text, call text, kind text, needed bigint,
    answered bigint, last_answer bigint, endless boolean, deadline bigint, opened_at bigint, digest bytea,
    payload bytea)
LANGUAGE sql STABLE AS $$
    SELECT f.fits, f.tenant, f.session, f.incarnation, f.id, f.call, f.kind, f.needed, f.answered, f.last_answer,
        f.endless, f.deadline, f.opened_at, f.digest, CASE WHEN f.fits THEN f.payload END
    FROM (
        SELECT n.*, row_number() OVER places = 1 OR (row_number() OVER places <= p_limit
            AND sum(octet_length(n.payload)) OVER places <= 8388608) AS fits
        FROM (
            SELECT * FROM holdover.pending p
            WHERE p.tenant = p_tenant AND (p_session IS NULL OR p.session = p_session)
                AND (p_kind IS NULL OR p.kind = p_kind)
                AND (p.endless, p.deadline, p.session, p.id) > (p_endless, p_deadline, p_after_session, p_id)
            ORDER BY p.endless, p.deadline, p.session, p.id LIMIT p_limit + 1
        ) n WINDOW places AS (ORDER BY n.endless, n.deadline, n.session, n.id)
    ) f ORDER BY f.endless, f.deadline, f.session, f.id
$$;
