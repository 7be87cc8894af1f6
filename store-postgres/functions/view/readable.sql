-- The JSON that these bytes are, as it was written; a note where they are none.
CREATE FUNCTION holdover.readable(p_bytes bytea) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN convert_from(p_bytes, 'UTF8')::json;
EXCEPTION WHEN OTHERS THEN
    RETURN json_build_object('unreadable', 'no UTF-8 JSON', 'bytes', octet_length(p_bytes));
END $$;
