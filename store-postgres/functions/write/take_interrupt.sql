-- Hands the waiting interrupt to the run that asks. Where there is nothing to hand, nothing is locked.
CREATE FUNCTION holdover.take_interrupt(
    p_tenant text, p_id text, p_incarnation bytea, p_epoch bigint, p_channel text,
    OUT outcome text, OUT session holdover.session)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    before holdover.session;
BEGIN
    SELECT s.* INTO session FROM holdover.session s WHERE s.tenant = p_tenant AND s.id = p_id;
    IF FOUND AND holdover.admits(session, p_incarnation, p_epoch) AND session.interrupt_id IS NOT NULL
        AND session.interrupt_handed_to IS DISTINCT FROM session.epoch THEN
        SELECT s.* INTO session FROM holdover.session s
            WHERE s.tenant = p_tenant AND s.id = p_id FOR NO KEY UPDATE;
    END IF;
    IF NOT FOUND OR NOT holdover.admits(session, p_incarnation, p_epoch) THEN
        outcome := 'stale_fence';
    ELSIF session.interrupt_id IS NULL THEN
        outcome := 'clear';
    ELSE
        outcome := 'waiting';
        before := session;
        session.interrupt_handed_to := session.epoch;
        PERFORM holdover.save(before, session, holdover.now_ms(), p_channel);
    END IF;
END $$;
