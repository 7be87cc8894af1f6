-- Creates a session with its first items, and its alarm or claim. The row is put in first: from then on no other
-- creation of this key can pass, so what its tombstones say stays true.
CREATE FUNCTION holdover.create_session(
    p_tenant text, p_id text, p_incarnation bytea, p_operation text, p_queue text, p_format bigint,
    p_label_names bytea[], p_label_values bytea[], p_definition_digest bytea, p_definition bytea,
    p_keys text[], p_contents bytea[], p_kinds text[], p_wakes text[], p_incarnations bytea[],
    p_digests bytea[], p_payloads bytea[],
    p_alarm bigint, p_run text, p_worker text, p_lease_ms bigint, p_channel text,
    OUT outcome text, OUT refused bigint, OUT refusal text, OUT now bigint,
    OUT session holdover.session, OUT extras holdover.surroundings)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    before holdover.session;
    accepted record;
BEGIN
    SELECT * INTO accepted FROM holdover.enter(
        p_tenant, p_id, p_incarnation, p_operation, p_queue, p_format, 'idle', 1, 0);
    session := accepted.session;
    now := holdover.now_ms();
    IF NOT accepted.entered THEN
        outcome := accepted.outcome;
        IF outcome = 'created' AND session.last_claim = p_run AND session.status = 'active'
            AND session.lease_ends > now THEN
            outcome := 'claimed';
            extras := holdover.surroundings_of(session.sid, true);
        END IF;
        RETURN;
    END IF;
    session.created_at := now;
    session.updated_at := now;
    before := session;
    SELECT * INTO accepted FROM holdover.accept_all(session, p_keys, p_contents, p_kinds, p_wakes,
        p_incarnations, p_digests, p_payloads, now);
    IF accepted.refused IS NOT NULL THEN
        DELETE FROM holdover.session s WHERE s.sid = session.sid;
        outcome := 'item_refused';
        refused := accepted.refused;
        refusal := accepted.refusal;
        RETURN;
    END IF;
    session := accepted.session;
    INSERT INTO holdover.label (sid, name, value)
        SELECT session.sid, l.name, l.value FROM unnest(p_label_names, p_label_values) AS l (name, value);
    INSERT INTO holdover.definition (sid, digest, payload)
        VALUES (session.sid, p_definition_digest, p_definition);
    outcome := 'created';
    IF p_run IS NOT NULL THEN
        outcome := 'claimed';
        session := holdover.claim(session, p_run, p_worker, p_lease_ms, now);
        extras := holdover.surroundings_of(session.sid, true);
    END IF;
    session.alarm := coalesce(p_alarm, session.alarm);
    PERFORM holdover.save(before, session, now, p_channel);
    IF before IS NOT DISTINCT FROM session THEN
        PERFORM holdover.hint(p_channel, p_tenant, p_id, false);
    END IF;
END $$;
