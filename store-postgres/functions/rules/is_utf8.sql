-- Whether these bytes are UTF-8. Asked without an error, which would cost a subtransaction.
CREATE FUNCTION holdover.is_utf8(p_bytes bytea) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT encode(p_bytes, 'hex') ~ ('^([0-7].|(c[2-9a-f]|d.)[89ab].|(e0[ab].|e[1-9a-cef][89ab].|ed[89].)[89ab].'
        || '|(f0[9ab].|f[1-3][89ab].|f48.)[89ab].[89ab].)*$')
$$;
