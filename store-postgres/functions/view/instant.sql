-- The instant of these milliseconds; infinity where a calendar has none.
CREATE FUNCTION holdover.instant(p_ms bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN p_ms > 253402300799999 THEN 'infinity'::timestamptz
        WHEN p_ms < -62135596800000 THEN '-infinity'::timestamptz
        ELSE to_timestamp(p_ms / 1000.0) END
$$;
