-- Whether the contract takes this text as an id: 1 to 128 bytes without control characters.
CREATE FUNCTION holdover.is_id(p_text text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT octet_length(p_text) BETWEEN 1 AND 128 AND p_text COLLATE "C" !~ '[\u0001-\u001f\u007f-\u009f]'
$$;
