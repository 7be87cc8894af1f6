-- Appends messages after place `p_last`.
CREATE FUNCTION holdover.append_messages(
    p_sid bigint, p_last bigint, p_digests bytea[], p_payloads bytea[], p_now bigint)
RETURNS void LANGUAGE sql VOLATILE AS $$
    INSERT INTO holdover.message (sid, seq, at, digest, payload)
        SELECT p_sid, p_last + m.nth, p_now, m.digest, m.payload
        FROM unnest(p_digests, p_payloads) WITH ORDINALITY AS m (digest, payload, nth)
$$;
