-- Writes a row back after a decision changed it; writes nothing if it did not. The deltas of a stream that is
-- over go with it.
CREATE FUNCTION holdover.save(
    before holdover.session, session holdover.session, p_now bigint, p_channel text)
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF before IS NOT DISTINCT FROM session THEN
        RETURN;
    END IF;
    UPDATE holdover.session AS s SET
        status = session.status,
        version = session.version,
        epoch = session.epoch,
        format = session.format,
        lease_worker = session.lease_worker,
        lease_ends = session.lease_ends,
        lease_granted_ms = session.lease_granted_ms,
        last_claim = session.last_claim,
        found = session.found,
        last_commit = session.last_commit,
        last_commit_epoch = session.last_commit_epoch,
        last_receipt = session.last_receipt,
        run_open = session.run_open,
        attempts = session.attempts,
        last_message = session.last_message,
        last_event = session.last_event,
        last_item = session.last_item,
        unread = session.unread,
        inbox_seen = session.inbox_seen,
        unseen_counted = session.unseen_counted,
        unseen_urgent = session.unseen_urgent,
        wake_on = session.wake_on,
        stream_run = session.stream_run,
        stream_number = session.stream_number,
        stream_last = session.stream_last,
        stream_open = session.stream_open,
        updated_at = session.updated_at,
        alarm = session.alarm,
        interrupt_id = session.interrupt_id,
        interrupt_kind = session.interrupt_kind,
        interrupt_reason = session.interrupt_reason,
        interrupt_at = session.interrupt_at,
        interrupt_incarnation = session.interrupt_incarnation,
        interrupt_handed_to = session.interrupt_handed_to
        WHERE s.sid = session.sid;
    IF before.stream_open AND NOT session.stream_open THEN
        DELETE FROM holdover.delta d WHERE d.sid = session.sid;
    END IF;
    PERFORM holdover.hint(p_channel, session.tenant, session.id,
        coalesce(session.alarm <= p_now, false) AND before.alarm IS DISTINCT FROM session.alarm);
END $$;
