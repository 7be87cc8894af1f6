-- Makes results and start marks durable before their step is finished. The row is locked and not changed.
CREATE FUNCTION holdover.stage_result(
    p_tenant text, p_id text, p_incarnation bytea, p_epoch bigint,
    p_calls text[], p_digests bytea[], p_payloads bytea[], p_starts text[],
    OUT outcome text, OUT subject text, OUT receipt holdover.receipt)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    session holdover.session;
BEGIN
    SELECT s.* INTO session FROM holdover.session s
        WHERE s.tenant = p_tenant AND s.id = p_id FOR NO KEY UPDATE;
    IF NOT FOUND OR NOT holdover.admits(session, p_incarnation, p_epoch) THEN
        outcome := 'stale_fence';
        RETURN;
    END IF;
    IF cardinality(p_calls) > 0 THEN
        subject := holdover.stage_conflict(session.sid, p_calls, p_digests);
        IF subject IS NOT NULL THEN
            outcome := 'conflict';
            RETURN;
        END IF;
        PERFORM holdover.stage(session.sid, p_calls, p_digests, p_payloads);
    END IF;
    INSERT INTO holdover.start_mark (sid, call)
        SELECT DISTINCT session.sid, c.call FROM unnest(p_starts) AS c (call)
        ON CONFLICT DO NOTHING;
    outcome := 'staged';
    receipt := holdover.receipt_of(session, holdover.now_ms());
END $$;
