-- Whether the item that was just counted wakes the session. A live run is never taken over by it.
CREATE FUNCTION holdover.wakes(session holdover.session, p_wake text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN session.status IN ('active', 'aborted') THEN false
        WHEN session.status = 'suspended' THEN holdover.reaches(session)
        ELSE p_wake <> 'quiet' END
$$;
