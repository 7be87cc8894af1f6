-- Gives a claim back: the status that it found returns, a takeover's with its lease ended.
CREATE FUNCTION holdover.give_back(session holdover.session, p_alarm bigint, p_now bigint)
RETURNS holdover.session LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    session := holdover.end_lease(session);
    session.status := session.found;
    session.alarm := CASE
        WHEN session.found = 'active' THEN coalesce(p_alarm, p_now)
        WHEN holdover.wanted_at_once(session) THEN p_now
        ELSE p_alarm END;
    RETURN session;
END $$;
