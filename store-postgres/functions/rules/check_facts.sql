-- Looks at what a commit names, under the row's lock, in the order of the commit's parts. The first that is not
-- as it must be refuses the commit; none if all are.
CREATE FUNCTION holdover.check_facts(
    session holdover.session, p_seen bigint, p_promoted text[], p_stage_calls text[], p_stage_digests bytea[],
    p_open_ids text[], p_close text[], p_consumed bigint[],
    OUT outcome text, OUT subject text, OUT subject_place bigint)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF cardinality(p_stage_calls) > 0 THEN
        subject := holdover.stage_conflict(session.sid, p_stage_calls, p_stage_digests);
        IF subject IS NOT NULL THEN
            outcome := 'stage_conflict';
            RETURN;
        END IF;
    END IF;
    IF array_remove(p_promoted, NULL) <> '{}' THEN
        SELECT m.call INTO subject FROM unnest(p_promoted) WITH ORDINALITY AS m (call, nth)
            WHERE m.call IS NOT NULL AND (
                m.call = ANY (p_promoted[:m.nth::int - 1])
                OR NOT (m.call = ANY (p_stage_calls) OR EXISTS (
                    SELECT FROM holdover.staged t WHERE t.sid = session.sid AND t.call = m.call)))
            ORDER BY m.nth LIMIT 1;
        IF FOUND THEN
            outcome := 'not_staged';
            RETURN;
        END IF;
    END IF;
    IF cardinality(p_close) > 0 THEN
        SELECT c.id, CASE WHEN p.id IS NULL THEN 'pending_conflict' ELSE 'answer_waiting' END
            INTO subject, outcome
            FROM unnest(p_close) WITH ORDINALITY AS c (id, nth)
            LEFT JOIN holdover.pending p ON p.sid = session.sid AND p.id = c.id
            WHERE p.last_answer > p_seen OR (p.id IS NULL AND NOT (c.id = ANY (p_open_ids) AND EXISTS (
                SELECT FROM holdover.opened o WHERE o.sid = session.sid AND o.id = c.id)))
            ORDER BY c.nth LIMIT 1;
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;
    IF cardinality(p_open_ids) > 0 THEN
        SELECT n.id INTO subject FROM unnest(p_open_ids) WITH ORDINALITY AS n (id, nth)
            WHERE n.id = ANY (p_open_ids[:n.nth::int - 1]) OR EXISTS (
                SELECT FROM holdover.opened o WHERE o.sid = session.sid AND o.id = n.id)
            ORDER BY n.nth LIMIT 1;
        IF FOUND THEN
            outcome := 'pending_conflict';
            RETURN;
        END IF;
    END IF;
    IF cardinality(p_consumed) > 0 THEN
        SELECT c.seq INTO subject_place FROM unnest(p_consumed) WITH ORDINALITY AS c (seq, nth)
            WHERE c.seq > p_seen OR c.seq = ANY (p_consumed[:c.nth::int - 1]) OR NOT EXISTS (
                SELECT FROM holdover.item i WHERE i.sid = session.sid AND i.seq = c.seq AND i.payload IS NOT NULL)
            ORDER BY c.nth LIMIT 1;
        IF FOUND THEN
            outcome := 'not_in_inbox';
            RETURN;
        END IF;
    END IF;
    subject := NULL;
    outcome := NULL;
END $$;
