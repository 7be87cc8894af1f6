-- Clears away those of the oldest `p_most` tombstones that have stood for a day. Some that another write is
-- clearing are passed over.
CREATE FUNCTION holdover.clear_tombstones(p_most bigint, p_now bigint) RETURNS void
LANGUAGE sql VOLATILE AS $$
    DELETE FROM holdover.tombstone t WHERE t.at < p_now - 86400000 AND t.tid = ANY (ARRAY(
        SELECT o.tid FROM holdover.tombstone o ORDER BY o.tid LIMIT p_most FOR UPDATE SKIP LOCKED))
$$;
