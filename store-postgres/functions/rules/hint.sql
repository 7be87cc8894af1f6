-- Tells whoever listens that the session changed, and whether its alarm rings now. No channel: nobody is told.
CREATE FUNCTION holdover.hint(p_channel text, p_tenant text, p_id text, p_due boolean) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF p_channel IS NOT NULL THEN
        PERFORM pg_notify(p_channel, CASE WHEN p_due THEN 'due ' ELSE 'changed ' END || encode(substring(
            sha256(convert_to(p_tenant, 'UTF8') || '\x00'::bytea || convert_to(p_id, 'UTF8')) FOR 8), 'hex'));
    END IF;
END $$;
