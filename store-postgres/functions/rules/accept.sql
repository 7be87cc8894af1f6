-- Decides a delivery and, if it is accepted, counts it, sets the alarm it asks for and puts it into the inbox.
-- The caller holds the row's lock and writes the row back.
CREATE FUNCTION holdover.accept(
    INOUT session holdover.session,
    p_key text, p_content bytea, p_kind text, p_wake text, p_pending text, p_settles boolean,
    p_incarnation bytea, p_digest bytea, p_payload bytea, p_now bigint,
    OUT outcome text, OUT place bigint)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    known record;
    asked record;
    slots bigint;
    wake text := p_wake;
BEGIN
    IF p_incarnation <> session.incarnation OR (p_kind = 'answer' AND p_incarnation IS NULL) THEN
        outcome := 'not_found';
        RETURN;
    END IF;
    SELECT i.seq, i.content INTO known FROM holdover.item i WHERE i.sid = session.sid AND i.key = p_key;
    IF FOUND THEN
        place := known.seq;
        outcome := CASE WHEN known.content = p_content THEN 'duplicate' ELSE 'conflict' END;
        RETURN;
    END IF;
    IF p_kind <> 'answer' AND session.status = 'aborted' THEN
        outcome := 'aborted';
        RETURN;
    END IF;
    place := session.last_item + 1;
    IF p_kind = 'answer' THEN
        SELECT p.needed, p.answered, p.endless, p.deadline INTO asked
            FROM holdover.pending p WHERE p.sid = session.sid AND p.id = p_pending;
        IF NOT FOUND THEN
            outcome := 'not_pending';
        ELSIF asked.answered >= asked.needed THEN
            outcome := 'already_answered';
        ELSIF NOT asked.endless AND asked.deadline <= p_now THEN
            outcome := 'not_pending';
        END IF;
        IF outcome IS NOT NULL THEN
            RETURN;
        END IF;
        slots := CASE WHEN p_settles THEN asked.needed ELSE asked.answered + 1 END;
        wake := CASE WHEN slots >= asked.needed THEN 'now' ELSE 'quiet' END;
        UPDATE holdover.pending AS p SET answered = slots, last_answer = place
            WHERE p.sid = session.sid AND p.id = p_pending;
    END IF;
    session.last_item := place;
    session.unread := session.unread + 1;
    IF wake = 'now' THEN
        session.unseen_urgent := true;
    ELSIF wake = 'count' THEN
        session.unseen_counted := session.unseen_counted + 1;
    END IF;
    session.updated_at := p_now;
    IF holdover.wakes(session, wake) THEN
        session := holdover.ring_at(session, p_now);
    END IF;
    INSERT INTO holdover.item (sid, seq, key, content, kind, wake, pending, settles, at, digest, payload)
        VALUES (session.sid, place, p_key, p_content, p_kind, wake, p_pending, p_settles, p_now, p_digest,
            p_payload);
    outcome := 'accepted';
END $$;
