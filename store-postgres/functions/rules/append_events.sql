-- Appends the events of one commit, if it has any, after place `p_last`.
CREATE FUNCTION holdover.append_events(
    p_sid bigint, p_last bigint, p_count bigint, p_digest bytea, p_payload bytea, p_sizes bigint[], p_now bigint)
RETURNS void LANGUAGE sql VOLATILE AS $$
    INSERT INTO holdover.event (sid, seq, at, digest, payload, sizes)
        SELECT p_sid, p_last + p_count, p_now, p_digest, p_payload, p_sizes WHERE p_count > 0
$$;
