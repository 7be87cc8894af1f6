-- Removes every row of a session, and leaves its tombstone. The caller holds the row's lock for update. Each
-- clears away more old tombstones than it leaves, so that they never pile up.
CREATE FUNCTION holdover.delete_rows(session holdover.session, p_now bigint, p_channel text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM holdover.clear_tombstones(2, p_now);
    INSERT INTO holdover.tombstone (tenant, id, incarnation, operation, at)
        VALUES (session.tenant, session.id, session.incarnation, session.created_by, p_now);
    DELETE FROM holdover.label t WHERE t.sid = session.sid;
    DELETE FROM holdover.definition t WHERE t.sid = session.sid;
    DELETE FROM holdover.state t WHERE t.sid = session.sid;
    DELETE FROM holdover.message t WHERE t.sid = session.sid;
    DELETE FROM holdover.event t WHERE t.sid = session.sid;
    DELETE FROM holdover.delta t WHERE t.sid = session.sid;
    DELETE FROM holdover.checkpoint t WHERE t.sid = session.sid;
    DELETE FROM holdover.item t WHERE t.sid = session.sid;
    DELETE FROM holdover.staged t WHERE t.sid = session.sid;
    DELETE FROM holdover.start_mark t WHERE t.sid = session.sid;
    DELETE FROM holdover.pending t WHERE t.sid = session.sid;
    DELETE FROM holdover.opened t WHERE t.sid = session.sid;
    DELETE FROM holdover.run t WHERE t.sid = session.sid;
    DELETE FROM holdover.session t WHERE t.sid = session.sid;
    PERFORM holdover.hint(p_channel, session.tenant, session.id, false);
END $$;
