-- Keeps the session as it stands, with this state, as a checkpoint.
CREATE FUNCTION holdover.append_checkpoint(
    session holdover.session, p_digest bytea, p_payload bytea, p_now bigint)
RETURNS void LANGUAGE sql VOLATILE AS $$
    INSERT INTO holdover.checkpoint (sid, id, epoch, last_message, last_event, at, format, digest, payload)
        VALUES (session.sid, session.version, session.epoch, session.last_message, session.last_event, p_now,
            session.format, p_digest, p_payload)
$$;
