-- Whether all of these are ids.
CREATE FUNCTION holdover.are_ids(p_texts text[]) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN (SELECT coalesce(bool_and(holdover.is_id(t.text) IS TRUE), true) FROM unnest(p_texts) AS t (text));
END $$;
