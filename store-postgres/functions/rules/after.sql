-- The instant `p_ms` later; the last instant there is, if beyond it. The longest lengths of time have the sign
-- bit set.
CREATE FUNCTION holdover.after(p_at bigint, p_ms bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_ms < 0 OR p_at::numeric + p_ms > 9223372036854775807 THEN 9223372036854775807
        ELSE p_at + p_ms END
$$;
