-- Checkpoints of a session before this one, newest first, at most `p_limit` and one row more; `p_only`: that one
-- alone. One row without a checkpoint: the session has none. A row that does not fit the page's 8 MiB any more
-- comes without its payload.
CREATE FUNCTION holdover.list_checkpoints(
    p_tenant text, p_id text, p_only bigint, p_before bigint, p_limit bigint)
RETURNS TABLE (
    fits boolean, incarnation bytea, id bigint, epoch bigint, last_message bigint, last_event bigint, at bigint,
    format bigint, digest bytea, payload bytea)
LANGUAGE sql STABLE AS $$
    SELECT f.fits, s.incarnation, f.id, f.epoch, f.last_message, f.last_event, f.at, f.format, f.digest,
        CASE WHEN f.fits THEN f.payload END
    FROM holdover.session s LEFT JOIN LATERAL (
        SELECT n.*, row_number() OVER places = 1 OR (row_number() OVER places <= p_limit
            AND sum(octet_length(n.payload)) OVER places <= 8388608) AS fits
        FROM (
            SELECT * FROM holdover.checkpoint c
            WHERE c.sid = s.sid AND c.id < p_before AND (p_only IS NULL OR c.id = p_only)
            ORDER BY c.id DESC LIMIT p_limit + 1
        ) n WINDOW places AS (ORDER BY n.id DESC)
    ) f ON true
    WHERE s.tenant = p_tenant AND s.id = p_id ORDER BY f.id DESC
$$;
