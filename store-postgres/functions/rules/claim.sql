-- Moves the row to active for a new run, closes the record of a run that was lost, opens that of the new one.
-- Only when it is claimable; the caller holds the row's lock and writes the row back.
CREATE FUNCTION holdover.claim(
    session holdover.session, p_run text, p_worker text, p_lease_ms bigint, p_now bigint)
RETURNS holdover.session LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    -- A fork has none of its source's runs.
    continues boolean := session.status <> 'idle' AND session.last_claim IS NOT NULL;
    parent bigint := CASE WHEN continues THEN session.epoch END;
BEGIN
    IF session.run_open THEN
        UPDATE holdover.run AS r SET ended_at = p_now, outcome = 'lost'
            WHERE r.sid = session.sid AND r.epoch = session.epoch AND r.ended_at IS NULL;
    END IF;
    IF session.status = 'active' THEN
        session.attempts := least(session.attempts + 1, 4294967295);
    END IF;
    session.found := session.status;
    session.status := 'active';
    session.epoch := session.epoch + 1;
    session.version := session.version + 1;
    session.last_claim := p_run;
    session.run_open := true;
    session.stream_open := false;
    session.lease_worker := p_worker;
    session.lease_ends := holdover.after(p_now, p_lease_ms);
    session.lease_granted_ms := p_lease_ms;
    session.alarm := session.lease_ends;
    session.updated_at := p_now;
    INSERT INTO holdover.run (sid, epoch, run, worker, found, parent, started_at)
        VALUES (session.sid, session.epoch, p_run, p_worker, session.found, parent, p_now);
    RETURN session;
END $$;
