-- Extends the lease by what it was granted for, if less than half of that is left. One that was granted for
-- longer than there are instants ends with the last of them already.
CREATE FUNCTION holdover.keep_lease(session holdover.session, p_now bigint) RETURNS holdover.session
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    remaining bigint := greatest(session.lease_ends - p_now, 0);
BEGIN
    IF session.lease_granted_ms >= 0 AND remaining < session.lease_granted_ms - remaining THEN
        session.lease_ends := holdover.after(p_now, session.lease_granted_ms);
        session.alarm := session.lease_ends;
    END IF;
    RETURN session;
END $$;
