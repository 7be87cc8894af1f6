-- Nobody holds the session any more, and its stream is over.
CREATE FUNCTION holdover.end_lease(session holdover.session) RETURNS holdover.session
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    session.lease_worker := NULL;
    session.lease_ends := NULL;
    session.lease_granted_ms := NULL;
    session.stream_open := false;
    RETURN session;
END $$;
