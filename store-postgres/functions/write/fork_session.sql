-- Creates a session from the prefix of another one that a checkpoint names. The source is held against deletion
-- and purge, not against its run: what is copied is never changed.
CREATE FUNCTION holdover.fork_session(
    p_tenant text, p_from text, p_source bytea, p_checkpoint bigint,
    p_id text, p_incarnation bytea, p_operation text, p_queue text, p_status text, p_format bigint,
    p_label_names bytea[], p_label_values bytea[], p_definition_digest bytea, p_definition bytea,
    p_state_digest bytea, p_state bytea,
    p_message_digests bytea[], p_messages bytea[],
    p_event_count bigint, p_event_digest bytea, p_event bytea, p_event_sizes bigint[], p_channel text,
    OUT outcome text, OUT session holdover.session)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    entered record;
    source bigint;
    at_checkpoint record;
    now bigint;
BEGIN
    SELECT * INTO entered FROM holdover.enter(p_tenant, p_id, p_incarnation, p_operation, p_queue, p_format,
        p_status, 1, 0);
    session := entered.session;
    outcome := CASE entered.outcome WHEN 'created' THEN 'forked' ELSE entered.outcome END;
    IF NOT entered.entered THEN
        RETURN;
    END IF;
    SELECT s.sid INTO source FROM holdover.session s
        WHERE s.tenant = p_tenant AND s.id = p_from AND s.incarnation = p_source FOR KEY SHARE;
    IF FOUND THEN
        SELECT c.* INTO at_checkpoint FROM holdover.checkpoint c WHERE c.sid = source AND c.id = p_checkpoint;
    END IF;
    IF source IS NULL OR source = session.sid OR NOT FOUND THEN
        outcome := CASE WHEN source IS NULL OR source = session.sid THEN 'no_source' ELSE 'no_checkpoint' END;
        DELETE FROM holdover.session s WHERE s.sid = session.sid;
        RETURN;
    END IF;
    now := holdover.now_ms();
    INSERT INTO holdover.message (sid, seq, at, digest, payload)
        SELECT session.sid, m.seq, m.at, m.digest, m.payload FROM holdover.message m
        WHERE m.sid = source AND m.seq <= at_checkpoint.last_message;
    INSERT INTO holdover.event (sid, seq, at, digest, payload, sizes)
        SELECT session.sid, e.seq, e.at, e.digest, e.payload, e.sizes FROM holdover.event e
        WHERE e.sid = source AND e.seq <= at_checkpoint.last_event;
    INSERT INTO holdover.checkpoint (sid, id, epoch, last_message, last_event, at, format, digest, payload)
        SELECT session.sid, c.id, c.epoch, c.last_message, c.last_event, c.at, c.format, c.digest, c.payload
        FROM holdover.checkpoint c WHERE c.sid = source AND c.id <= p_checkpoint;
    PERFORM holdover.append_messages(session.sid, at_checkpoint.last_message, p_message_digests, p_messages, now);
    PERFORM holdover.append_events(session.sid, at_checkpoint.last_event, p_event_count, p_event_digest, p_event,
        p_event_sizes, now);
    INSERT INTO holdover.label (sid, name, value)
        SELECT session.sid, l.name, l.value FROM unnest(p_label_names, p_label_values) AS l (name, value);
    INSERT INTO holdover.definition (sid, digest, payload)
        VALUES (session.sid, p_definition_digest, p_definition);
    INSERT INTO holdover.state (sid, digest, payload) VALUES (session.sid, p_state_digest, p_state);
    UPDATE holdover.session AS s SET
        created_at = now, updated_at = now,
        version = p_checkpoint + 1, epoch = at_checkpoint.epoch,
        last_message = at_checkpoint.last_message + cardinality(p_messages),
        last_event = at_checkpoint.last_event + p_event_count
        WHERE s.sid = session.sid RETURNING s.* INTO session;
    PERFORM holdover.append_checkpoint(session, p_state_digest, p_state, now);
    PERFORM holdover.hint(p_channel, p_tenant, p_id, false);
    outcome := 'forked';
END $$;
