-- Waits for the lock of a session's row, for half a second at most. The settings of the caller stay as they are.
CREATE FUNCTION holdover.wait_for(p_sid bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    usual text := current_setting('lock_timeout');
BEGIN
    PERFORM set_config('lock_timeout', '500ms', true);
    PERFORM FROM holdover.session s WHERE s.sid = p_sid FOR NO KEY UPDATE;
    PERFORM set_config('lock_timeout', usual, true);
EXCEPTION WHEN lock_not_available THEN
    -- Passed over after all.
END $$;
