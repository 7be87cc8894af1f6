-- Appends the messages of a commit, promoted results among them, and stages what it stages and does not promote
-- itself. A message is promoted where `p_promoted` names a call, else it is given.
CREATE FUNCTION holdover.apply_messages(
    p_sid bigint, p_last bigint, p_promoted text[], p_digests bytea[], p_payloads bytea[],
    p_stage_calls text[], p_stage_digests bytea[], p_stage_payloads bytea[], p_now bigint)
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF cardinality(p_stage_calls) > 0 THEN
        PERFORM holdover.stage(p_sid, p_stage_calls, p_stage_digests, p_stage_payloads);
    END IF;
    IF array_remove(p_promoted, NULL) = '{}' THEN
        PERFORM holdover.append_messages(p_sid, p_last, p_digests, p_payloads, p_now);
        RETURN;
    END IF;
    INSERT INTO holdover.message (sid, seq, at, digest, payload)
        SELECT p_sid, p_last + m.nth, p_now, coalesce(t.digest, m.digest), coalesce(t.payload, m.payload)
        FROM unnest(p_promoted, p_digests, p_payloads) WITH ORDINALITY AS m (call, digest, payload, nth)
        LEFT JOIN holdover.staged t ON t.sid = p_sid AND t.call = m.call;
    DELETE FROM holdover.staged t WHERE t.sid = p_sid AND t.call = ANY (p_promoted);
END $$;
