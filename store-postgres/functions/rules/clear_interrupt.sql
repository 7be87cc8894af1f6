-- Drops the interrupt that waits.
CREATE FUNCTION holdover.clear_interrupt(session holdover.session) RETURNS holdover.session
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    session.interrupt_id := NULL;
    session.interrupt_kind := NULL;
    session.interrupt_reason := NULL;
    session.interrupt_at := NULL;
    session.interrupt_incarnation := NULL;
    session.interrupt_handed_to := NULL;
    RETURN session;
END $$;
