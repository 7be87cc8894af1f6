-- What of a session cannot be read, and so must not be claimed; none if all can. These are the checks that the
-- program makes when it reads the answer: by then the claim would be made. Never says what it holds.
CREATE FUNCTION holdover.unreadable(session holdover.session, extras holdover.surroundings) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN CASE
        WHEN NOT holdover.are_ids(ARRAY[session.tenant, session.id, session.created_by, session.queue])
            THEN 'an id of the session'
        WHEN (octet_length(session.incarnation) = 16) IS NOT TRUE THEN 'incarnation'
        WHEN (session.status IN ('idle', 'active', 'suspended', 'interrupted', 'failed', 'aborted')) IS NOT TRUE
            THEN 'status: an unknown word'
        WHEN (session.found IN ('idle', 'active', 'suspended', 'interrupted', 'failed', 'aborted')) IS NOT TRUE
            THEN 'found: an unknown word'
        WHEN NOT holdover.are_ids(array_remove(ARRAY[session.last_claim, session.lease_worker], NULL))
            OR num_nulls(session.lease_worker, session.lease_ends, session.lease_granted_ms) NOT IN (0, 3)
            THEN 'lease'
        WHEN NOT holdover.are_counts(ARRAY[session.version, session.epoch, session.last_message,
                session.last_event, session.last_item, session.unread, session.inbox_seen, session.unseen_counted,
                session.stream_run, session.stream_last, coalesce(session.interrupt_handed_to, 0)],
                9223372036854775807)
            OR NOT holdover.are_counts(ARRAY[session.format, session.attempts, session.wake_on,
                session.stream_number], 4294967295)
            OR num_nulls(session.created_at, session.updated_at, session.run_open, session.unseen_urgent,
                session.stream_open) > 0
            THEN 'a number of the session'
        WHEN num_nulls(session.interrupt_id, session.interrupt_kind, session.interrupt_reason,
                session.interrupt_at) NOT IN (0, 4)
            OR NOT holdover.are_ids(array_remove(ARRAY[session.interrupt_id], NULL))
            OR session.interrupt_kind NOT IN ('soft', 'abort')
            OR NOT holdover.is_utf8(session.interrupt_reason)
            OR octet_length(session.interrupt_incarnation) <> 16
            THEN 'interrupt'
        WHEN EXISTS (SELECT FROM unnest(extras.label_names || extras.label_values) AS l (text)
            WHERE holdover.is_utf8(l.text) IS NOT TRUE) THEN 'label'
        WHEN (sha256(extras.definition) = extras.definition_digest) IS NOT TRUE THEN 'definition'
        WHEN num_nulls(extras.state, extras.state_digest) = 1
            OR sha256(extras.state) <> extras.state_digest THEN 'state'
        WHEN NOT holdover.are_ids(extras.staged_call || extras.starts)
            OR NOT holdover.are_intact(extras.staged_digest, extras.staged) THEN 'staged'
        WHEN NOT holdover.are_ids(extras.pending_id || extras.pending_call)
            OR NOT extras.pending_kind <@ ARRAY['approval', 'client_tool']
            OR NOT holdover.are_counts(extras.pending_needed || extras.pending_answered, 4294967295)
            OR NOT holdover.are_counts(extras.pending_last, 9223372036854775807)
            OR NOT holdover.are_intact(extras.pending_digest, extras.pending) THEN 'pending'
        WHEN NOT holdover.are_ids((extras.inbox).key)
            OR NOT holdover.are_counts((extras.inbox).seq, 9223372036854775807)
            OR NOT (extras.inbox).wake <@ ARRAY['now', 'count', 'quiet']
            OR NOT holdover.are_intact((extras.inbox).digest, (extras.inbox).payload)
            OR EXISTS (
                SELECT FROM unnest((extras.inbox).kind, (extras.inbox).pending) AS i (kind, pending)
                WHERE (CASE WHEN i.kind IN ('message', 'signal') THEN i.pending IS NULL
                    ELSE i.kind = 'answer' AND holdover.is_id(i.pending) END) IS NOT TRUE)
            THEN 'inbox'
    END;
END $$;
