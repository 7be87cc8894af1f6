-- Whether a session that is being released is due now.
CREATE FUNCTION holdover.wanted_at_once(session holdover.session) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT session.interrupt_id IS NOT NULL OR CASE
        WHEN holdover.at_rest(session.status) THEN session.unseen_urgent OR session.unseen_counted > 0
        ELSE holdover.reaches(session) END
$$;
