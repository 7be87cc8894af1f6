-- Whether a tombstone of this key names the incarnation or the operation. The caller holds what no creation of
-- this key can pass.
CREATE FUNCTION holdover.named_by_tombstone(p_tenant text, p_id text, p_incarnation bytea, p_operation text)
RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT EXISTS (SELECT FROM holdover.tombstone t WHERE t.tenant = p_tenant AND t.id = p_id
        AND (t.incarnation = p_incarnation OR t.operation = p_operation))
$$;
