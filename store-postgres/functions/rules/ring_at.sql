-- Sets the alarm to `p_at`, if it does not ring before.
CREATE FUNCTION holdover.ring_at(session holdover.session, p_at bigint) RETURNS holdover.session
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    session.alarm := least(session.alarm, p_at);
    RETURN session;
END $$;
