-- Whether what lies after `inbox_seen` wakes a suspended session.
CREATE FUNCTION holdover.reaches(session holdover.session) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT session.unseen_urgent OR (session.wake_on > 0 AND session.unseen_counted >= session.wake_on)
$$;
