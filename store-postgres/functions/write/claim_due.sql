-- Claims at most as many sessions that are due as there are runs. One that another write holds is passed over;
-- if that leaves nothing, the first such is waited for, for a moment, and everything is looked at once more. One
-- that cannot be read is not claimed and holds up nobody else; of the first eight such the key is answered and
-- what it is, so that somebody hears of it. Each is locked by a statement of its own and decided on as it is then.
CREATE FUNCTION holdover.claim_due(
    p_runs text[], p_worker text, p_lease_ms bigint, p_queues text[], p_newest_format bigint, p_only_tenant text,
    p_channel text)
RETURNS TABLE (
    now bigint, tenant text, id text, unreadable text,
    session holdover.session, extras holdover.surroundings)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    before holdover.session;
    candidate record;
    last_alarm bigint := -9223372036854775808;
    last_tenant text := '';
    last_id text := '';
    wanted bigint := cardinality(p_runs);
    claimed bigint := 0;
    page bigint := least(wanted, 1000) + 16;
    seen bigint;
    passed_over bigint;
    told bigint := 0;
    waited boolean := false;
BEGIN
    now := holdover.now_ms();
    LOOP
        seen := 0;
        FOR candidate IN SELECT * FROM holdover.due_now(p_queues, p_newest_format, p_only_tenant, now,
            last_alarm, last_tenant, last_id, page)
        LOOP
            seen := seen + 1;
            last_alarm := candidate.alarm;
            last_tenant := candidate.tenant;
            last_id := candidate.id;
            SELECT s.* INTO before FROM holdover.session s WHERE s.sid = candidate.sid
                FOR NO KEY UPDATE SKIP LOCKED;
            IF NOT FOUND THEN
                passed_over := coalesce(passed_over, candidate.sid);
                CONTINUE;
            END IF;
            CONTINUE WHEN NOT holdover.is_due(before, p_queues, p_newest_format, p_only_tenant, now);
            session := NULL;
            extras := holdover.surroundings_of(before.sid, true);
            unreadable := holdover.unreadable(before, extras);
            IF unreadable IS NULL THEN
                claimed := claimed + 1;
                session := holdover.claim(before, p_runs[claimed], p_worker, p_lease_ms, now);
                PERFORM holdover.save(before, session, now, p_channel);
            ELSE
                CONTINUE WHEN told >= 8;
                told := told + 1;
                extras := NULL;
            END IF;
            tenant := before.tenant;
            id := before.id;
            RETURN NEXT;
            IF claimed >= wanted THEN
                RETURN;
            END IF;
        END LOOP;
        CONTINUE WHEN seen = page;
        EXIT WHEN claimed > 0 OR passed_over IS NULL OR waited;
        PERFORM holdover.wait_for(passed_over);
        waited := true;
        now := holdover.now_ms();
        last_alarm := -9223372036854775808;
        last_tenant := '';
        last_id := '';
    END LOOP;
END $$;
