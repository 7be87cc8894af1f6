-- One page of what is not consumed of an inbox. No row: there is no such session.
CREATE FUNCTION holdover.read_inbox(p_tenant text, p_id text, p_after bigint, p_limit bigint)
RETURNS SETOF holdover.inbox_page LANGUAGE sql STABLE AS $$
    SELECT i.* FROM holdover.session s CROSS JOIN LATERAL holdover.inbox_after(s.sid, p_after, p_limit) AS i
    WHERE s.tenant = p_tenant AND s.id = p_id
$$;
