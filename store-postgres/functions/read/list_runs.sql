-- Runs of a session after this one, in the order they began, at most `p_limit` and one row more. One row without
-- a run: the session has none. A row that does not fit the page's 8 MiB any more comes without its payload.
CREATE FUNCTION holdover.list_runs(p_tenant text, p_id text, p_epoch bigint, p_limit bigint)
RETURNS TABLE (
    fits boolean, epoch bigint, run text, worker text, found text, parent bigint, started_at bigint,
    ended_at bigint, outcome text, digest bytea, detail bytea)
LANGUAGE sql STABLE AS $$
    SELECT f.fits, f.epoch, f.run, f.worker, f.found, f.parent, f.started_at, f.ended_at, f.outcome, f.digest,
        CASE WHEN f.fits THEN f.detail END
    FROM holdover.session s LEFT JOIN LATERAL (
        SELECT n.*, row_number() OVER places = 1 OR (row_number() OVER places <= p_limit
            AND coalesce(sum(octet_length(n.detail)) OVER places, 0) <= 8388608) AS fits
        FROM (
            SELECT * FROM holdover.run r WHERE r.sid = s.sid AND r.epoch > p_epoch
            ORDER BY r.epoch LIMIT p_limit + 1
        ) n WINDOW places AS (ORDER BY n.epoch)
    ) f ON true
    WHERE s.tenant = p_tenant AND s.id = p_id ORDER BY f.epoch
$$;
