-- Fails unless the server still is what it was when it was asked last. Behind a pooler it may be another one, or
-- have other settings, in every transaction.
CREATE FUNCTION holdover.same_server(p_state text) RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF p_state IS DISTINCT FROM concat_ws(' ', pg_is_in_recovery()::text, current_setting('synchronous_commit'),
        current_setting('fsync'), current_setting('full_page_writes')) THEN
        RAISE EXCEPTION 'the server is not as it was' USING ERRCODE = 'SV001';
    END IF;
END $$;
