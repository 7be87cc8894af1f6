-- Stages results of calls that have none staged; the first for a call wins for ever.
CREATE FUNCTION holdover.stage(p_sid bigint, p_calls text[], p_digests bytea[], p_payloads bytea[]) RETURNS void
LANGUAGE sql VOLATILE AS $$
    INSERT INTO holdover.staged (sid, call, digest, payload)
        SELECT DISTINCT ON (r.call) p_sid, r.call, r.digest, r.payload
        FROM unnest(p_calls, p_digests, p_payloads) WITH ORDINALITY AS r (call, digest, payload, nth)
        ORDER BY r.call, r.nth
        ON CONFLICT DO NOTHING
$$;
