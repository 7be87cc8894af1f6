-- Removes every row of a session, also of one whose row means nothing any more.
CREATE FUNCTION holdover.delete_session(
    p_tenant text, p_id text, p_incarnation bytea, p_force boolean, p_channel text, OUT outcome text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    session holdover.session;
BEGIN
    SELECT s.* INTO session FROM holdover.session s WHERE s.tenant = p_tenant AND s.id = p_id FOR UPDATE;
    IF NOT FOUND OR p_incarnation <> session.incarnation THEN
        outcome := 'not_found';
    ELSIF session.status = 'active' AND NOT p_force THEN
        outcome := 'active';
    ELSE
        PERFORM holdover.delete_rows(session, holdover.now_ms(), p_channel);
        outcome := 'deleted';
    END IF;
END $$;
