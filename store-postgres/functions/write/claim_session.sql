-- Claims one named session.
CREATE FUNCTION holdover.claim_session(
    p_tenant text, p_id text, p_run text, p_worker text, p_lease_ms bigint, p_expected_version bigint,
    p_keys text[], p_contents bytea[], p_kinds text[], p_wakes text[], p_incarnations bytea[],
    p_digests bytea[], p_payloads bytea[], p_channel text,
    OUT outcome text, OUT refused bigint, OUT refusal text, OUT refusal_place bigint, OUT now bigint,
    OUT unreadable text, OUT session holdover.session, OUT extras holdover.surroundings)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    before holdover.session;
    accepted record;
BEGIN
    SELECT s.* INTO session FROM holdover.session s
        WHERE s.tenant = p_tenant AND s.id = p_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        outcome := 'not_found';
        RETURN;
    END IF;
    now := holdover.now_ms();
    IF session.last_claim = p_run THEN
        outcome := CASE WHEN session.status = 'active' AND session.lease_ends > now THEN 'claimed'
            ELSE 'lease_ended' END;
        extras := holdover.surroundings_of(session.sid, true);
        RETURN;
    END IF;
    outcome := holdover.claimable(session, p_expected_version, now);
    IF outcome IS NOT NULL THEN
        RETURN;
    END IF;
    before := session;
    SELECT * INTO accepted FROM holdover.accept_all(session, p_keys, p_contents, p_kinds, p_wakes,
        p_incarnations, p_digests, p_payloads, now);
    IF accepted.refused IS NOT NULL THEN
        outcome := 'item_refused';
        refused := accepted.refused;
        refusal := accepted.refusal;
        refusal_place := accepted.refusal_place;
        RETURN;
    END IF;
    extras := holdover.surroundings_of(session.sid, true);
    unreadable := holdover.unreadable(before, extras);
    IF unreadable IS NOT NULL THEN
        -- Not claimed: the items go again, and nothing was changed.
        DELETE FROM holdover.item i WHERE i.sid = before.sid AND i.seq > before.last_item AND i.payload IS NOT NULL;
        outcome := 'corrupt';
        RETURN;
    END IF;
    session := holdover.claim(accepted.session, p_run, p_worker, p_lease_ms, now);
    PERFORM holdover.save(before, session, now, p_channel);
    outcome := 'claimed';
END $$;
