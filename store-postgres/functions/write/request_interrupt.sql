-- Asks the session to stop. The first soft request that waits is kept; the first abort replaces it.
CREATE FUNCTION holdover.request_interrupt(
    p_tenant text, p_id text, p_interrupt_id text, p_kind text, p_reason bytea, p_at bigint, p_incarnation bytea,
    p_channel text,
    OUT outcome text, OUT waiting text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    before holdover.session;
    session holdover.session;
    now bigint;
BEGIN
    SELECT s.* INTO before FROM holdover.session s
        WHERE s.tenant = p_tenant AND s.id = p_id FOR NO KEY UPDATE;
    IF NOT FOUND OR p_incarnation <> before.incarnation THEN
        outcome := 'not_found';
    ELSIF before.status = 'aborted' THEN
        outcome := 'aborted';
    ELSIF before.interrupt_kind = 'abort' OR before.interrupt_kind = p_kind THEN
        outcome := 'already_waiting';
        waiting := before.interrupt_id;
    ELSIF p_kind = 'soft' AND holdover.at_rest(before.status) THEN
        outcome := 'at_rest';
    ELSE
        now := holdover.now_ms();
        session := before;
        session.interrupt_id := p_interrupt_id;
        session.interrupt_kind := p_kind;
        session.interrupt_reason := p_reason;
        session.interrupt_at := p_at;
        session.interrupt_incarnation := p_incarnation;
        session.interrupt_handed_to := NULL;
        session.updated_at := now;
        IF session.status <> 'active' THEN
            session := holdover.ring_at(session, now);
        END IF;
        PERFORM holdover.save(before, session, now, p_channel);
        outcome := 'requested';
    END IF;
END $$;
