-- Puts an item into the inbox, once per key.
CREATE FUNCTION holdover.deliver(
    p_tenant text, p_id text,
    p_key text, p_content bytea, p_kind text, p_wake text, p_pending text, p_settles boolean,
    p_incarnation bytea, p_digest bytea, p_payload bytea, p_channel text,
    OUT outcome text, OUT place bigint)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    before holdover.session;
    accepted record;
    now bigint;
BEGIN
    SELECT s.* INTO before FROM holdover.session s
        WHERE s.tenant = p_tenant AND s.id = p_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        outcome := 'not_found';
        RETURN;
    END IF;
    now := holdover.now_ms();
    SELECT * INTO accepted FROM holdover.accept(before, p_key, p_content, p_kind, p_wake, p_pending, p_settles,
        p_incarnation, p_digest, p_payload, now);
    outcome := accepted.outcome;
    place := accepted.place;
    IF outcome = 'accepted' THEN
        PERFORM holdover.save(before, accepted.session, now, p_channel);
    END IF;
END $$;
