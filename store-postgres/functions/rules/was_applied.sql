-- What is known of a commit under a fence that may not write any more: yes, no or unknown. Only the newest commit
-- of the session is remembered.
CREATE FUNCTION holdover.was_applied(
    session holdover.session, p_incarnation bytea, p_epoch bigint, p_operation text, p_expected_version bigint)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN session.incarnation <> p_incarnation THEN 'unknown'
        WHEN session.last_commit IS NULL THEN 'no'
        WHEN session.last_commit_epoch < p_epoch THEN 'no'
        WHEN session.last_commit_epoch > p_epoch THEN 'unknown'
        WHEN session.last_commit = p_operation THEN 'yes'
        -- Decided on what the newest commit made, it could only have come after it.
        WHEN p_expected_version >= (session.last_receipt).version THEN 'no'
        ELSE 'unknown' END
$$;
