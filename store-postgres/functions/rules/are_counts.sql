-- Whether all of these numbers are there, and lie between 0 and this one.
CREATE FUNCTION holdover.are_counts(p_numbers bigint[], p_most bigint) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN (SELECT coalesce(bool_and((n.number BETWEEN 0 AND p_most) IS TRUE), true)
        FROM unnest(p_numbers) AS n (number));
END $$;
