-- The first page of what is not consumed after `p_after`, in order: at most `p_rows` items and 8 MiB, but at
-- least one if there is one. Sees what the statement sees that calls it.
CREATE FUNCTION holdover.inbox_after(p_sid bigint, p_after bigint, p_rows bigint) RETURNS holdover.inbox_page
LANGUAGE sql STABLE AS $$
    SELECT ROW(
        array_agg(i.seq ORDER BY i.seq) FILTER (WHERE i.fits),
        array_agg(i.key ORDER BY i.seq) FILTER (WHERE i.fits),
        array_agg(i.kind ORDER BY i.seq) FILTER (WHERE i.fits),
        array_agg(i.wake ORDER BY i.seq) FILTER (WHERE i.fits),
        array_agg(i.pending ORDER BY i.seq) FILTER (WHERE i.fits),
        array_agg(i.settles ORDER BY i.seq) FILTER (WHERE i.fits),
        array_agg(i.at ORDER BY i.seq) FILTER (WHERE i.fits),
        array_agg(i.digest ORDER BY i.seq) FILTER (WHERE i.fits),
        array_agg(i.payload ORDER BY i.seq) FILTER (WHERE i.fits),
        coalesce(bool_or(NOT i.fits), false))::holdover.inbox_page
    FROM (
        SELECT o.*, row_number() OVER places = 1
            OR (row_number() OVER places <= p_rows AND sum(octet_length(o.payload)) OVER places <= 8388608) AS fits
        FROM (
            SELECT * FROM holdover.item u
            WHERE u.sid = p_sid AND u.seq > p_after AND u.payload IS NOT NULL ORDER BY u.seq LIMIT p_rows + 1
        ) o WINDOW places AS (ORDER BY o.seq)
    ) i
$$;
