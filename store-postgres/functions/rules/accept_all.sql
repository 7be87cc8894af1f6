-- Lets the session accept items that come with a claim or a move: all of them, or none. `refused` is the place
-- of the first that is not accepted, from 0; then nothing is changed and `refusal` says why.
CREATE FUNCTION holdover.accept_all(
    INOUT session holdover.session,
    p_keys text[], p_contents bytea[], p_kinds text[], p_wakes text[], p_incarnations bytea[],
    p_digests bytea[], p_payloads bytea[], p_now bigint,
    OUT refused bigint, OUT refusal text, OUT refusal_place bigint)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    before holdover.session := session;
    accepted record;
BEGIN
    FOR nth IN 1 .. cardinality(p_keys) LOOP
        SELECT * INTO accepted FROM holdover.accept(session, p_keys[nth], p_contents[nth], p_kinds[nth],
            p_wakes[nth], NULL, false, p_incarnations[nth], p_digests[nth], p_payloads[nth], p_now);
        IF accepted.outcome <> 'accepted' THEN
            refused := nth - 1;
            refusal := accepted.outcome;
            refusal_place := accepted.place;
            session := before;
            DELETE FROM holdover.item i WHERE i.sid = before.sid AND i.seq > before.last_item
                AND i.payload IS NOT NULL;
            RETURN;
        END IF;
        session := accepted.session;
    END LOOP;
END $$;
