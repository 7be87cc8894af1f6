-- Moves a resting session without claiming it. Whether the move is allowed does not depend on the items; it is
-- asked first.
CREATE FUNCTION holdover.compare_and_set_status(
    p_tenant text, p_id text, p_incarnation bytea, p_expected_version bigint, p_to text,
    p_keys text[], p_contents bytea[], p_kinds text[], p_wakes text[], p_incarnations bytea[],
    p_digests bytea[], p_payloads bytea[], p_channel text,
    OUT outcome text, OUT version bigint, OUT status text,
    OUT refused bigint, OUT refusal text, OUT refusal_place bigint)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    before holdover.session;
    session holdover.session;
    accepted record;
    now bigint;
BEGIN
    SELECT s.* INTO before FROM holdover.session s
        WHERE s.tenant = p_tenant AND s.id = p_id FOR NO KEY UPDATE;
    IF NOT FOUND OR p_incarnation <> before.incarnation THEN
        outcome := 'not_found';
        RETURN;
    END IF;
    now := holdover.now_ms();
    version := before.version;
    status := before.status;
    IF p_expected_version <> before.version THEN
        outcome := 'version_conflict';
        RETURN;
    ELSIF before.status NOT IN ('failed', 'interrupted') OR p_to <> 'suspended' THEN
        outcome := 'not_allowed';
        RETURN;
    END IF;
    SELECT * INTO accepted FROM holdover.accept_all(before, p_keys, p_contents, p_kinds, p_wakes,
        p_incarnations, p_digests, p_payloads, now);
    IF accepted.refused IS NOT NULL THEN
        outcome := 'item_refused';
        refused := accepted.refused;
        refusal := accepted.refusal;
        refusal_place := accepted.refusal_place;
        RETURN;
    END IF;
    session := accepted.session;
    session.status := 'suspended';
    session.version := session.version + 1;
    session.alarm := now;
    session.updated_at := now;
    PERFORM holdover.save(before, session, now, p_channel);
    version := session.version;
    outcome := 'moved';
END $$;
