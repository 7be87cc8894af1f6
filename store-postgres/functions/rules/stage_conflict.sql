-- The first of these calls that has another result, staged before or earlier among them; none if all agree.
CREATE FUNCTION holdover.stage_conflict(p_sid bigint, p_calls text[], p_digests bytea[]) RETURNS text
LANGUAGE sql VOLATILE AS $$
    SELECT r.call FROM unnest(p_calls, p_digests) WITH ORDINALITY AS r (call, digest, nth)
    LEFT JOIN holdover.staged t ON t.sid = p_sid AND t.call = r.call
    WHERE r.digest <> coalesce(t.digest, (
        SELECT f.digest FROM unnest(p_calls, p_digests) WITH ORDINALITY AS f (call, digest, nth)
        WHERE f.call = r.call ORDER BY f.nth LIMIT 1))
    ORDER BY r.nth LIMIT 1
$$;
