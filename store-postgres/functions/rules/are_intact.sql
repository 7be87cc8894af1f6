-- Whether each payload is there, and is the one that was written with this digest.
CREATE FUNCTION holdover.are_intact(p_digests bytea[], p_payloads bytea[]) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN (SELECT coalesce(bool_and((sha256(p.payload) = p.digest) IS TRUE), true)
        FROM unnest(p_digests, p_payloads) AS p (digest, payload));
END $$;
