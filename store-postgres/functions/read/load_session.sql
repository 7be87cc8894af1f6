-- A session with what belongs to it, at one instant.
CREATE FUNCTION holdover.load_session(p_tenant text, p_id text)
RETURNS TABLE (session holdover.session, extras holdover.surroundings) LANGUAGE plpgsql STABLE AS $$
BEGIN
    SELECT s.* INTO session FROM holdover.session s WHERE s.tenant = p_tenant AND s.id = p_id;
    IF FOUND THEN
        extras := holdover.surroundings_of(session.sid, false);
        RETURN NEXT;
    END IF;
END $$;
