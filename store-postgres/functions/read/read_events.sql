-- Events after this place and, at the end of the log, the deltas of the stream that runs, all at one instant: at
-- most `p_limit` of both and 8 MiB, but at least one row if there is one. A row of events may begin before the
-- place. A reader that stood in the stream that runs goes on after its place in it. No row: there is no such
-- session; no events of another incarnation are read.
CREATE FUNCTION holdover.read_events(
    p_tenant text, p_id text, p_incarnation bytea, p_after bigint,
    p_stream_run bigint, p_stream_number bigint, p_delta bigint, p_limit bigint)
RETURNS TABLE (
    session holdover.session, seq bigint[], at bigint[], digest bytea[], payload bytea[], sizes text[],
    delta_place bigint[], delta_digest bytea[], delta bytea[])
LANGUAGE plpgsql STABLE AS $$
DECLARE
    bytes bigint;
    reached bigint;
    shown bigint;
    read_up_to bigint := 0;
BEGIN
    SELECT s.* INTO session FROM holdover.session s WHERE s.tenant = p_tenant AND s.id = p_id;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF p_incarnation <> session.incarnation THEN
        RETURN NEXT;
        RETURN;
    END IF;
    SELECT array_agg(e.seq ORDER BY e.seq), array_agg(e.at ORDER BY e.seq), array_agg(e.digest ORDER BY e.seq),
            array_agg(e.payload ORDER BY e.seq), array_agg(e.sizes::text ORDER BY e.seq),
            sum(octet_length(e.payload)), max(e.seq)
        INTO seq, at, digest, payload, sizes, bytes, reached
        FROM (
            SELECT n.*, row_number() OVER places = 1 OR sum(octet_length(n.payload)) OVER places <= 8388608 AS fits
            FROM (
                SELECT * FROM holdover.event o WHERE o.sid = session.sid AND o.seq > p_after
                ORDER BY o.seq LIMIT p_limit
            ) n WINDOW places AS (ORDER BY n.seq)
        ) e WHERE e.fits;
    reached := coalesce(reached, p_after);
    shown := reached - p_after;
    IF session.stream_open AND reached >= session.last_event AND shown < p_limit THEN
        IF (p_stream_run, p_stream_number) = (session.stream_run, session.stream_number) THEN
            read_up_to := p_delta;
        END IF;
        SELECT array_agg(d.place ORDER BY d.place), array_agg(d.digest ORDER BY d.place),
                array_agg(d.payload ORDER BY d.place)
            INTO delta_place, delta_digest, delta
            FROM (
                SELECT n.*, (shown <= 0 AND row_number() OVER places = 1)
                    OR coalesce(bytes, 0) + sum(octet_length(n.payload)) OVER places <= 8388608 AS fits
                FROM (
                    SELECT * FROM holdover.delta o WHERE o.sid = session.sid AND o.place > read_up_to
                    ORDER BY o.place LIMIT p_limit - greatest(shown, 0)
                ) n WINDOW places AS (ORDER BY n.place)
            ) d WHERE d.fits;
    END IF;
    RETURN NEXT;
END $$;
