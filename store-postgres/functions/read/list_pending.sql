-- Open pending calls of a tenant after this place, soonest deadline first, at most `p_limit` and one row more. A
-- row that does not fit the page's 8 MiB any more comes without its payload. Of those of one kind in all sessions no
-- more than 10000 are looked at: the last row then has no call, and its place says where to go on.
CREATE FUNCTION holdover.list_pending(
    p_tenant text, p_session text, p_kind text,
    p_endless boolean, p_deadline bigint, p_after_session text, p_id text, p_limit bigint)
RETURNS TABLE (
    fits boolean, endless boolean, deadline bigint, session text, id text, tenant text, incarnation bytea, call text,
    kind text, needed bigint, answered bigint, last_answer bigint, opened_at bigint, digest bytea, payload bytea)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    sids bigint[];
    ids text[];
BEGIN
    IF p_session IS NULL THEN
        SELECT array_agg(f.sid), array_agg(f.id) INTO sids, ids FROM (
            SELECT w.sid, w.id FROM (
                SELECT p.sid, p.id, p.endless, p.deadline, p.session, p.kind FROM holdover.pending p
                WHERE p.tenant = p_tenant
                    AND (p.endless, p.deadline, p.session, p.id) > (p_endless, p_deadline, p_after_session, p_id)
                ORDER BY p.endless, p.deadline, p.session, p.id LIMIT 10000
            ) w WHERE p_kind IS NULL OR w.kind = p_kind
            ORDER BY w.endless, w.deadline, w.session, w.id LIMIT p_limit + 1
        ) f;
    ELSE
        SELECT array_agg(f.sid), array_agg(f.id) INTO sids, ids FROM (
            SELECT p.sid, p.id FROM holdover.pending p
            WHERE p.sid = (SELECT s.sid FROM holdover.session s WHERE s.tenant = p_tenant AND s.id = p_session)
                AND (p_kind IS NULL OR p.kind = p_kind)
                AND (p.endless, p.deadline, p.session, p.id) > (p_endless, p_deadline, p_after_session, p_id)
            ORDER BY p.endless, p.deadline, p.session, p.id LIMIT p_limit + 1
        ) f;
    END IF;
    RETURN QUERY
        SELECT f.fits, f.endless, f.deadline, f.session, f.id, f.tenant, f.incarnation, f.call, f.kind, f.needed,
            f.answered, f.last_answer, f.opened_at, f.digest, CASE WHEN f.fits THEN f.payload END
        FROM (
            SELECT p.*, row_number() OVER places = 1 OR (row_number() OVER places <= p_limit
                AND sum(octet_length(p.payload)) OVER places <= 8388608) AS fits
            FROM unnest(sids, ids) AS k (sid, id) JOIN holdover.pending p ON p.sid = k.sid AND p.id = k.id
            WINDOW places AS (ORDER BY p.endless, p.deadline, p.session, p.id)
        ) f ORDER BY f.endless, f.deadline, f.session, f.id;
    IF p_session IS NULL AND p_kind IS NOT NULL AND coalesce(cardinality(sids), 0) <= p_limit THEN
        SELECT p.endless, p.deadline, p.session, p.id INTO endless, deadline, session, id FROM holdover.pending p
            WHERE p.tenant = p_tenant
                AND (p.endless, p.deadline, p.session, p.id) > (p_endless, p_deadline, p_after_session, p_id)
            ORDER BY p.endless, p.deadline, p.session, p.id OFFSET 9999 LIMIT 1;
        IF FOUND THEN
            RETURN NEXT;
        END IF;
    END IF;
END $$;
