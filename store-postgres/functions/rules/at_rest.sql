-- Whether the turn is over.
CREATE FUNCTION holdover.at_rest(p_status text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT p_status IN ('idle', 'interrupted', 'failed', 'aborted')
$$;
