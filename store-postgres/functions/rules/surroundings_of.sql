-- Everything that belongs to a session beside its row. Sees what the statement sees that calls it. A claim also
-- wants the first page of the inbox.
CREATE FUNCTION holdover.surroundings_of(p_sid bigint, p_for_claim boolean) RETURNS holdover.surroundings
LANGUAGE plpgsql STABLE AS $$
DECLARE
    found holdover.surroundings;
BEGIN
    SELECT array_agg(l.name), array_agg(l.value) INTO found.label_names, found.label_values
        FROM holdover.label l WHERE l.sid = p_sid;
    SELECT d.digest, d.payload INTO found.definition_digest, found.definition
        FROM holdover.definition d WHERE d.sid = p_sid;
    SELECT s.digest, s.payload INTO found.state_digest, found.state FROM holdover.state s WHERE s.sid = p_sid;
    SELECT array_agg(t.call ORDER BY t.call), array_agg(t.digest ORDER BY t.call),
            array_agg(t.payload ORDER BY t.call)
        INTO found.staged_call, found.staged_digest, found.staged
        FROM holdover.staged t WHERE t.sid = p_sid;
    SELECT array_agg(m.call ORDER BY m.call) INTO found.starts FROM holdover.start_mark m WHERE m.sid = p_sid;
    SELECT array_agg(p.id ORDER BY p.pid), array_agg(p.call ORDER BY p.pid), array_agg(p.kind ORDER BY p.pid),
            array_agg(p.needed ORDER BY p.pid), array_agg(p.answered ORDER BY p.pid),
            array_agg(p.last_answer ORDER BY p.pid), array_agg(p.endless ORDER BY p.pid),
            array_agg(p.deadline ORDER BY p.pid), array_agg(p.opened_at ORDER BY p.pid),
            array_agg(p.digest ORDER BY p.pid), array_agg(p.payload ORDER BY p.pid)
        INTO found.pending_id, found.pending_call, found.pending_kind, found.pending_needed,
            found.pending_answered, found.pending_last, found.pending_endless, found.pending_deadline,
            found.pending_opened_at, found.pending_digest, found.pending
        FROM holdover.pending p WHERE p.sid = p_sid;
    IF p_for_claim THEN
        found.inbox := holdover.inbox_after(p_sid, 0, 256);
    END IF;
    RETURN found;
END $$;
