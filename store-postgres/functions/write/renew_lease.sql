-- Lets the lease run for `p_lease_ms` from now; never shortens it.
CREATE FUNCTION holdover.renew_lease(
    p_tenant text, p_id text, p_incarnation bytea, p_epoch bigint, p_lease_ms bigint, p_channel text,
    OUT outcome text, OUT receipt holdover.receipt)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    before holdover.session;
    session holdover.session;
    now bigint;
    ends bigint;
BEGIN
    SELECT s.* INTO before FROM holdover.session s
        WHERE s.tenant = p_tenant AND s.id = p_id FOR NO KEY UPDATE;
    IF NOT FOUND OR NOT holdover.admits(before, p_incarnation, p_epoch) THEN
        outcome := 'stale_fence';
        RETURN;
    END IF;
    now := holdover.now_ms();
    session := before;
    ends := holdover.after(now, p_lease_ms);
    IF session.lease_ends < ends THEN
        session.lease_ends := ends;
        session.lease_granted_ms := p_lease_ms;
        session.alarm := ends;
        session.updated_at := now;
        PERFORM holdover.save(before, session, now, p_channel);
    END IF;
    outcome := 'renewed';
    receipt := holdover.receipt_of(session, now);
END $$;
