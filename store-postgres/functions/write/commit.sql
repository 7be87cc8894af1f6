-- The one atomic write by which a run makes progress. First the row alone (`admit`), then what the commit names
-- (`check_facts`), then everything at once (`apply`).
CREATE FUNCTION holdover.commit(
    p_tenant text, p_id text, p_incarnation bytea, p_epoch bigint, p_operation text, p_expected_version bigint,
    p_format bigint, p_state_digest bytea, p_state bytea,
    p_promoted text[], p_message_digests bytea[], p_messages bytea[],
    p_stage_calls text[], p_stage_digests bytea[], p_stage_payloads bytea[],
    p_event_count bigint, p_event_digest bytea, p_event bytea, p_event_sizes bigint[],
    p_checkpoint boolean, p_streamed bigint,
    p_open_ids text[], p_open_calls text[], p_open_kinds text[], p_open_needed bigint[], p_open_deadlines bigint[],
    p_open_digests bytea[], p_open_bodies bytea[],
    p_close text[], p_consumed bigint[], p_inbox_seen bigint, p_interrupt_confirmed text,
    p_run_outcome text, p_run_digest bytea, p_run_detail bytea,
    p_release text, p_release_status text, p_release_at bigint, p_wake_on bigint, p_channel text,
    OUT outcome text, OUT subject text, OUT subject_place bigint, OUT version bigint,
    OUT receipt holdover.receipt)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    before holdover.session;
    session holdover.session;
    refused record;
    now bigint;
    seen bigint;
    unseen record;
BEGIN
    SELECT s.* INTO before FROM holdover.session s
        WHERE s.tenant = p_tenant AND s.id = p_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        outcome := 'stale_fence_unknown';
        RETURN;
    END IF;
    now := holdover.now_ms();

    IF before.incarnation = p_incarnation AND before.epoch = p_epoch AND before.last_commit_epoch = p_epoch
        AND before.last_commit = p_operation THEN
        outcome := 'committed';
        receipt := before.last_receipt;
        RETURN;
    ELSIF NOT holdover.admits(before, p_incarnation, p_epoch) THEN
        outcome := 'stale_fence_' || holdover.was_applied(before, p_incarnation, p_epoch, p_operation,
            p_expected_version);
        RETURN;
    ELSIF p_expected_version <> before.version THEN
        outcome := 'version_conflict';
        version := before.version;
        RETURN;
    END IF;

    -- Nobody has seen what is not there yet: an item that comes later must count.
    seen := greatest(least(coalesce(p_inbox_seen, 0), before.last_item), before.inbox_seen);
    SELECT * INTO refused FROM holdover.check_facts(before, seen, p_promoted, p_stage_calls, p_stage_digests,
        p_open_ids, p_close, p_consumed);
    IF refused.outcome IS NOT NULL THEN
        outcome := refused.outcome;
        subject := refused.subject;
        subject_place := refused.subject_place;
        RETURN;
    END IF;

    session := before;
    session.version := session.version + 1;
    session.attempts := 0;
    session.updated_at := now;
    session.format := coalesce(p_format, session.format);
    session.last_message := session.last_message + cardinality(p_promoted);
    session.last_event := session.last_event + p_event_count;
    session.unread := greatest(session.unread - cardinality(p_consumed), 0);
    session.inbox_seen := seen;
    -- What a commit consumes lies at or before what it has seen, so only a step forward changes the rest.
    IF p_inbox_seen > before.inbox_seen THEN
        SELECT count(*) FILTER (WHERE i.wake = 'count') AS counted, count(*) FILTER (WHERE i.wake = 'now') AS urgent
            INTO unseen FROM holdover.item i
            WHERE i.sid = session.sid AND i.seq > p_inbox_seen AND i.payload IS NOT NULL;
        session.unseen_counted := unseen.counted;
        session.unseen_urgent := unseen.urgent > 0;
    END IF;
    IF session.interrupt_id = p_interrupt_confirmed THEN
        session := holdover.clear_interrupt(session);
    END IF;
    IF p_run_outcome IS NOT NULL THEN
        session.run_open := false;
    END IF;
    IF p_streamed IS NOT NULL THEN
        session := holdover.end_stream(session, session.epoch, p_streamed);
    END IF;
    IF p_release IS NULL THEN
        session := holdover.keep_lease(session, now);
    ELSIF p_release = 'to' THEN
        session.wake_on := p_wake_on;
        session := holdover.release(session, p_release_status, p_release_at, now);
    ELSE
        session := holdover.give_back(session, p_release_at, now);
    END IF;
    receipt := holdover.receipt_of(session, now);
    session.last_commit := p_operation;
    session.last_commit_epoch := session.epoch;
    session.last_receipt := receipt;
    PERFORM holdover.save(before, session, now, p_channel);

    PERFORM holdover.apply_messages(session.sid, before.last_message, p_promoted, p_message_digests, p_messages,
        p_stage_calls, p_stage_digests, p_stage_payloads, now);
    PERFORM holdover.append_events(session.sid, before.last_event, p_event_count, p_event_digest, p_event,
        p_event_sizes, now);
    IF p_state IS NOT NULL THEN
        INSERT INTO holdover.state AS s (sid, digest, payload) VALUES (session.sid, p_state_digest, p_state)
            ON CONFLICT ON CONSTRAINT state_pkey DO UPDATE
            SET digest = excluded.digest, payload = excluded.payload;
        DELETE FROM holdover.start_mark m WHERE m.sid = session.sid;
        IF p_checkpoint THEN
            PERFORM holdover.append_checkpoint(session, p_state_digest, p_state, now);
        END IF;
    END IF;
    IF cardinality(p_close) > 0 THEN
        DELETE FROM holdover.pending p WHERE p.sid = session.sid AND p.id = ANY (p_close);
    END IF;
    IF cardinality(p_open_ids) > 0 THEN
        PERFORM holdover.open_pending(session, p_open_ids, p_open_calls, p_open_kinds, p_open_needed,
            p_open_deadlines, p_open_digests, p_open_bodies, now);
    END IF;
    IF cardinality(p_consumed) > 0 THEN
        UPDATE holdover.item AS i SET digest = NULL, payload = NULL
            WHERE i.sid = session.sid AND i.seq = ANY (p_consumed) AND i.payload IS NOT NULL;
    END IF;
    IF p_run_outcome IS NOT NULL THEN
        -- The first end of a run is kept.
        UPDATE holdover.run AS r SET ended_at = now, outcome = p_run_outcome, digest = p_run_digest,
            detail = p_run_detail
            WHERE r.sid = session.sid AND r.epoch = before.epoch AND r.ended_at IS NULL;
    END IF;
    outcome := 'committed';
END $$;
