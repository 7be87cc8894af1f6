-- Leaves the session: no wake-up is ever lost.
CREATE FUNCTION holdover.release(session holdover.session, p_status text, p_deadline bigint, p_now bigint)
RETURNS holdover.session LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    session := holdover.end_lease(session);
    session.status := p_status;
    IF p_status = 'aborted'
        OR (holdover.at_rest(p_status) AND session.interrupt_kind IS DISTINCT FROM 'abort') THEN
        session := holdover.clear_interrupt(session);
    END IF;
    session.alarm := CASE
        WHEN p_status = 'aborted' THEN NULL
        WHEN holdover.wanted_at_once(session) THEN p_now
        ELSE p_deadline END;
    RETURN session;
END $$;
