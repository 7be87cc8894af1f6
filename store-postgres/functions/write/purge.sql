-- One step of a walk over the sessions that rest and in which nothing waits, longest unchanged first. They are
-- locked first, and then decided on as they are. No `p_keep`: sessions are removed; else all checkpoints but so
-- many.
CREATE FUNCTION holdover.purge(
    p_only_tenant text, p_status text[], p_unchanged_since bigint, p_keep bigint, p_limit bigint,
    p_at bigint, p_tenant text, p_id text, p_channel text,
    OUT sessions bigint, OUT checkpoints bigint, OUT next_at bigint, OUT next_tenant text, OUT next_id text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    candidate record;
    resting bigint[];
    earlier bigint[];
    session holdover.session;
    now bigint := holdover.now_ms();
    seen bigint := 0;
    removed bigint;
    last_at bigint;
    last_tenant text;
    last_id text;
BEGIN
    sessions := 0;
    checkpoints := 0;
    -- Whoever waited for a lock looks again: what it waited for may have made another session.
    FOR nth IN 1 .. 3 LOOP
        earlier := resting;
        resting := ARRAY(
            SELECT s.sid FROM holdover.session s
            WHERE s.resting_since IS NOT NULL AND s.resting_since < p_unchanged_since
                AND (s.resting_since, s.tenant, s.id) > (p_at, p_tenant, p_id)
                AND (p_only_tenant IS NULL OR s.tenant = p_only_tenant)
                AND (p_status IS NULL OR s.status = ANY (p_status))
            ORDER BY s.resting_since, s.tenant, s.id LIMIT p_limit + 1);
        EXIT WHEN resting = earlier;
        PERFORM FROM holdover.session s WHERE s.sid = ANY (resting[:least(p_limit, 2147483647)::int])
            ORDER BY s.resting_since, s.tenant, s.id FOR UPDATE;
    END LOOP;
    FOR candidate IN
        SELECT s.sid, s.resting_since, s.tenant, s.id FROM unnest(resting) WITH ORDINALITY AS f (sid, nth)
        JOIN holdover.session s ON s.sid = f.sid ORDER BY f.nth
    LOOP
        seen := seen + 1;
        IF seen > p_limit THEN
            next_at := last_at;
            next_tenant := last_tenant;
            next_id := last_id;
            EXIT;
        END IF;
        last_at := candidate.resting_since;
        last_tenant := candidate.tenant;
        last_id := candidate.id;
        SELECT s.* INTO session FROM holdover.session s WHERE s.sid = candidate.sid FOR UPDATE;
        CONTINUE WHEN NOT FOUND OR session.resting_since IS NULL
            OR session.resting_since >= p_unchanged_since
            OR (p_status IS NOT NULL AND session.status <> ALL (p_status));
        IF p_keep IS NULL THEN
            PERFORM holdover.delete_rows(session, now, p_channel);
            sessions := sessions + 1;
        ELSE
            DELETE FROM holdover.checkpoint c WHERE c.sid = session.sid AND c.id <= (
                SELECT k.id FROM holdover.checkpoint k WHERE k.sid = session.sid
                ORDER BY k.id DESC LIMIT 1 OFFSET p_keep);
            GET DIAGNOSTICS removed = ROW_COUNT;
            checkpoints := checkpoints + removed;
        END IF;
    END LOOP;
    PERFORM holdover.clear_tombstones(p_limit, now);
END $$;
