-- One step of a walk over the sessions that rest and in which nothing waits, longest unchanged first. They are
-- locked first, and then decided on as they are. No `p_keep`: sessions are removed; else all checkpoints but so
-- many. After `p_most_ms` no further session is begun; no more than 1000 are dealt with, and 10000 looked at. The
-- walk goes on wherever the step ended.
CREATE FUNCTION holdover.purge(
    p_only_tenant text, p_status text[], p_unchanged_since bigint, p_keep bigint, p_limit bigint, p_most_ms bigint,
    p_at bigint, p_tenant text, p_id text, p_channel text,
    OUT sessions bigint, OUT checkpoints bigint, OUT next_at bigint, OUT next_tenant text, OUT next_id text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    most int := least(p_limit, 1000);
    walk int := CASE WHEN p_only_tenant IS NULL AND p_status IS NULL THEN most + 1 ELSE 10000 END;
    resting record;
    earlier bigint[];
    session holdover.session;
    now bigint := holdover.now_ms();
    dealt int := 0;
    removed bigint;
BEGIN
    sessions := 0;
    checkpoints := 0;
    -- Whoever waited for a lock looks again: what it waited for may have made another session.
    FOR nth IN 1 .. 3 LOOP
        WITH walked AS MATERIALIZED (
            SELECT s.sid, s.resting_since AS at, s.tenant, s.id, s.status,
                row_number() OVER (ORDER BY s.resting_since, s.tenant, s.id) AS place
            FROM holdover.session s
            WHERE s.resting_since IS NOT NULL AND s.resting_since < p_unchanged_since
                AND (s.resting_since, s.tenant, s.id) > (p_at, p_tenant, p_id)
            ORDER BY s.resting_since, s.tenant, s.id LIMIT walk
        ), wanted AS (
            SELECT * FROM walked w
            WHERE (p_only_tenant IS NULL OR w.tenant = p_only_tenant)
                AND (p_status IS NULL OR w.status = ANY (p_status))
            ORDER BY w.place LIMIT most + 1
        )
        SELECT coalesce(array_agg(w.sid ORDER BY w.place), '{}') AS sids, array_agg(w.at ORDER BY w.place) AS ats,
                array_agg(w.tenant ORDER BY w.place) AS tenants, array_agg(w.id ORDER BY w.place) AS ids,
                (SELECT l.at FROM walked l WHERE l.place = 10000) AS last_at,
                (SELECT l.tenant FROM walked l WHERE l.place = 10000) AS last_tenant,
                (SELECT l.id FROM walked l WHERE l.place = 10000) AS last_id
            INTO resting FROM wanted w;
        EXIT WHEN resting.sids = earlier;
        earlier := resting.sids;
        PERFORM FROM holdover.session s WHERE s.sid = ANY (resting.sids[:most])
            ORDER BY s.resting_since, s.tenant, s.id FOR UPDATE;
    END LOOP;
    FOR nth IN 1 .. least(cardinality(resting.sids), most) LOOP
        EXIT WHEN nth > 1 AND holdover.now_ms() - now >= p_most_ms;
        dealt := nth;
        SELECT s.* INTO session FROM holdover.session s WHERE s.sid = resting.sids[nth] FOR UPDATE;
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
    IF dealt < cardinality(resting.sids) THEN
        next_at := resting.ats[dealt];
        next_tenant := resting.tenants[dealt];
        next_id := resting.ids[dealt];
    ELSE
        next_at := resting.last_at;
        next_tenant := resting.last_tenant;
        next_id := resting.last_id;
    END IF;
    PERFORM holdover.clear_tombstones(most, now);
END $$;
