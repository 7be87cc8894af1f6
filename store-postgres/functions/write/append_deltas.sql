-- Appends deltas to the stream of the run that holds the session.
CREATE FUNCTION holdover.append_deltas(
    p_tenant text, p_id text, p_incarnation bytea, p_epoch bigint, p_stream bigint, p_first bigint,
    p_digests bytea[], p_payloads bytea[], p_channel text,
    OUT outcome text, OUT expected bigint, OUT receipt holdover.receipt)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    before holdover.session;
    session holdover.session;
    now bigint;
    continues boolean;
    last_place bigint;
    skip bigint;
BEGIN
    SELECT s.* INTO before FROM holdover.session s
        WHERE s.tenant = p_tenant AND s.id = p_id FOR NO KEY UPDATE;
    IF NOT FOUND OR NOT holdover.admits(before, p_incarnation, p_epoch) THEN
        outcome := 'stale_fence';
        RETURN;
    END IF;
    now := holdover.now_ms();
    continues := (p_epoch, p_stream) = (before.stream_run, before.stream_number);
    IF (p_epoch, p_stream) < (before.stream_run, before.stream_number)
        OR (continues AND NOT before.stream_open) THEN
        outcome := 'ended';
        RETURN;
    END IF;
    last_place := CASE WHEN continues THEN before.stream_last ELSE 0 END;
    IF p_first = 0 OR p_first > last_place + 1 THEN
        outcome := 'gap';
        expected := last_place + 1;
        RETURN;
    END IF;
    skip := least(last_place + 1 - p_first, cardinality(p_digests));
    IF NOT continues AND before.stream_open THEN
        DELETE FROM holdover.delta d WHERE d.sid = before.sid;
    END IF;
    INSERT INTO holdover.delta (sid, place, digest, payload)
        SELECT before.sid, p_first + n.nth - 1, n.digest, n.payload
        FROM unnest(p_digests, p_payloads) WITH ORDINALITY AS n (digest, payload, nth) WHERE n.nth > skip;
    session := before;
    session.stream_run := p_epoch;
    session.stream_number := p_stream;
    session.stream_last := last_place + cardinality(p_digests) - skip;
    session.stream_open := true;
    PERFORM holdover.save(before, session, now, p_channel);
    outcome := 'appended';
    receipt := holdover.receipt_of(session, now);
END $$;
