-- Puts in the row of a new session, unless there is one of its key, or a tombstone names it. The row is put in
-- first: from then on no other creation of this key can pass, so what its tombstones say stays true. If there
-- is a session, it is locked, and `outcome` says what a creation by this operation is answered.
CREATE FUNCTION holdover.enter(
    p_tenant text, p_id text, p_incarnation bytea, p_operation text, p_queue text, p_format bigint,
    p_status text, p_version bigint, p_epoch bigint,
    OUT session holdover.session, OUT entered boolean, OUT outcome text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    now bigint := holdover.now_ms();
BEGIN
    entered := false;
    FOR nth IN 1 .. 100 LOOP
        SELECT s.* INTO session FROM holdover.session s
            WHERE s.tenant = p_tenant AND s.id = p_id FOR NO KEY UPDATE;
        IF FOUND THEN
            outcome := CASE
                WHEN session.created_by = p_operation THEN 'created'
                WHEN holdover.named_by_tombstone(p_tenant, p_id, p_incarnation, p_operation) THEN 'deleted'
                ELSE 'already_exists' END;
            RETURN;
        END IF;
        -- Waits for another creation of this key that is in flight.
        INSERT INTO holdover.session AS s (tenant, id, incarnation, created_by, queue, created_at, status,
                version, epoch, format, found, updated_at)
            VALUES (p_tenant, p_id, p_incarnation, p_operation, p_queue, now, p_status,
                p_version, p_epoch, p_format, p_status, now)
            ON CONFLICT ON CONSTRAINT session_key DO NOTHING
            RETURNING s.* INTO session;
        IF FOUND THEN
            IF holdover.named_by_tombstone(p_tenant, p_id, p_incarnation, p_operation) THEN
                DELETE FROM holdover.session s WHERE s.sid = session.sid;
                outcome := 'deleted';
            ELSE
                entered := true;
            END IF;
            RETURN;
        END IF;
    END LOOP;
    RAISE EXCEPTION 'sessions of one key come and go' USING ERRCODE = 'serialization_failure';
END $$;
