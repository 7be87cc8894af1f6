-- Whether a worker that serves these queues (all if none are named) and reads formats up to this one may claim
-- the session now.
CREATE FUNCTION holdover.is_due(
    session holdover.session, p_queues text[], p_newest_format bigint, p_tenant text, p_now bigint)
RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(session.alarm <= p_now, false)
        AND (p_tenant IS NULL OR p_tenant = session.tenant)
        AND holdover.claimable(session, NULL, p_now) IS NULL
        AND (session.interrupt_id IS NOT NULL
            OR ((p_queues IS NULL OR session.queue = ANY (p_queues)) AND session.format <= p_newest_format))
$$;
