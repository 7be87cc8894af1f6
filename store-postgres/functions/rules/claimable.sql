-- Whether a claim may be made now: none if so, else the answer.
CREATE FUNCTION holdover.claimable(session holdover.session, p_expected_version bigint, p_now bigint)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN session.status = 'aborted' THEN 'aborted'
        WHEN session.lease_ends > p_now THEN 'held'
        WHEN p_expected_version <> session.version THEN 'version_conflict' END
$$;
