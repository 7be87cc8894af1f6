-- The news as of `p_now`.
CREATE FUNCTION holdover.receipt_of(session holdover.session, p_now bigint) RETURNS holdover.receipt
LANGUAGE sql IMMUTABLE AS $$
    SELECT ROW(session.version, session.last_message, session.last_item, session.unread,
        session.interrupt_id IS NOT NULL, p_now, coalesce(session.lease_ends, p_now))::holdover.receipt
$$;
