--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: holdover; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA holdover;


--
-- Name: inbox_page_5a0b65496eda; Type: TYPE; Schema: holdover; Owner: -
--

CREATE TYPE holdover.inbox_page_5a0b65496eda AS (
	seq bigint[],
	key text[],
	kind text[],
	wake text[],
	pending text[],
	settles boolean[],
	at bigint[],
	digest bytea[],
	payload bytea[],
	more boolean
);


--
-- Name: receipt; Type: TYPE; Schema: holdover; Owner: -
--

CREATE TYPE holdover.receipt AS (
	version bigint,
	last_message bigint,
	last_item bigint,
	unread bigint,
	interrupt boolean,
	now bigint,
	lease_ends bigint
);


--
-- Name: surroundings_5a0b65496eda; Type: TYPE; Schema: holdover; Owner: -
--

CREATE TYPE holdover.surroundings_5a0b65496eda AS (
	label_names bytea[],
	label_values bytea[],
	definition_digest bytea,
	definition bytea,
	state_digest bytea,
	state bytea,
	staged_call text[],
	staged_digest bytea[],
	staged bytea[],
	starts text[],
	pending_id text[],
	pending_call text[],
	pending_kind text[],
	pending_needed bigint[],
	pending_answered bigint[],
	pending_last bigint[],
	pending_endless boolean[],
	pending_deadline bigint[],
	pending_opened_at bigint[],
	pending_digest bytea[],
	pending bytea[],
	inbox holdover.inbox_page_5a0b65496eda
);


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: session; Type: TABLE; Schema: holdover; Owner: -
--

CREATE TABLE holdover.session (
    sid bigint NOT NULL,
    tenant text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    incarnation bytea NOT NULL,
    created_by text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    status text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    epoch bigint NOT NULL,
    format bigint NOT NULL,
    lease_worker text COLLATE pg_catalog."C",
    lease_ends bigint,
    lease_granted_ms bigint,
    last_claim text COLLATE pg_catalog."C",
    found text NOT NULL COLLATE pg_catalog."C",
    last_commit text COLLATE pg_catalog."C",
    last_commit_epoch bigint,
    last_receipt holdover.receipt,
    run_open boolean DEFAULT false NOT NULL,
    attempts bigint DEFAULT 0 NOT NULL,
    last_message bigint DEFAULT 0 NOT NULL,
    last_event bigint DEFAULT 0 NOT NULL,
    last_item bigint DEFAULT 0 NOT NULL,
    unread bigint DEFAULT 0 NOT NULL,
    inbox_seen bigint DEFAULT 0 NOT NULL,
    unseen_counted bigint DEFAULT 0 NOT NULL,
    unseen_urgent boolean DEFAULT false NOT NULL,
    wake_on bigint DEFAULT 0 NOT NULL,
    stream_run bigint DEFAULT 0 NOT NULL,
    stream_number bigint DEFAULT 0 NOT NULL,
    stream_last bigint DEFAULT 0 NOT NULL,
    stream_open boolean DEFAULT false NOT NULL,
    updated_at bigint NOT NULL,
    alarm bigint,
    interrupt_id text COLLATE pg_catalog."C",
    interrupt_kind text COLLATE pg_catalog."C",
    interrupt_reason bytea,
    interrupt_at bigint,
    interrupt_incarnation bytea,
    interrupt_handed_to bigint,
    resting_since bigint GENERATED ALWAYS AS (
CASE
    WHEN ((alarm IS NULL) AND (unread = 0) AND (interrupt_id IS NULL) AND (status = ANY (ARRAY['idle'::text, 'interrupted'::text, 'failed'::text, 'aborted'::text]))) THEN updated_at
    ELSE NULL::bigint
END) STORED,
    CONSTRAINT session_found CHECK ((found = ANY (ARRAY['idle'::text, 'active'::text, 'suspended'::text, 'interrupted'::text, 'failed'::text, 'aborted'::text]))),
    CONSTRAINT session_interrupt CHECK ((num_nulls(interrupt_id, interrupt_kind, interrupt_reason, interrupt_at) = ANY (ARRAY[0, 4]))),
    CONSTRAINT session_lease CHECK ((num_nulls(lease_worker, lease_ends, lease_granted_ms) = ANY (ARRAY[0, 3]))),
    CONSTRAINT session_status CHECK ((status = ANY (ARRAY['idle'::text, 'active'::text, 'suspended'::text, 'interrupted'::text, 'failed'::text, 'aborted'::text])))
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02');


--
-- Name: accept_5a0b65496eda(holdover.session, text, bytea, text, text, text, boolean, bytea, bytea, bytea, bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.accept_5a0b65496eda(INOUT session holdover.session, p_key text, p_content bytea, p_kind text, p_wake text, p_pending text, p_settles boolean, p_incarnation bytea, p_digest bytea, p_payload bytea, p_now bigint, OUT outcome text, OUT place bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
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
    SELECT i.seq, i.content INTO known FROM "holdover".item i WHERE i.sid = session.sid AND i.key = p_key;
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
            FROM "holdover".pending p WHERE p.sid = session.sid AND p.id = p_pending;
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
        UPDATE "holdover".pending AS p SET answered = slots, last_answer = place
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
    IF "holdover".wakes_5a0b65496eda(session, wake) THEN
        session := "holdover".ring_at_5a0b65496eda(session, p_now);
    END IF;
    INSERT INTO "holdover".item (sid, seq, key, content, kind, wake, pending, settles, at, digest, payload)
        VALUES (session.sid, place, p_key, p_content, p_kind, wake, p_pending, p_settles, p_now, p_digest,
            p_payload);
    outcome := 'accepted';
END $$;


--
-- Name: accept_all_5a0b65496eda(holdover.session, text[], bytea[], text[], text[], bytea[], bytea[], bytea[], bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.accept_all_5a0b65496eda(INOUT session holdover.session, p_keys text[], p_contents bytea[], p_kinds text[], p_wakes text[], p_incarnations bytea[], p_digests bytea[], p_payloads bytea[], p_now bigint, OUT refused bigint, OUT refusal text, OUT refusal_place bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    before "holdover".session := session;
    accepted record;
BEGIN
    FOR nth IN 1 .. cardinality(p_keys) LOOP
        SELECT * INTO accepted FROM "holdover".accept_5a0b65496eda(session, p_keys[nth], p_contents[nth], p_kinds[nth],
            p_wakes[nth], NULL, false, p_incarnations[nth], p_digests[nth], p_payloads[nth], p_now);
        IF accepted.outcome <> 'accepted' THEN
            refused := nth - 1;
            refusal := accepted.outcome;
            refusal_place := accepted.place;
            session := before;
            DELETE FROM "holdover".item i WHERE i.sid = before.sid AND i.seq > before.last_item
                AND i.payload IS NOT NULL;
            RETURN;
        END IF;
        session := accepted.session;
    END LOOP;
END $$;


--
-- Name: admits_5a0b65496eda(holdover.session, bytea, bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.admits_5a0b65496eda(session holdover.session, p_incarnation bytea, p_epoch bigint) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT session.incarnation = p_incarnation AND session.epoch = p_epoch AND session.status = 'active'
        AND session.lease_ends IS NOT NULL
$$;


--
-- Name: after_5a0b65496eda(bigint, bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.after_5a0b65496eda(p_at bigint, p_ms bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT CASE WHEN p_ms < 0 OR p_at::numeric + p_ms > 9223372036854775807 THEN 9223372036854775807
        ELSE p_at + p_ms END
$$;


--
-- Name: append_checkpoint_5a0b65496eda(holdover.session, bytea, bytea, bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.append_checkpoint_5a0b65496eda(session holdover.session, p_digest bytea, p_payload bytea, p_now bigint) RETURNS void
    LANGUAGE sql
    AS $$
    INSERT INTO "holdover".checkpoint (sid, id, epoch, last_message, last_event, at, format, digest, payload)
        VALUES (session.sid, session.version, session.epoch, session.last_message, session.last_event, p_now,
            session.format, p_digest, p_payload)
$$;


--
-- Name: append_deltas_5a0b65496eda(text, text, bytea, bigint, bigint, bigint, bytea[], bytea[], text); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.append_deltas_5a0b65496eda(p_tenant text, p_id text, p_incarnation bytea, p_epoch bigint, p_stream bigint, p_first bigint, p_digests bytea[], p_payloads bytea[], p_channel text, OUT outcome text, OUT expected bigint, OUT receipt holdover.receipt) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    before "holdover".session;
    session "holdover".session;
    now bigint;
    continues boolean;
    last_place bigint;
    skip bigint;
BEGIN
    SELECT s.* INTO before FROM "holdover".session s
        WHERE s.tenant = p_tenant AND s.id = p_id FOR NO KEY UPDATE;
    IF NOT FOUND OR NOT "holdover".admits_5a0b65496eda(before, p_incarnation, p_epoch) THEN
        outcome := 'stale_fence';
        RETURN;
    END IF;
    now := "holdover".now_ms_5a0b65496eda();
    continues := (p_epoch, p_stream) = (before.stream_run, before.stream_number);
    IF (p_epoch, p_stream) < (before.stream_run, before.stream_number)
        OR (continues AND NOT before.stream_open) THEN
        outcome := 'ended';
        RETURN;
    END IF;
    last_place := CASE WHEN continues THEN before.stream_last ELSE 0 END;
    IF p_first = 0 OR p_first > last_place + 1 THEN
        outcome := 'gap';
        expected := last_place + 1;
        RETURN;
    END IF;
    skip := least(last_place + 1 - p_first, cardinality(p_digests));
    IF NOT continues AND before.stream_open THEN
        DELETE FROM "holdover".delta d WHERE d.sid = before.sid;
    END IF;
    INSERT INTO "holdover".delta (sid, place, digest, payload)
        SELECT before.sid, p_first + n.nth - 1, n.digest, n.payload
        FROM unnest(p_digests, p_payloads) WITH ORDINALITY AS n (digest, payload, nth) WHERE n.nth > skip;
    session := before;
    session.stream_run := p_epoch;
    session.stream_number := p_stream;
    session.stream_last := last_place + cardinality(p_digests) - skip;
    session.stream_open := true;
    PERFORM "holdover".save_5a0b65496eda(before, session, now, p_channel);
    outcome := 'appended';
    receipt := "holdover".receipt_of_5a0b65496eda(session, now);
END $$;


--
-- Name: append_events_5a0b65496eda(bigint, bigint, bigint, bytea, bytea, bigint[], bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.append_events_5a0b65496eda(p_sid bigint, p_last bigint, p_count bigint, p_digest bytea, p_payload bytea, p_sizes bigint[], p_now bigint) RETURNS void
    LANGUAGE sql
    AS $$
    INSERT INTO "holdover".event (sid, seq, at, digest, payload, sizes)
        SELECT p_sid, p_last + p_count, p_now, p_digest, p_payload, p_sizes WHERE p_count > 0
$$;


--
-- Name: append_messages_5a0b65496eda(bigint, bigint, bytea[], bytea[], bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.append_messages_5a0b65496eda(p_sid bigint, p_last bigint, p_digests bytea[], p_payloads bytea[], p_now bigint) RETURNS void
    LANGUAGE sql
    AS $$
    INSERT INTO "holdover".message (sid, seq, at, digest, payload)
        SELECT p_sid, p_last + m.nth, p_now, m.digest, m.payload
        FROM unnest(p_digests, p_payloads) WITH ORDINALITY AS m (digest, payload, nth)
$$;


--
-- Name: apply_messages_5a0b65496eda(bigint, bigint, text[], bytea[], bytea[], text[], bytea[], bytea[], bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.apply_messages_5a0b65496eda(p_sid bigint, p_last bigint, p_promoted text[], p_digests bytea[], p_payloads bytea[], p_stage_calls text[], p_stage_digests bytea[], p_stage_payloads bytea[], p_now bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF cardinality(p_stage_calls) > 0 THEN
        PERFORM "holdover".stage_5a0b65496eda(p_sid, p_stage_calls, p_stage_digests, p_stage_payloads);
    END IF;
    IF array_remove(p_promoted, NULL) = '{}' THEN
        PERFORM "holdover".append_messages_5a0b65496eda(p_sid, p_last, p_digests, p_payloads, p_now);
        RETURN;
    END IF;
    INSERT INTO "holdover".message (sid, seq, at, digest, payload)
        SELECT p_sid, p_last + m.nth, p_now, coalesce(t.digest, m.digest), coalesce(t.payload, m.payload)
        FROM unnest(p_promoted, p_digests, p_payloads) WITH ORDINALITY AS m (call, digest, payload, nth)
        LEFT JOIN "holdover".staged t ON t.sid = p_sid AND t.call = m.call;
    DELETE FROM "holdover".staged t WHERE t.sid = p_sid AND t.call = ANY (p_promoted);
END $$;


--
-- Name: are_counts_5a0b65496eda(bigint[], bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.are_counts_5a0b65496eda(p_numbers bigint[], p_most bigint) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    RETURN (SELECT coalesce(bool_and((n.number BETWEEN 0 AND p_most) IS TRUE), true)
        FROM unnest(p_numbers) AS n (number));
END $$;


--
-- Name: are_ids_5a0b65496eda(text[]); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.are_ids_5a0b65496eda(p_texts text[]) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    RETURN (SELECT coalesce(bool_and("holdover".is_id_5a0b65496eda(t.text) IS TRUE), true) FROM unnest(p_texts) AS t (text));
END $$;


--
-- Name: are_intact_5a0b65496eda(bytea[], bytea[]); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.are_intact_5a0b65496eda(p_digests bytea[], p_payloads bytea[]) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    RETURN (SELECT coalesce(bool_and((sha256(p.payload) = p.digest) IS TRUE), true)
        FROM unnest(p_digests, p_payloads) AS p (digest, payload));
END $$;


--
-- Name: at_rest_5a0b65496eda(text); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.at_rest_5a0b65496eda(p_status text) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT p_status IN ('idle', 'interrupted', 'failed', 'aborted')
$$;


--
-- Name: check_facts_5a0b65496eda(holdover.session, bigint, text[], text[], bytea[], text[], text[], bigint[]); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.check_facts_5a0b65496eda(session holdover.session, p_seen bigint, p_promoted text[], p_stage_calls text[], p_stage_digests bytea[], p_open_ids text[], p_close text[], p_consumed bigint[], OUT outcome text, OUT subject text, OUT subject_place bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF cardinality(p_stage_calls) > 0 THEN
        subject := "holdover".stage_conflict_5a0b65496eda(session.sid, p_stage_calls, p_stage_digests);
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
                    SELECT FROM "holdover".staged t WHERE t.sid = session.sid AND t.call = m.call)))
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
            LEFT JOIN "holdover".pending p ON p.sid = session.sid AND p.id = c.id
            WHERE p.last_answer > p_seen OR (p.id IS NULL AND NOT (c.id = ANY (p_open_ids) AND EXISTS (
                SELECT FROM "holdover".opened o WHERE o.sid = session.sid AND o.id = c.id)))
            ORDER BY c.nth LIMIT 1;
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;
    IF cardinality(p_open_ids) > 0 THEN
        SELECT n.id INTO subject FROM unnest(p_open_ids) WITH ORDINALITY AS n (id, nth)
            WHERE n.id = ANY (p_open_ids[:n.nth::int - 1]) OR EXISTS (
                SELECT FROM "holdover".opened o WHERE o.sid = session.sid AND o.id = n.id)
            ORDER BY n.nth LIMIT 1;
        IF FOUND THEN
            outcome := 'pending_conflict';
            RETURN;
        END IF;
    END IF;
    IF cardinality(p_consumed) > 0 THEN
        SELECT c.seq INTO subject_place FROM unnest(p_consumed) WITH ORDINALITY AS c (seq, nth)
            WHERE c.seq > p_seen OR c.seq = ANY (p_consumed[:c.nth::int - 1]) OR NOT EXISTS (
                SELECT FROM "holdover".item i WHERE i.sid = session.sid AND i.seq = c.seq AND i.payload IS NOT NULL)
            ORDER BY c.nth LIMIT 1;
        IF FOUND THEN
            outcome := 'not_in_inbox';
            RETURN;
        END IF;
    END IF;
    subject := NULL;
    outcome := NULL;
END $$;


--
-- Name: check_interrupt_flag_5a0b65496eda(text, text, bytea, bigint, text); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.check_interrupt_flag_5a0b65496eda(p_tenant text, p_id text, p_incarnation bytea, p_epoch bigint, p_channel text, OUT outcome text, OUT session holdover.session) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    before "holdover".session;
BEGIN
    SELECT s.* INTO session FROM "holdover".session s WHERE s.tenant = p_tenant AND s.id = p_id;
    IF FOUND AND "holdover".admits_5a0b65496eda(session, p_incarnation, p_epoch) AND session.interrupt_id IS NOT NULL
        AND session.interrupt_handed_to IS DISTINCT FROM session.epoch THEN
        SELECT s.* INTO session FROM "holdover".session s
            WHERE s.tenant = p_tenant AND s.id = p_id FOR NO KEY UPDATE;
    END IF;
    IF NOT FOUND OR NOT "holdover".admits_5a0b65496eda(session, p_incarnation, p_epoch) THEN
        outcome := 'stale_fence';
    ELSIF session.interrupt_id IS NULL THEN
        outcome := 'clear';
    ELSE
        outcome := 'waiting';
        before := session;
        session.interrupt_handed_to := session.epoch;
        PERFORM "holdover".save_5a0b65496eda(before, session, "holdover".now_ms_5a0b65496eda(), p_channel);
    END IF;
END $$;


--
-- Name: claim_5a0b65496eda(holdover.session, text, text, bigint, bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.claim_5a0b65496eda(session holdover.session, p_run text, p_worker text, p_lease_ms bigint, p_now bigint) RETURNS holdover.session
    LANGUAGE plpgsql
    AS $$
DECLARE
    -- A fork has none of its source's runs.
    continues boolean := session.status <> 'idle' AND session.last_claim IS NOT NULL;
    parent bigint := CASE WHEN continues THEN session.epoch END;
BEGIN
    IF session.run_open THEN
        UPDATE "holdover".run AS r SET ended_at = p_now, outcome = 'lost'
            WHERE r.sid = session.sid AND r.epoch = session.epoch AND r.ended_at IS NULL;
    END IF;
    IF session.status = 'active' THEN
        session.attempts := least(session.attempts + 1, 4294967295);
    END IF;
    session.found := session.status;
    session.status := 'active';
    session.epoch := session.epoch + 1;
    session.version := session.version + 1;
    session.last_claim := p_run;
    session.run_open := true;
    session.stream_open := false;
    session.lease_worker := p_worker;
    session.lease_ends := "holdover".after_5a0b65496eda(p_now, p_lease_ms);
    session.lease_granted_ms := p_lease_ms;
    session.alarm := session.lease_ends;
    session.updated_at := p_now;
    INSERT INTO "holdover".run (sid, epoch, run, worker, found, parent, started_at)
        VALUES (session.sid, session.epoch, p_run, p_worker, session.found, parent, p_now);
    RETURN session;
END $$;


--
-- Name: claim_due_5a0b65496eda(text[], text, bigint, text[], bigint, text, text); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.claim_due_5a0b65496eda(p_runs text[], p_worker text, p_lease_ms bigint, p_queues text[], p_newest_format bigint, p_only_tenant text, p_channel text) RETURNS TABLE(now bigint, tenant text, id text, unreadable text, session holdover.session, extras holdover.surroundings_5a0b65496eda)
    LANGUAGE plpgsql
    AS $$
DECLARE
    before "holdover".session;
    candidate record;
    last_alarm bigint := -9223372036854775808;
    last_tenant text := '';
    last_id text := '';
    wanted bigint := cardinality(p_runs);
    claimed bigint := 0;
    page bigint := least(wanted, 1000) + 16;
    seen bigint;
    passed_over bigint;
    told bigint := 0;
    waited boolean := false;
BEGIN
    now := "holdover".now_ms_5a0b65496eda();
    LOOP
        seen := 0;
        FOR candidate IN SELECT * FROM "holdover".due_now_5a0b65496eda(p_queues, p_newest_format, p_only_tenant, now,
            last_alarm, last_tenant, last_id, page)
        LOOP
            seen := seen + 1;
            last_alarm := candidate.alarm;
            last_tenant := candidate.tenant;
            last_id := candidate.id;
            SELECT s.* INTO before FROM "holdover".session s WHERE s.sid = candidate.sid
                FOR NO KEY UPDATE SKIP LOCKED;
            IF NOT FOUND THEN
                passed_over := coalesce(passed_over, candidate.sid);
                CONTINUE;
            END IF;
            CONTINUE WHEN NOT "holdover".is_due_5a0b65496eda(before, p_queues, p_newest_format, p_only_tenant, now);
            session := NULL;
            extras := "holdover".surroundings_of_5a0b65496eda(before.sid, true);
            unreadable := "holdover".unreadable_5a0b65496eda(before, extras);
            IF unreadable IS NULL THEN
                claimed := claimed + 1;
                session := "holdover".claim_5a0b65496eda(before, p_runs[claimed], p_worker, p_lease_ms, now);
                PERFORM "holdover".save_5a0b65496eda(before, session, now, p_channel);
            ELSE
                CONTINUE WHEN told >= 8;
                told := told + 1;
                extras := NULL;
            END IF;
            tenant := before.tenant;
            id := before.id;
            RETURN NEXT;
            IF claimed >= wanted THEN
                RETURN;
            END IF;
        END LOOP;
        CONTINUE WHEN seen = page;
        EXIT WHEN claimed > 0 OR passed_over IS NULL OR waited;
        PERFORM "holdover".wait_for_5a0b65496eda(passed_over);
        waited := true;
        now := "holdover".now_ms_5a0b65496eda();
        last_alarm := -9223372036854775808;
        last_tenant := '';
        last_id := '';
    END LOOP;
END $$;


--
-- Name: claim_session_5a0b65496eda(text, text, text, text, bigint, bigint, text[], bytea[], text[], text[], bytea[], bytea[], bytea[], text); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.claim_session_5a0b65496eda(p_tenant text, p_id text, p_run text, p_worker text, p_lease_ms bigint, p_expected_version bigint, p_keys text[], p_contents bytea[], p_kinds text[], p_wakes text[], p_incarnations bytea[], p_digests bytea[], p_payloads bytea[], p_channel text, OUT outcome text, OUT refused bigint, OUT refusal text, OUT refusal_place bigint, OUT now bigint, OUT unreadable text, OUT session holdover.session, OUT extras holdover.surroundings_5a0b65496eda) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    before "holdover".session;
    accepted record;
BEGIN
    SELECT s.* INTO session FROM "holdover".session s
        WHERE s.tenant = p_tenant AND s.id = p_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        outcome := 'not_found';
        RETURN;
    END IF;
    now := "holdover".now_ms_5a0b65496eda();
    IF session.last_claim = p_run THEN
        outcome := CASE WHEN session.status = 'active' AND session.lease_ends > now THEN 'claimed'
            ELSE 'lease_ended' END;
        extras := "holdover".surroundings_of_5a0b65496eda(session.sid, true);
        RETURN;
    END IF;
    outcome := "holdover".claimable_5a0b65496eda(session, p_expected_version, now);
    IF outcome IS NOT NULL THEN
        RETURN;
    END IF;
    before := session;
    SELECT * INTO accepted FROM "holdover".accept_all_5a0b65496eda(session, p_keys, p_contents, p_kinds, p_wakes,
        p_incarnations, p_digests, p_payloads, now);
    IF accepted.refused IS NOT NULL THEN
        outcome := 'item_refused';
        refused := accepted.refused;
        refusal := accepted.refusal;
        refusal_place := accepted.refusal_place;
        RETURN;
    END IF;
    extras := "holdover".surroundings_of_5a0b65496eda(session.sid, true);
    unreadable := "holdover".unreadable_5a0b65496eda(before, extras);
    IF unreadable IS NOT NULL THEN
        -- Not claimed: the items go again, and nothing was changed.
        DELETE FROM "holdover".item i WHERE i.sid = before.sid AND i.seq > before.last_item AND i.payload IS NOT NULL;
        outcome := 'corrupt';
        RETURN;
    END IF;
    session := "holdover".claim_5a0b65496eda(accepted.session, p_run, p_worker, p_lease_ms, now);
    PERFORM "holdover".save_5a0b65496eda(before, session, now, p_channel);
    outcome := 'claimed';
END $$;


--
-- Name: claimable_5a0b65496eda(holdover.session, bigint, bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.claimable_5a0b65496eda(session holdover.session, p_expected_version bigint, p_now bigint) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT CASE
        WHEN session.status = 'aborted' THEN 'aborted'
        WHEN session.lease_ends > p_now THEN 'held'
        WHEN p_expected_version <> session.version THEN 'version_conflict' END
$$;


--
-- Name: clear_interrupt_5a0b65496eda(holdover.session); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.clear_interrupt_5a0b65496eda(session holdover.session) RETURNS holdover.session
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    session.interrupt_id := NULL;
    session.interrupt_kind := NULL;
    session.interrupt_reason := NULL;
    session.interrupt_at := NULL;
    session.interrupt_incarnation := NULL;
    session.interrupt_handed_to := NULL;
    RETURN session;
END $$;


--
-- Name: clear_tombstones_5a0b65496eda(bigint, bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.clear_tombstones_5a0b65496eda(p_most bigint, p_now bigint) RETURNS void
    LANGUAGE sql
    AS $$
    DELETE FROM "holdover".tombstone t WHERE t.at < p_now - 86400000 AND t.tid = ANY (ARRAY(
        SELECT o.tid FROM "holdover".tombstone o ORDER BY o.tid LIMIT p_most FOR UPDATE SKIP LOCKED))
$$;


--
-- Name: compare_and_set_status_5a0b65496eda(text, text, bytea, bigint, text, text[], bytea[], text[], text[], bytea[], bytea[], bytea[], text); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.compare_and_set_status_5a0b65496eda(p_tenant text, p_id text, p_incarnation bytea, p_expected_version bigint, p_to text, p_keys text[], p_contents bytea[], p_kinds text[], p_wakes text[], p_incarnations bytea[], p_digests bytea[], p_payloads bytea[], p_channel text, OUT outcome text, OUT version bigint, OUT status text, OUT refused bigint, OUT refusal text, OUT refusal_place bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    before "holdover".session;
    session "holdover".session;
    accepted record;
    now bigint;
BEGIN
    SELECT s.* INTO before FROM "holdover".session s
        WHERE s.tenant = p_tenant AND s.id = p_id FOR NO KEY UPDATE;
    IF NOT FOUND OR p_incarnation <> before.incarnation THEN
        outcome := 'not_found';
        RETURN;
    END IF;
    now := "holdover".now_ms_5a0b65496eda();
    version := before.version;
    status := before.status;
    IF p_expected_version <> before.version THEN
        outcome := 'version_conflict';
        RETURN;
    ELSIF before.status NOT IN ('failed', 'interrupted') OR p_to <> 'suspended' THEN
        outcome := 'not_allowed';
        RETURN;
    END IF;
    SELECT * INTO accepted FROM "holdover".accept_all_5a0b65496eda(before, p_keys, p_contents, p_kinds, p_wakes,
        p_incarnations, p_digests, p_payloads, now);
    IF accepted.refused IS NOT NULL THEN
        outcome := 'item_refused';
        refused := accepted.refused;
        refusal := accepted.refusal;
        refusal_place := accepted.refusal_place;
        RETURN;
    END IF;
    session := accepted.session;
    session.status := 'suspended';
    session.version := session.version + 1;
    session.alarm := now;
    session.updated_at := now;
    PERFORM "holdover".save_5a0b65496eda(before, session, now, p_channel);
    version := session.version;
    outcome := 'moved';
END $$;


--
-- Name: create_session_5a0b65496eda(text, text, bytea, text, text, bigint, bytea[], bytea[], bytea, bytea, text[], bytea[], text[], text[], bytea[], bytea[], bytea[], bigint, text, text, bigint, text); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.create_session_5a0b65496eda(p_tenant text, p_id text, p_incarnation bytea, p_operation text, p_queue text, p_format bigint, p_label_names bytea[], p_label_values bytea[], p_definition_digest bytea, p_definition bytea, p_keys text[], p_contents bytea[], p_kinds text[], p_wakes text[], p_incarnations bytea[], p_digests bytea[], p_payloads bytea[], p_alarm bigint, p_run text, p_worker text, p_lease_ms bigint, p_channel text, OUT outcome text, OUT refused bigint, OUT refusal text, OUT now bigint, OUT session holdover.session, OUT extras holdover.surroundings_5a0b65496eda) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    before "holdover".session;
    accepted record;
BEGIN
    SELECT * INTO accepted FROM "holdover".enter_5a0b65496eda(
        p_tenant, p_id, p_incarnation, p_operation, p_queue, p_format, 'idle', 1, 0);
    session := accepted.session;
    now := "holdover".now_ms_5a0b65496eda();
    IF NOT accepted.entered THEN
        outcome := accepted.outcome;
        IF outcome = 'created' AND session.last_claim = p_run AND session.status = 'active'
            AND session.lease_ends > now THEN
            outcome := 'claimed';
            extras := "holdover".surroundings_of_5a0b65496eda(session.sid, true);
        END IF;
        RETURN;
    END IF;
    session.created_at := now;
    session.updated_at := now;
    before := session;
    SELECT * INTO accepted FROM "holdover".accept_all_5a0b65496eda(session, p_keys, p_contents, p_kinds, p_wakes,
        p_incarnations, p_digests, p_payloads, now);
    IF accepted.refused IS NOT NULL THEN
        DELETE FROM "holdover".session s WHERE s.sid = session.sid;
        outcome := 'item_refused';
        refused := accepted.refused;
        refusal := accepted.refusal;
        RETURN;
    END IF;
    session := accepted.session;
    INSERT INTO "holdover".label (sid, name, value)
        SELECT session.sid, l.name, l.value FROM unnest(p_label_names, p_label_values) AS l (name, value);
    INSERT INTO "holdover".definition (sid, digest, payload)
        VALUES (session.sid, p_definition_digest, p_definition);
    outcome := 'created';
    IF p_run IS NOT NULL THEN
        outcome := 'claimed';
        session := "holdover".claim_5a0b65496eda(session, p_run, p_worker, p_lease_ms, now);
        extras := "holdover".surroundings_of_5a0b65496eda(session.sid, true);
    END IF;
    session.alarm := coalesce(p_alarm, session.alarm);
    PERFORM "holdover".save_5a0b65496eda(before, session, now, p_channel);
    IF before IS NOT DISTINCT FROM session THEN
        PERFORM "holdover".hint_5a0b65496eda(p_channel, p_tenant, p_id, false);
    END IF;
END $$;


--
-- Name: delete_rows_5a0b65496eda(holdover.session, bigint, text); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.delete_rows_5a0b65496eda(session holdover.session, p_now bigint, p_channel text) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM "holdover".clear_tombstones_5a0b65496eda(2, p_now);
    INSERT INTO "holdover".tombstone (tenant, id, incarnation, operation, at)
        VALUES (session.tenant, session.id, session.incarnation, session.created_by, p_now);
    DELETE FROM "holdover".label t WHERE t.sid = session.sid;
    DELETE FROM "holdover".definition t WHERE t.sid = session.sid;
    DELETE FROM "holdover".state t WHERE t.sid = session.sid;
    DELETE FROM "holdover".message t WHERE t.sid = session.sid;
    DELETE FROM "holdover".event t WHERE t.sid = session.sid;
    DELETE FROM "holdover".delta t WHERE t.sid = session.sid;
    DELETE FROM "holdover".checkpoint t WHERE t.sid = session.sid;
    DELETE FROM "holdover".item t WHERE t.sid = session.sid;
    DELETE FROM "holdover".staged t WHERE t.sid = session.sid;
    DELETE FROM "holdover".start_mark t WHERE t.sid = session.sid;
    DELETE FROM "holdover".pending t WHERE t.sid = session.sid;
    DELETE FROM "holdover".opened t WHERE t.sid = session.sid;
    DELETE FROM "holdover".run t WHERE t.sid = session.sid;
    DELETE FROM "holdover".session t WHERE t.sid = session.sid;
    PERFORM "holdover".hint_5a0b65496eda(p_channel, session.tenant, session.id, false);
END $$;


--
-- Name: delete_session_5a0b65496eda(text, text, bytea, boolean, text); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.delete_session_5a0b65496eda(p_tenant text, p_id text, p_incarnation bytea, p_force boolean, p_channel text, OUT outcome text) RETURNS text
    LANGUAGE plpgsql
    AS $$
DECLARE
    session "holdover".session;
BEGIN
    SELECT s.* INTO session FROM "holdover".session s WHERE s.tenant = p_tenant AND s.id = p_id FOR UPDATE;
    IF NOT FOUND OR p_incarnation <> session.incarnation THEN
        outcome := 'not_found';
    ELSIF session.status = 'active' AND NOT p_force THEN
        outcome := 'active';
    ELSE
        PERFORM "holdover".delete_rows_5a0b65496eda(session, "holdover".now_ms_5a0b65496eda(), p_channel);
        outcome := 'deleted';
    END IF;
END $$;


--
-- Name: deliver_5a0b65496eda(text, text, text, bytea, text, text, text, boolean, bytea, bytea, bytea, text); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.deliver_5a0b65496eda(p_tenant text, p_id text, p_key text, p_content bytea, p_kind text, p_wake text, p_pending text, p_settles boolean, p_incarnation bytea, p_digest bytea, p_payload bytea, p_channel text, OUT outcome text, OUT place bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    before "holdover".session;
    accepted record;
    now bigint;
BEGIN
    SELECT s.* INTO before FROM "holdover".session s
        WHERE s.tenant = p_tenant AND s.id = p_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        outcome := 'not_found';
        RETURN;
    END IF;
    now := "holdover".now_ms_5a0b65496eda();
    SELECT * INTO accepted FROM "holdover".accept_5a0b65496eda(before, p_key, p_content, p_kind, p_wake, p_pending, p_settles,
        p_incarnation, p_digest, p_payload, now);
    outcome := accepted.outcome;
    place := accepted.place;
    IF outcome = 'accepted' THEN
        PERFORM "holdover".save_5a0b65496eda(before, accepted.session, now, p_channel);
    END IF;
END $$;


--
-- Name: due_now_5a0b65496eda(text[], bigint, text, bigint, bigint, text, text, bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.due_now_5a0b65496eda(p_queues text[], p_newest_format bigint, p_only_tenant text, p_now bigint, p_alarm bigint, p_tenant text, p_id text, p_limit bigint) RETURNS TABLE(sid bigint, alarm bigint, tenant text, id text)
    LANGUAGE sql
    AS $$
    WITH RECURSIVE with_alarms (queue) AS (
        (SELECT s.queue FROM "holdover".session s WHERE p_queues IS NULL AND s.alarm IS NOT NULL
            ORDER BY s.queue LIMIT 1)
        UNION ALL
        SELECT (SELECT s.queue FROM "holdover".session s WHERE s.alarm IS NOT NULL AND s.queue > w.queue
            ORDER BY s.queue LIMIT 1)
        FROM with_alarms w WHERE w.queue IS NOT NULL
    ), served (queue) AS (
        SELECT w.queue FROM with_alarms w WHERE w.queue IS NOT NULL
        UNION SELECT q.queue COLLATE "C" FROM unnest(p_queues) AS q (queue)
    )
    SELECT d.sid, d.alarm, d.tenant, d.id FROM served q CROSS JOIN LATERAL (
        SELECT s.sid, s.alarm, s.tenant, s.id FROM "holdover".session s
        WHERE s.queue = q.queue AND s.alarm IS NOT NULL AND s.alarm <= p_now
            AND (s.alarm, s.tenant, s.id) > (p_alarm, p_tenant, p_id)
            AND s.status <> 'aborted' AND (s.lease_ends IS NULL OR s.lease_ends <= p_now)
            AND s.format <= p_newest_format AND (p_only_tenant IS NULL OR s.tenant = p_only_tenant)
        ORDER BY s.alarm, s.tenant, s.id LIMIT p_limit
    ) d
    UNION
    (SELECT s.sid, s.alarm, s.tenant, s.id FROM "holdover".session s
        WHERE s.alarm IS NOT NULL AND s.interrupt_id IS NOT NULL AND s.alarm <= p_now
            AND (s.alarm, s.tenant, s.id) > (p_alarm, p_tenant, p_id)
            AND s.status <> 'aborted' AND (s.lease_ends IS NULL OR s.lease_ends <= p_now)
            AND (p_only_tenant IS NULL OR s.tenant = p_only_tenant)
        ORDER BY s.alarm, s.tenant, s.id LIMIT p_limit)
    ORDER BY 2, 3, 4 LIMIT p_limit
$$;


--
-- Name: end_lease_5a0b65496eda(holdover.session); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.end_lease_5a0b65496eda(session holdover.session) RETURNS holdover.session
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    session.lease_worker := NULL;
    session.lease_ends := NULL;
    session.lease_granted_ms := NULL;
    session.stream_open := false;
    RETURN session;
END $$;


--
-- Name: end_stream_5a0b65496eda(holdover.session, bigint, bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.end_stream_5a0b65496eda(session holdover.session, p_run bigint, p_number bigint) RETURNS holdover.session
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    IF (session.stream_run, session.stream_number) < (p_run, p_number) THEN
        session.stream_run := p_run;
        session.stream_number := p_number;
        session.stream_last := 0;
        session.stream_open := false;
    ELSIF (session.stream_run, session.stream_number) = (p_run, p_number) THEN
        session.stream_open := false;
    END IF;
    RETURN session;
END $$;


--
-- Name: enter_5a0b65496eda(text, text, bytea, text, text, bigint, text, bigint, bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.enter_5a0b65496eda(p_tenant text, p_id text, p_incarnation bytea, p_operation text, p_queue text, p_format bigint, p_status text, p_version bigint, p_epoch bigint, OUT session holdover.session, OUT entered boolean, OUT outcome text) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    now bigint := "holdover".now_ms_5a0b65496eda();
BEGIN
    entered := false;
    FOR nth IN 1 .. 100 LOOP
        SELECT s.* INTO session FROM "holdover".session s
            WHERE s.tenant = p_tenant AND s.id = p_id FOR NO KEY UPDATE;
        IF FOUND THEN
            outcome := CASE
                WHEN session.created_by = p_operation THEN 'created'
                WHEN "holdover".named_by_tombstone_5a0b65496eda(p_tenant, p_id, p_incarnation, p_operation) THEN 'deleted'
                ELSE 'already_exists' END;
            RETURN;
        END IF;
        -- Waits for another creation of this key that is in flight.
        INSERT INTO "holdover".session AS s (tenant, id, incarnation, created_by, queue, created_at, status,
                version, epoch, format, found, updated_at)
            VALUES (p_tenant, p_id, p_incarnation, p_operation, p_queue, now, p_status,
                p_version, p_epoch, p_format, p_status, now)
            ON CONFLICT ON CONSTRAINT session_key DO NOTHING
            RETURNING s.* INTO session;
        IF FOUND THEN
            IF "holdover".named_by_tombstone_5a0b65496eda(p_tenant, p_id, p_incarnation, p_operation) THEN
                DELETE FROM "holdover".session s WHERE s.sid = session.sid;
                outcome := 'deleted';
            ELSE
                entered := true;
            END IF;
            RETURN;
        END IF;
    END LOOP;
    RAISE EXCEPTION 'sessions of one key come and go' USING ERRCODE = 'serialization_failure';
END $$;


--
-- Name: fork_session_5a0b65496eda(text, text, bytea, bigint, text, bytea, text, text, text, bigint, bytea[], bytea[], bytea, bytea, bytea, bytea, bytea[], bytea[], bigint, bytea, bytea, bigint[], text); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.fork_session_5a0b65496eda(p_tenant text, p_from text, p_source bytea, p_checkpoint bigint, p_id text, p_incarnation bytea, p_operation text, p_queue text, p_status text, p_format bigint, p_label_names bytea[], p_label_values bytea[], p_definition_digest bytea, p_definition bytea, p_state_digest bytea, p_state bytea, p_message_digests bytea[], p_messages bytea[], p_event_count bigint, p_event_digest bytea, p_event bytea, p_event_sizes bigint[], p_channel text, OUT outcome text, OUT session holdover.session) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    entered record;
    source bigint;
    at_checkpoint record;
    now bigint;
BEGIN
    SELECT * INTO entered FROM "holdover".enter_5a0b65496eda(p_tenant, p_id, p_incarnation, p_operation, p_queue, p_format,
        p_status, 1, 0);
    session := entered.session;
    outcome := CASE entered.outcome WHEN 'created' THEN 'forked' ELSE entered.outcome END;
    IF NOT entered.entered THEN
        RETURN;
    END IF;
    SELECT s.sid INTO source FROM "holdover".session s
        WHERE s.tenant = p_tenant AND s.id = p_from AND s.incarnation = p_source FOR KEY SHARE;
    IF FOUND THEN
        SELECT c.* INTO at_checkpoint FROM "holdover".checkpoint c WHERE c.sid = source AND c.id = p_checkpoint;
    END IF;
    IF source IS NULL OR source = session.sid OR NOT FOUND THEN
        outcome := CASE WHEN source IS NULL OR source = session.sid THEN 'no_source' ELSE 'no_checkpoint' END;
        DELETE FROM "holdover".session s WHERE s.sid = session.sid;
        RETURN;
    END IF;
    now := "holdover".now_ms_5a0b65496eda();
    INSERT INTO "holdover".message (sid, seq, at, digest, payload)
        SELECT session.sid, m.seq, m.at, m.digest, m.payload FROM "holdover".message m
        WHERE m.sid = source AND m.seq <= at_checkpoint.last_message;
    INSERT INTO "holdover".event (sid, seq, at, digest, payload, sizes)
        SELECT session.sid, e.seq, e.at, e.digest, e.payload, e.sizes FROM "holdover".event e
        WHERE e.sid = source AND e.seq <= at_checkpoint.last_event;
    INSERT INTO "holdover".checkpoint (sid, id, epoch, last_message, last_event, at, format, digest, payload)
        SELECT session.sid, c.id, c.epoch, c.last_message, c.last_event, c.at, c.format, c.digest, c.payload
        FROM "holdover".checkpoint c WHERE c.sid = source AND c.id <= p_checkpoint;
    PERFORM "holdover".append_messages_5a0b65496eda(session.sid, at_checkpoint.last_message, p_message_digests, p_messages, now);
    PERFORM "holdover".append_events_5a0b65496eda(session.sid, at_checkpoint.last_event, p_event_count, p_event_digest, p_event,
        p_event_sizes, now);
    INSERT INTO "holdover".label (sid, name, value)
        SELECT session.sid, l.name, l.value FROM unnest(p_label_names, p_label_values) AS l (name, value);
    INSERT INTO "holdover".definition (sid, digest, payload)
        VALUES (session.sid, p_definition_digest, p_definition);
    INSERT INTO "holdover".state (sid, digest, payload) VALUES (session.sid, p_state_digest, p_state);
    UPDATE "holdover".session AS s SET
        created_at = now, updated_at = now,
        version = p_checkpoint + 1, epoch = at_checkpoint.epoch,
        last_message = at_checkpoint.last_message + cardinality(p_messages),
        last_event = at_checkpoint.last_event + p_event_count
        WHERE s.sid = session.sid RETURNING s.* INTO session;
    PERFORM "holdover".append_checkpoint_5a0b65496eda(session, p_state_digest, p_state, now);
    PERFORM "holdover".hint_5a0b65496eda(p_channel, p_tenant, p_id, false);
    outcome := 'forked';
END $$;


--
-- Name: give_back_5a0b65496eda(holdover.session, bigint, bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.give_back_5a0b65496eda(session holdover.session, p_alarm bigint, p_now bigint) RETURNS holdover.session
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    session := "holdover".end_lease_5a0b65496eda(session);
    session.status := session.found;
    session.alarm := CASE
        WHEN session.found = 'active' THEN coalesce(p_alarm, p_now)
        WHEN "holdover".wanted_at_once_5a0b65496eda(session) THEN p_now
        ELSE p_alarm END;
    RETURN session;
END $$;


--
-- Name: hint_5a0b65496eda(text, text, text, boolean); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.hint_5a0b65496eda(p_channel text, p_tenant text, p_id text, p_due boolean) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF p_channel IS NOT NULL THEN
        PERFORM pg_notify(p_channel, CASE WHEN p_due THEN 'due ' ELSE 'changed ' END || encode(substring(
            sha256(convert_to(p_tenant, 'UTF8') || '\x00'::bytea || convert_to(p_id, 'UTF8')) FOR 8), 'hex'));
    END IF;
END $$;


--
-- Name: inbox_after_5a0b65496eda(bigint, bigint, bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.inbox_after_5a0b65496eda(p_sid bigint, p_after bigint, p_rows bigint) RETURNS holdover.inbox_page_5a0b65496eda
    LANGUAGE sql STABLE
    AS $$
    SELECT ROW(
        array_agg(i.seq ORDER BY i.seq) FILTER (WHERE i.fits),
        array_agg(i.key ORDER BY i.seq) FILTER (WHERE i.fits),
        array_agg(i.kind ORDER BY i.seq) FILTER (WHERE i.fits),
        array_agg(i.wake ORDER BY i.seq) FILTER (WHERE i.fits),
        array_agg(i.pending ORDER BY i.seq) FILTER (WHERE i.fits),
        array_agg(i.settles ORDER BY i.seq) FILTER (WHERE i.fits),
        array_agg(i.at ORDER BY i.seq) FILTER (WHERE i.fits),
        array_agg(i.digest ORDER BY i.seq) FILTER (WHERE i.fits),
        array_agg(i.payload ORDER BY i.seq) FILTER (WHERE i.fits),
        coalesce(bool_or(NOT i.fits), false))::"holdover".inbox_page_5a0b65496eda
    FROM (
        SELECT o.*, row_number() OVER places = 1
            OR (row_number() OVER places <= p_rows AND sum(octet_length(o.payload)) OVER places <= 8388608) AS fits
        FROM (
            SELECT * FROM "holdover".item u
            WHERE u.sid = p_sid AND u.seq > p_after AND u.payload IS NOT NULL ORDER BY u.seq LIMIT p_rows + 1
        ) o WINDOW places AS (ORDER BY o.seq)
    ) i
$$;


--
-- Name: instant_5a0b65496eda(bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.instant_5a0b65496eda(p_ms bigint) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT CASE
        WHEN p_ms > 253402300799999 THEN 'infinity'::timestamptz
        WHEN p_ms < -62135596800000 THEN '-infinity'::timestamptz
        ELSE to_timestamp(p_ms / 1000.0) END
$$;


--
-- Name: is_due_5a0b65496eda(holdover.session, text[], bigint, text, bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.is_due_5a0b65496eda(session holdover.session, p_queues text[], p_newest_format bigint, p_tenant text, p_now bigint) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT coalesce(session.alarm <= p_now, false)
        AND (p_tenant IS NULL OR p_tenant = session.tenant)
        AND "holdover".claimable_5a0b65496eda(session, NULL, p_now) IS NULL
        AND (session.interrupt_id IS NOT NULL
            OR ((p_queues IS NULL OR session.queue = ANY (p_queues)) AND session.format <= p_newest_format))
$$;


--
-- Name: is_id_5a0b65496eda(text); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.is_id_5a0b65496eda(p_text text) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT octet_length(p_text) BETWEEN 1 AND 128 AND p_text COLLATE "C" !~ '[\u0001-\u001f\u007f-\u009f]'
$$;


--
-- Name: is_utf8_5a0b65496eda(bytea); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.is_utf8_5a0b65496eda(p_bytes bytea) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $_$
    SELECT encode(p_bytes, 'hex') ~ ('^([0-7].|(c[2-9a-f]|d.)[89ab].|(e0[ab].|e[1-9a-cef][89ab].|ed[89].)[89ab].'
        || '|(f0[9ab].|f[1-3][89ab].|f48.)[89ab].[89ab].)*$')
$_$;


--
-- Name: keep_lease_5a0b65496eda(holdover.session, bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.keep_lease_5a0b65496eda(session holdover.session, p_now bigint) RETURNS holdover.session
    LANGUAGE plpgsql IMMUTABLE
    AS $$
DECLARE
    remaining bigint := greatest(session.lease_ends - p_now, 0);
BEGIN
    IF session.lease_granted_ms >= 0 AND remaining < session.lease_granted_ms - remaining THEN
        session.lease_ends := "holdover".after_5a0b65496eda(p_now, session.lease_granted_ms);
        session.alarm := session.lease_ends;
    END IF;
    RETURN session;
END $$;


--
-- Name: list_checkpoints_5a0b65496eda(text, text, bigint, bigint, bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.list_checkpoints_5a0b65496eda(p_tenant text, p_id text, p_only bigint, p_before bigint, p_limit bigint) RETURNS TABLE(fits boolean, incarnation bytea, id bigint, epoch bigint, last_message bigint, last_event bigint, at bigint, format bigint, digest bytea, payload bytea)
    LANGUAGE sql STABLE
    AS $$
    SELECT f.fits, s.incarnation, f.id, f.epoch, f.last_message, f.last_event, f.at, f.format, f.digest,
        CASE WHEN f.fits THEN f.payload END
    FROM "holdover".session s LEFT JOIN LATERAL (
        SELECT n.*, row_number() OVER places = 1 OR (row_number() OVER places <= p_limit
            AND sum(octet_length(n.payload)) OVER places <= 8388608) AS fits
        FROM (
            SELECT * FROM "holdover".checkpoint c
            WHERE c.sid = s.sid AND c.id < p_before AND (p_only IS NULL OR c.id = p_only)
            ORDER BY c.id DESC LIMIT p_limit + 1
        ) n WINDOW places AS (ORDER BY n.id DESC)
    ) f ON true
    WHERE s.tenant = p_tenant AND s.id = p_id ORDER BY f.id DESC
$$;


--
-- Name: list_pending_5a0b65496eda(text, text, text, boolean, bigint, text, text, bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.list_pending_5a0b65496eda(p_tenant text, p_session text, p_kind text, p_endless boolean, p_deadline bigint, p_after_session text, p_id text, p_limit bigint) RETURNS TABLE(fits boolean, endless boolean, deadline bigint, session text, id text, tenant text, incarnation bytea, call text, kind text, needed bigint, answered bigint, last_answer bigint, opened_at bigint, digest bytea, payload bytea)
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    sids bigint[];
    ids text[];
BEGIN
    IF p_session IS NULL THEN
        SELECT array_agg(f.sid), array_agg(f.id) INTO sids, ids FROM (
            SELECT w.sid, w.id FROM (
                SELECT p.sid, p.id, p.endless, p.deadline, p.session, p.kind FROM "holdover".pending p
                WHERE p.tenant = p_tenant
                    AND (p.endless, p.deadline, p.session, p.id) > (p_endless, p_deadline, p_after_session, p_id)
                ORDER BY p.endless, p.deadline, p.session, p.id LIMIT 10000
            ) w WHERE p_kind IS NULL OR w.kind = p_kind
            ORDER BY w.endless, w.deadline, w.session, w.id LIMIT p_limit + 1
        ) f;
    ELSE
        SELECT array_agg(f.sid), array_agg(f.id) INTO sids, ids FROM (
            SELECT p.sid, p.id FROM "holdover".pending p
            WHERE p.sid = (SELECT s.sid FROM "holdover".session s WHERE s.tenant = p_tenant AND s.id = p_session)
                AND (p_kind IS NULL OR p.kind = p_kind)
                AND (p.endless, p.deadline, p.session, p.id) > (p_endless, p_deadline, p_after_session, p_id)
            ORDER BY p.endless, p.deadline, p.session, p.id LIMIT p_limit + 1
        ) f;
    END IF;
    RETURN QUERY
        SELECT f.fits, f.endless, f.deadline, f.session, f.id, f.tenant, f.incarnation, f.call, f.kind, f.needed,
            f.answered, f.last_answer, f.opened_at, f.digest, CASE WHEN f.fits THEN f.payload END
        FROM (
            SELECT p.*, row_number() OVER places = 1 OR (row_number() OVER places <= p_limit
                AND sum(octet_length(p.payload)) OVER places <= 8388608) AS fits
            FROM unnest(sids, ids) AS k (sid, id) JOIN "holdover".pending p ON p.sid = k.sid AND p.id = k.id
            WINDOW places AS (ORDER BY p.endless, p.deadline, p.session, p.id)
        ) f ORDER BY f.endless, f.deadline, f.session, f.id;
    IF p_session IS NULL AND p_kind IS NOT NULL AND coalesce(cardinality(sids), 0) <= p_limit THEN
        SELECT p.endless, p.deadline, p.session, p.id INTO endless, deadline, session, id FROM "holdover".pending p
            WHERE p.tenant = p_tenant
                AND (p.endless, p.deadline, p.session, p.id) > (p_endless, p_deadline, p_after_session, p_id)
            ORDER BY p.endless, p.deadline, p.session, p.id OFFSET 9999 LIMIT 1;
        IF FOUND THEN
            RETURN NEXT;
        END IF;
    END IF;
END $$;


--
-- Name: list_runs_5a0b65496eda(text, text, bigint, bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.list_runs_5a0b65496eda(p_tenant text, p_id text, p_epoch bigint, p_limit bigint) RETURNS TABLE(fits boolean, epoch bigint, run text, worker text, found text, parent bigint, started_at bigint, ended_at bigint, outcome text, digest bytea, detail bytea)
    LANGUAGE sql STABLE
    AS $$
    SELECT f.fits, f.epoch, f.run, f.worker, f.found, f.parent, f.started_at, f.ended_at, f.outcome, f.digest,
        CASE WHEN f.fits THEN f.detail END
    FROM "holdover".session s LEFT JOIN LATERAL (
        SELECT n.*, row_number() OVER places = 1 OR (row_number() OVER places <= p_limit
            AND coalesce(sum(octet_length(n.detail)) OVER places, 0) <= 8388608) AS fits
        FROM (
            SELECT * FROM "holdover".run r WHERE r.sid = s.sid AND r.epoch > p_epoch
            ORDER BY r.epoch LIMIT p_limit + 1
        ) n WINDOW places AS (ORDER BY n.epoch)
    ) f ON true
    WHERE s.tenant = p_tenant AND s.id = p_id ORDER BY f.epoch
$$;


--
-- Name: list_sessions_5a0b65496eda(text, text[], text, bytea[], bytea[], bigint, bigint, bigint, bigint, text, bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.list_sessions_5a0b65496eda(p_tenant text, p_status text[], p_queue text, p_label_names bytea[], p_label_values bytea[], p_created_since bigint, p_changed_since bigint, p_changed_before bigint, p_created_at bigint, p_id text, p_limit bigint) RETURNS TABLE(walked_at bigint, walked_id text, session holdover.session, label_names bytea[], label_values bytea[])
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    found_rows bigint;
BEGIN
    RETURN QUERY
        SELECT NULL::bigint, NULL::text, s, l.names, l.vals FROM (
            SELECT w.sid, w.created_at, w.id FROM (
                SELECT o.sid, o.created_at, o.id, o.status, o.queue, o.updated_at FROM "holdover".session o
                WHERE o.tenant = p_tenant AND (o.created_at, o.id) < (p_created_at, p_id)
                    AND o.created_at >= p_created_since
                ORDER BY o.created_at DESC, o.id DESC LIMIT 10000
            ) w
            WHERE (p_status IS NULL OR w.status = ANY (p_status))
                AND (p_queue IS NULL OR w.queue = p_queue)
                AND (p_changed_since IS NULL OR w.updated_at >= p_changed_since)
                AND (p_changed_before IS NULL OR w.updated_at < p_changed_before)
                AND NOT EXISTS (
                    SELECT FROM unnest(p_label_names, p_label_values) AS n (name, value)
                    WHERE NOT EXISTS (
                        SELECT FROM "holdover".label o
                        WHERE o.sid = w.sid AND o.name = n.name AND o.value = n.value))
            ORDER BY w.created_at DESC, w.id DESC LIMIT p_limit
        ) f JOIN "holdover".session s ON s.sid = f.sid CROSS JOIN LATERAL (
            SELECT array_agg(l.name) AS names, array_agg(l.value) AS vals FROM "holdover".label l WHERE l.sid = f.sid
        ) l ORDER BY f.created_at DESC, f.id DESC;
    GET DIAGNOSTICS found_rows = ROW_COUNT;
    IF found_rows < p_limit AND (p_status IS NOT NULL OR p_queue IS NOT NULL OR p_label_names <> '{}'
        OR p_changed_since IS NOT NULL OR p_changed_before IS NOT NULL) THEN
        SELECT o.created_at, o.id INTO walked_at, walked_id FROM "holdover".session o
            WHERE o.tenant = p_tenant AND (o.created_at, o.id) < (p_created_at, p_id)
                AND o.created_at >= p_created_since
            ORDER BY o.created_at DESC, o.id DESC OFFSET 9999 LIMIT 1;
        IF FOUND THEN
            RETURN NEXT;
        END IF;
    END IF;
END $$;


--
-- Name: load_session_5a0b65496eda(text, text); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.load_session_5a0b65496eda(p_tenant text, p_id text) RETURNS TABLE(session holdover.session, extras holdover.surroundings_5a0b65496eda)
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    SELECT s.* INTO session FROM "holdover".session s WHERE s.tenant = p_tenant AND s.id = p_id;
    IF FOUND THEN
        extras := "holdover".surroundings_of_5a0b65496eda(session.sid, false);
        RETURN NEXT;
    END IF;
END $$;


--
-- Name: named_by_tombstone_5a0b65496eda(text, text, bytea, text); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.named_by_tombstone_5a0b65496eda(p_tenant text, p_id text, p_incarnation bytea, p_operation text) RETURNS boolean
    LANGUAGE sql
    AS $$
    SELECT EXISTS (SELECT FROM "holdover".tombstone t WHERE t.tenant = p_tenant AND t.id = p_id
        AND (t.incarnation = p_incarnation OR t.operation = p_operation))
$$;


--
-- Name: now_ms_5a0b65496eda(); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.now_ms_5a0b65496eda() RETURNS bigint
    LANGUAGE sql
    AS $$
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
$$;


--
-- Name: open_pending_5a0b65496eda(holdover.session, text[], text[], text[], bigint[], bigint[], bytea[], bytea[], bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.open_pending_5a0b65496eda(session holdover.session, p_ids text[], p_calls text[], p_kinds text[], p_needed bigint[], p_deadlines bigint[], p_digests bytea[], p_bodies bytea[], p_now bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO "holdover".opened (sid, id) SELECT session.sid, n.id FROM unnest(p_ids) AS n (id);
    INSERT INTO "holdover".pending (sid, tenant, session, incarnation, id, call, kind, needed, endless, deadline,
            opened_at, digest, payload)
        SELECT session.sid, session.tenant, session.id, session.incarnation, n.id, n.call, n.kind, n.needed,
            n.deadline IS NULL, coalesce(n.deadline, 0), p_now, n.digest, n.body
        FROM unnest(p_ids, p_calls, p_kinds, p_needed, p_deadlines, p_digests, p_bodies) WITH ORDINALITY
            AS n (id, call, kind, needed, deadline, digest, body, nth)
        ORDER BY n.nth;
END $$;


--
-- Name: purge_5a0b65496eda(text, text[], bigint, bigint, bigint, bigint, bigint, text, text, text); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.purge_5a0b65496eda(p_only_tenant text, p_status text[], p_unchanged_since bigint, p_keep bigint, p_limit bigint, p_most_ms bigint, p_at bigint, p_tenant text, p_id text, p_channel text, OUT sessions bigint, OUT checkpoints bigint, OUT next_at bigint, OUT next_tenant text, OUT next_id text) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    most int := least(p_limit, 1000);
    walk int := CASE WHEN p_only_tenant IS NULL AND p_status IS NULL THEN most + 1 ELSE 10000 END;
    resting record;
    earlier bigint[];
    session "holdover".session;
    now bigint := "holdover".now_ms_5a0b65496eda();
    dealt int := 0;
    removed bigint;
BEGIN
    sessions := 0;
    checkpoints := 0;
    -- Whoever waited for a lock looks again: what it waited for may have made another session.
    FOR nth IN 1 .. 3 LOOP
        WITH walked AS MATERIALIZED (
            SELECT s.sid, s.resting_since AS at, s.tenant, s.id, s.status,
                row_number() OVER (ORDER BY s.resting_since, s.tenant, s.id) AS place
            FROM "holdover".session s
            WHERE s.resting_since IS NOT NULL AND s.resting_since < p_unchanged_since
                AND (s.resting_since, s.tenant, s.id) > (p_at, p_tenant, p_id)
            ORDER BY s.resting_since, s.tenant, s.id LIMIT walk
        ), wanted AS (
            SELECT * FROM walked w
            WHERE (p_only_tenant IS NULL OR w.tenant = p_only_tenant)
                AND (p_status IS NULL OR w.status = ANY (p_status))
            ORDER BY w.place LIMIT most + 1
        )
        SELECT coalesce(array_agg(w.sid ORDER BY w.place), '{}') AS sids, array_agg(w.at ORDER BY w.place) AS ats,
                array_agg(w.tenant ORDER BY w.place) AS tenants, array_agg(w.id ORDER BY w.place) AS ids,
                (SELECT l.at FROM walked l WHERE l.place = 10000) AS last_at,
                (SELECT l.tenant FROM walked l WHERE l.place = 10000) AS last_tenant,
                (SELECT l.id FROM walked l WHERE l.place = 10000) AS last_id
            INTO resting FROM wanted w;
        EXIT WHEN resting.sids = earlier;
        earlier := resting.sids;
        PERFORM FROM "holdover".session s WHERE s.sid = ANY (resting.sids[:most])
            ORDER BY s.resting_since, s.tenant, s.id FOR UPDATE;
    END LOOP;
    FOR nth IN 1 .. least(cardinality(resting.sids), most) LOOP
        EXIT WHEN nth > 1 AND "holdover".now_ms_5a0b65496eda() - now >= p_most_ms;
        dealt := nth;
        SELECT s.* INTO session FROM "holdover".session s WHERE s.sid = resting.sids[nth] FOR UPDATE;
        CONTINUE WHEN NOT FOUND OR session.resting_since IS NULL
            OR session.resting_since >= p_unchanged_since
            OR (p_status IS NOT NULL AND session.status <> ALL (p_status));
        IF p_keep IS NULL THEN
            PERFORM "holdover".delete_rows_5a0b65496eda(session, now, p_channel);
            sessions := sessions + 1;
        ELSE
            DELETE FROM "holdover".checkpoint c WHERE c.sid = session.sid AND c.id <= (
                SELECT k.id FROM "holdover".checkpoint k WHERE k.sid = session.sid
                ORDER BY k.id DESC LIMIT 1 OFFSET p_keep);
            GET DIAGNOSTICS removed = ROW_COUNT;
            checkpoints := checkpoints + removed;
        END IF;
    END LOOP;
    IF dealt < cardinality(resting.sids) THEN
        next_at := resting.ats[dealt];
        next_tenant := resting.tenants[dealt];
        next_id := resting.ids[dealt];
    ELSE
        next_at := resting.last_at;
        next_tenant := resting.last_tenant;
        next_id := resting.last_id;
    END IF;
    PERFORM "holdover".clear_tombstones_5a0b65496eda(most, now);
END $$;


--
-- Name: reaches_5a0b65496eda(holdover.session); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.reaches_5a0b65496eda(session holdover.session) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT session.unseen_urgent OR (session.wake_on > 0 AND session.unseen_counted >= session.wake_on)
$$;


--
-- Name: read_events_5a0b65496eda(text, text, bytea, bigint, bigint, bigint, bigint, bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.read_events_5a0b65496eda(p_tenant text, p_id text, p_incarnation bytea, p_after bigint, p_stream_run bigint, p_stream_number bigint, p_delta bigint, p_limit bigint) RETURNS TABLE(session holdover.session, seq bigint[], at bigint[], digest bytea[], payload bytea[], sizes text[], delta_place bigint[], delta_digest bytea[], delta bytea[])
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    bytes bigint;
    reached bigint;
    shown bigint;
    read_up_to bigint := 0;
BEGIN
    SELECT s.* INTO session FROM "holdover".session s WHERE s.tenant = p_tenant AND s.id = p_id;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF p_incarnation <> session.incarnation THEN
        RETURN NEXT;
        RETURN;
    END IF;
    SELECT array_agg(e.seq ORDER BY e.seq), array_agg(e.at ORDER BY e.seq), array_agg(e.digest ORDER BY e.seq),
            array_agg(e.payload ORDER BY e.seq), array_agg(e.sizes::text ORDER BY e.seq),
            sum(octet_length(e.payload)), max(e.seq)
        INTO seq, at, digest, payload, sizes, bytes, reached
        FROM (
            SELECT n.*, row_number() OVER places = 1 OR sum(octet_length(n.payload)) OVER places <= 8388608 AS fits
            FROM (
                SELECT * FROM "holdover".event o WHERE o.sid = session.sid AND o.seq > p_after
                ORDER BY o.seq LIMIT p_limit
            ) n WINDOW places AS (ORDER BY n.seq)
        ) e WHERE e.fits;
    reached := coalesce(reached, p_after);
    shown := reached - p_after;
    IF session.stream_open AND reached >= session.last_event AND shown < p_limit THEN
        IF (p_stream_run, p_stream_number) = (session.stream_run, session.stream_number) THEN
            read_up_to := p_delta;
        END IF;
        SELECT array_agg(d.place ORDER BY d.place), array_agg(d.digest ORDER BY d.place),
                array_agg(d.payload ORDER BY d.place)
            INTO delta_place, delta_digest, delta
            FROM (
                SELECT n.*, (shown <= 0 AND row_number() OVER places = 1)
                    OR coalesce(bytes, 0) + sum(octet_length(n.payload)) OVER places <= 8388608 AS fits
                FROM (
                    SELECT * FROM "holdover".delta o WHERE o.sid = session.sid AND o.place > read_up_to
                    ORDER BY o.place LIMIT p_limit - greatest(shown, 0)
                ) n WINDOW places AS (ORDER BY n.place)
            ) d WHERE d.fits;
    END IF;
    RETURN NEXT;
END $$;


--
-- Name: read_inbox_5a0b65496eda(text, text, bigint, bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.read_inbox_5a0b65496eda(p_tenant text, p_id text, p_after bigint, p_limit bigint) RETURNS SETOF holdover.inbox_page_5a0b65496eda
    LANGUAGE sql STABLE
    AS $$
    SELECT i.* FROM "holdover".session s CROSS JOIN LATERAL "holdover".inbox_after_5a0b65496eda(s.sid, p_after, p_limit) AS i
    WHERE s.tenant = p_tenant AND s.id = p_id
$$;


--
-- Name: read_messages_5a0b65496eda(text, text, bigint[], bigint[]); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.read_messages_5a0b65496eda(p_tenant text, p_id text, p_from bigint[], p_to bigint[]) RETURNS TABLE(seq bigint[], at bigint[], digest bytea[], payload bytea[], cut_range bigint, cut_seq bigint)
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    owner bigint;
    message record;
    places bigint[] := '{}';
    ranges bigint[] := '{}';
    total bigint := 0;
BEGIN
    SELECT s.sid INTO owner FROM "holdover".session s WHERE s.tenant = p_tenant AND s.id = p_id;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    <<pages>>
    FOR nth IN 1 .. cardinality(p_from) LOOP
        FOR message IN
            SELECT m.seq, octet_length(m.payload) AS bytes FROM "holdover".message m
            WHERE m.sid = owner AND m.seq BETWEEN p_from[nth] AND p_to[nth]
            ORDER BY m.seq LIMIT 1001 - cardinality(places)
        LOOP
            total := total + message.bytes;
            IF places <> '{}' AND (cardinality(places) >= 1000 OR total > 8388608) THEN
                cut_range := nth - 1;
                cut_seq := message.seq;
                EXIT pages;
            END IF;
            places := places || message.seq;
            ranges := ranges || nth::bigint;
        END LOOP;
    END LOOP;
    SELECT array_agg(m.seq ORDER BY p.nth), array_agg(m.at ORDER BY p.nth), array_agg(m.digest ORDER BY p.nth),
            array_agg(m.payload ORDER BY p.nth)
        INTO seq, at, digest, payload
        FROM unnest(places) WITH ORDINALITY AS p (seq, nth)
        JOIN "holdover".message m ON m.sid = owner AND m.seq = p.seq;
    RETURN NEXT;
END $$;


--
-- Name: readable_5a0b65496eda(bytea); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.readable_5a0b65496eda(p_bytes bytea) RETURNS json
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN convert_from(p_bytes, 'UTF8')::json;
EXCEPTION WHEN OTHERS THEN
    RETURN json_build_object('unreadable', 'no UTF-8 JSON', 'bytes', octet_length(p_bytes));
END $$;


--
-- Name: receipt_of_5a0b65496eda(holdover.session, bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.receipt_of_5a0b65496eda(session holdover.session, p_now bigint) RETURNS holdover.receipt
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT ROW(session.version, session.last_message, session.last_item, session.unread,
        session.interrupt_id IS NOT NULL, p_now, coalesce(session.lease_ends, p_now))::"holdover".receipt
$$;


--
-- Name: release_5a0b65496eda(holdover.session, text, bigint, bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.release_5a0b65496eda(session holdover.session, p_status text, p_deadline bigint, p_now bigint) RETURNS holdover.session
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    session := "holdover".end_lease_5a0b65496eda(session);
    session.status := p_status;
    IF p_status = 'aborted'
        OR ("holdover".at_rest_5a0b65496eda(p_status) AND session.interrupt_kind IS DISTINCT FROM 'abort') THEN
        session := "holdover".clear_interrupt_5a0b65496eda(session);
    END IF;
    session.alarm := CASE
        WHEN p_status = 'aborted' THEN NULL
        WHEN "holdover".wanted_at_once_5a0b65496eda(session) THEN p_now
        ELSE p_deadline END;
    RETURN session;
END $$;


--
-- Name: remove_program(text); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.remove_program(p_tag text) RETURNS void
    LANGUAGE plpgsql
    AS $_$
DECLARE
    old record;
    own oid := (SELECT c.relnamespace FROM pg_class c WHERE c.oid = '"holdover".program'::regclass);
BEGIN
    FOR old IN SELECT p.oid::regprocedure AS name FROM pg_proc p
        WHERE p.pronamespace = own AND p.proname ~ ('_' || p_tag || '$') LOOP
        EXECUTE format('DROP FUNCTION IF EXISTS %s CASCADE', old.name);
    END LOOP;
    FOR old IN SELECT t.oid::regtype AS name FROM pg_type t JOIN pg_class c ON c.oid = t.typrelid
        WHERE t.typnamespace = own AND c.relkind = 'c' AND t.typname ~ ('_' || p_tag || '$') LOOP
        EXECUTE format('DROP TYPE IF EXISTS %s CASCADE', old.name);
    END LOOP;
    DELETE FROM "holdover".program p WHERE p.tag = p_tag;
END $_$;


--
-- Name: renew_lease_5a0b65496eda(text, text, bytea, bigint, bigint, text); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.renew_lease_5a0b65496eda(p_tenant text, p_id text, p_incarnation bytea, p_epoch bigint, p_lease_ms bigint, p_channel text, OUT outcome text, OUT receipt holdover.receipt) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    before "holdover".session;
    session "holdover".session;
    now bigint;
    ends bigint;
BEGIN
    SELECT s.* INTO before FROM "holdover".session s
        WHERE s.tenant = p_tenant AND s.id = p_id FOR NO KEY UPDATE;
    IF NOT FOUND OR NOT "holdover".admits_5a0b65496eda(before, p_incarnation, p_epoch) THEN
        outcome := 'stale_fence';
        RETURN;
    END IF;
    now := "holdover".now_ms_5a0b65496eda();
    session := before;
    ends := "holdover".after_5a0b65496eda(now, p_lease_ms);
    IF session.lease_ends < ends THEN
        session.lease_ends := ends;
        session.lease_granted_ms := p_lease_ms;
        session.alarm := ends;
        session.updated_at := now;
        PERFORM "holdover".save_5a0b65496eda(before, session, now, p_channel);
    END IF;
    outcome := 'renewed';
    receipt := "holdover".receipt_of_5a0b65496eda(session, now);
END $$;


--
-- Name: request_interrupt_5a0b65496eda(text, text, text, text, bytea, bigint, bytea, text); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.request_interrupt_5a0b65496eda(p_tenant text, p_id text, p_interrupt_id text, p_kind text, p_reason bytea, p_at bigint, p_incarnation bytea, p_channel text, OUT outcome text, OUT waiting text) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    before "holdover".session;
    session "holdover".session;
    now bigint;
BEGIN
    SELECT s.* INTO before FROM "holdover".session s
        WHERE s.tenant = p_tenant AND s.id = p_id FOR NO KEY UPDATE;
    IF NOT FOUND OR p_incarnation <> before.incarnation THEN
        outcome := 'not_found';
    ELSIF before.status = 'aborted' THEN
        outcome := 'aborted';
    ELSIF before.interrupt_kind = 'abort' OR before.interrupt_kind = p_kind THEN
        outcome := 'already_waiting';
        waiting := before.interrupt_id;
    ELSIF p_kind = 'soft' AND "holdover".at_rest_5a0b65496eda(before.status) THEN
        outcome := 'at_rest';
    ELSE
        now := "holdover".now_ms_5a0b65496eda();
        session := before;
        session.interrupt_id := p_interrupt_id;
        session.interrupt_kind := p_kind;
        session.interrupt_reason := p_reason;
        session.interrupt_at := p_at;
        session.interrupt_incarnation := p_incarnation;
        session.interrupt_handed_to := NULL;
        session.updated_at := now;
        IF session.status <> 'active' THEN
            session := "holdover".ring_at_5a0b65496eda(session, now);
        END IF;
        PERFORM "holdover".save_5a0b65496eda(before, session, now, p_channel);
        outcome := 'requested';
    END IF;
END $$;


--
-- Name: ring_at_5a0b65496eda(holdover.session, bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.ring_at_5a0b65496eda(session holdover.session, p_at bigint) RETURNS holdover.session
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    session.alarm := least(session.alarm, p_at);
    RETURN session;
END $$;


--
-- Name: same_server_5a0b65496eda(text); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.same_server_5a0b65496eda(p_state text) RETURNS void
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    IF p_state IS DISTINCT FROM concat_ws(' ', pg_is_in_recovery()::text, current_setting('synchronous_commit'),
        current_setting('fsync'), current_setting('full_page_writes')) THEN
        RAISE EXCEPTION 'the server is not as it was' USING ERRCODE = 'SV001';
    END IF;
END $$;


--
-- Name: save_5a0b65496eda(holdover.session, holdover.session, bigint, text); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.save_5a0b65496eda(before holdover.session, session holdover.session, p_now bigint, p_channel text) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF before IS NOT DISTINCT FROM session THEN
        RETURN;
    END IF;
    UPDATE "holdover".session AS s SET
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
        DELETE FROM "holdover".delta d WHERE d.sid = session.sid;
    END IF;
    PERFORM "holdover".hint_5a0b65496eda(p_channel, session.tenant, session.id,
        coalesce(session.alarm <= p_now, false) AND before.alarm IS DISTINCT FROM session.alarm);
END $$;


--
-- Name: save_state_and_promote_staging_5a0b65496eda(text, text, bytea, bigint, text, bigint, bigint, bytea, bytea, text[], bytea[], bytea[], text[], bytea[], bytea[], bigint, bytea, bytea, bigint[], boolean, bigint, text[], text[], text[], bigint[], bigint[], bytea[], bytea[], text[], bigint[], bigint, text, text, bytea, bytea, text, text, bigint, bigint, text); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.save_state_and_promote_staging_5a0b65496eda(p_tenant text, p_id text, p_incarnation bytea, p_epoch bigint, p_operation text, p_expected_version bigint, p_format bigint, p_state_digest bytea, p_state bytea, p_promoted text[], p_message_digests bytea[], p_messages bytea[], p_stage_calls text[], p_stage_digests bytea[], p_stage_payloads bytea[], p_event_count bigint, p_event_digest bytea, p_event bytea, p_event_sizes bigint[], p_checkpoint boolean, p_streamed bigint, p_open_ids text[], p_open_calls text[], p_open_kinds text[], p_open_needed bigint[], p_open_deadlines bigint[], p_open_digests bytea[], p_open_bodies bytea[], p_close text[], p_consumed bigint[], p_inbox_seen bigint, p_interrupt_confirmed text, p_run_outcome text, p_run_digest bytea, p_run_detail bytea, p_release text, p_release_status text, p_release_at bigint, p_wake_on bigint, p_channel text, OUT outcome text, OUT subject text, OUT subject_place bigint, OUT version bigint, OUT receipt holdover.receipt) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    before "holdover".session;
    session "holdover".session;
    refused record;
    now bigint;
    seen bigint;
    unseen record;
BEGIN
    SELECT s.* INTO before FROM "holdover".session s
        WHERE s.tenant = p_tenant AND s.id = p_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        outcome := 'stale_fence_unknown';
        RETURN;
    END IF;
    now := "holdover".now_ms_5a0b65496eda();

    IF before.incarnation = p_incarnation AND before.epoch = p_epoch AND before.last_commit_epoch = p_epoch
        AND before.last_commit = p_operation THEN
        outcome := 'committed';
        receipt := before.last_receipt;
        RETURN;
    ELSIF NOT "holdover".admits_5a0b65496eda(before, p_incarnation, p_epoch) THEN
        outcome := 'stale_fence_' || "holdover".was_applied_5a0b65496eda(before, p_incarnation, p_epoch, p_operation,
            p_expected_version);
        RETURN;
    ELSIF p_expected_version <> before.version THEN
        outcome := 'version_conflict';
        version := before.version;
        RETURN;
    END IF;

    -- Nobody has seen what is not there yet: an item that comes later must count.
    seen := greatest(least(coalesce(p_inbox_seen, 0), before.last_item), before.inbox_seen);
    SELECT * INTO refused FROM "holdover".check_facts_5a0b65496eda(before, seen, p_promoted, p_stage_calls, p_stage_digests,
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
            INTO unseen FROM "holdover".item i
            WHERE i.sid = session.sid AND i.seq > p_inbox_seen AND i.payload IS NOT NULL;
        session.unseen_counted := unseen.counted;
        session.unseen_urgent := unseen.urgent > 0;
    END IF;
    IF session.interrupt_id = p_interrupt_confirmed THEN
        session := "holdover".clear_interrupt_5a0b65496eda(session);
    END IF;
    IF p_run_outcome IS NOT NULL THEN
        session.run_open := false;
    END IF;
    IF p_streamed IS NOT NULL THEN
        session := "holdover".end_stream_5a0b65496eda(session, session.epoch, p_streamed);
    END IF;
    IF p_release IS NULL THEN
        session := "holdover".keep_lease_5a0b65496eda(session, now);
    ELSIF p_release = 'to' THEN
        session.wake_on := p_wake_on;
        session := "holdover".release_5a0b65496eda(session, p_release_status, p_release_at, now);
    ELSE
        session := "holdover".give_back_5a0b65496eda(session, p_release_at, now);
    END IF;
    receipt := "holdover".receipt_of_5a0b65496eda(session, now);
    session.last_commit := p_operation;
    session.last_commit_epoch := session.epoch;
    session.last_receipt := receipt;
    PERFORM "holdover".save_5a0b65496eda(before, session, now, p_channel);

    PERFORM "holdover".apply_messages_5a0b65496eda(session.sid, before.last_message, p_promoted, p_message_digests, p_messages,
        p_stage_calls, p_stage_digests, p_stage_payloads, now);
    PERFORM "holdover".append_events_5a0b65496eda(session.sid, before.last_event, p_event_count, p_event_digest, p_event,
        p_event_sizes, now);
    IF p_state IS NOT NULL THEN
        INSERT INTO "holdover".state AS s (sid, digest, payload) VALUES (session.sid, p_state_digest, p_state)
            ON CONFLICT ON CONSTRAINT state_pkey DO UPDATE
            SET digest = excluded.digest, payload = excluded.payload;
        DELETE FROM "holdover".start_mark m WHERE m.sid = session.sid;
        IF p_checkpoint THEN
            PERFORM "holdover".append_checkpoint_5a0b65496eda(session, p_state_digest, p_state, now);
        END IF;
    END IF;
    IF cardinality(p_close) > 0 THEN
        DELETE FROM "holdover".pending p WHERE p.sid = session.sid AND p.id = ANY (p_close);
    END IF;
    IF cardinality(p_open_ids) > 0 THEN
        PERFORM "holdover".open_pending_5a0b65496eda(session, p_open_ids, p_open_calls, p_open_kinds, p_open_needed,
            p_open_deadlines, p_open_digests, p_open_bodies, now);
    END IF;
    IF cardinality(p_consumed) > 0 THEN
        UPDATE "holdover".item AS i SET digest = NULL, payload = NULL
            WHERE i.sid = session.sid AND i.seq = ANY (p_consumed) AND i.payload IS NOT NULL;
    END IF;
    IF p_run_outcome IS NOT NULL THEN
        -- The first end of a run is kept.
        UPDATE "holdover".run AS r SET ended_at = now, outcome = p_run_outcome, digest = p_run_digest,
            detail = p_run_detail
            WHERE r.sid = session.sid AND r.epoch = before.epoch AND r.ended_at IS NULL;
    END IF;
    outcome := 'committed';
END $$;


--
-- Name: stage_5a0b65496eda(bigint, text[], bytea[], bytea[]); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.stage_5a0b65496eda(p_sid bigint, p_calls text[], p_digests bytea[], p_payloads bytea[]) RETURNS void
    LANGUAGE sql
    AS $$
    INSERT INTO "holdover".staged (sid, call, digest, payload)
        SELECT DISTINCT ON (r.call) p_sid, r.call, r.digest, r.payload
        FROM unnest(p_calls, p_digests, p_payloads) WITH ORDINALITY AS r (call, digest, payload, nth)
        ORDER BY r.call, r.nth
        ON CONFLICT DO NOTHING
$$;


--
-- Name: stage_conflict_5a0b65496eda(bigint, text[], bytea[]); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.stage_conflict_5a0b65496eda(p_sid bigint, p_calls text[], p_digests bytea[]) RETURNS text
    LANGUAGE sql
    AS $$
    SELECT r.call FROM unnest(p_calls, p_digests) WITH ORDINALITY AS r (call, digest, nth)
    LEFT JOIN "holdover".staged t ON t.sid = p_sid AND t.call = r.call
    WHERE r.digest <> coalesce(t.digest, (
        SELECT f.digest FROM unnest(p_calls, p_digests) WITH ORDINALITY AS f (call, digest, nth)
        WHERE f.call = r.call ORDER BY f.nth LIMIT 1))
    ORDER BY r.nth LIMIT 1
$$;


--
-- Name: stage_result_5a0b65496eda(text, text, bytea, bigint, text[], bytea[], bytea[], text[]); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.stage_result_5a0b65496eda(p_tenant text, p_id text, p_incarnation bytea, p_epoch bigint, p_calls text[], p_digests bytea[], p_payloads bytea[], p_starts text[], OUT outcome text, OUT subject text, OUT receipt holdover.receipt) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    session "holdover".session;
BEGIN
    SELECT s.* INTO session FROM "holdover".session s
        WHERE s.tenant = p_tenant AND s.id = p_id FOR NO KEY UPDATE;
    IF NOT FOUND OR NOT "holdover".admits_5a0b65496eda(session, p_incarnation, p_epoch) THEN
        outcome := 'stale_fence';
        RETURN;
    END IF;
    IF cardinality(p_calls) > 0 THEN
        subject := "holdover".stage_conflict_5a0b65496eda(session.sid, p_calls, p_digests);
        IF subject IS NOT NULL THEN
            outcome := 'conflict';
            RETURN;
        END IF;
        PERFORM "holdover".stage_5a0b65496eda(session.sid, p_calls, p_digests, p_payloads);
    END IF;
    INSERT INTO "holdover".start_mark (sid, call)
        SELECT DISTINCT session.sid, c.call FROM unnest(p_starts) AS c (call)
        ON CONFLICT DO NOTHING;
    outcome := 'staged';
    receipt := "holdover".receipt_of_5a0b65496eda(session, "holdover".now_ms_5a0b65496eda());
END $$;


--
-- Name: surroundings_of_5a0b65496eda(bigint, boolean); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.surroundings_of_5a0b65496eda(p_sid bigint, p_for_claim boolean) RETURNS holdover.surroundings_5a0b65496eda
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    found "holdover".surroundings_5a0b65496eda;
BEGIN
    SELECT array_agg(l.name), array_agg(l.value) INTO found.label_names, found.label_values
        FROM "holdover".label l WHERE l.sid = p_sid;
    SELECT d.digest, d.payload INTO found.definition_digest, found.definition
        FROM "holdover".definition d WHERE d.sid = p_sid;
    SELECT s.digest, s.payload INTO found.state_digest, found.state FROM "holdover".state s WHERE s.sid = p_sid;
    SELECT array_agg(t.call ORDER BY t.call), array_agg(t.digest ORDER BY t.call),
            array_agg(t.payload ORDER BY t.call)
        INTO found.staged_call, found.staged_digest, found.staged
        FROM "holdover".staged t WHERE t.sid = p_sid;
    SELECT array_agg(m.call ORDER BY m.call) INTO found.starts FROM "holdover".start_mark m WHERE m.sid = p_sid;
    SELECT array_agg(p.id ORDER BY p.pid), array_agg(p.call ORDER BY p.pid), array_agg(p.kind ORDER BY p.pid),
            array_agg(p.needed ORDER BY p.pid), array_agg(p.answered ORDER BY p.pid),
            array_agg(p.last_answer ORDER BY p.pid), array_agg(p.endless ORDER BY p.pid),
            array_agg(p.deadline ORDER BY p.pid), array_agg(p.opened_at ORDER BY p.pid),
            array_agg(p.digest ORDER BY p.pid), array_agg(p.payload ORDER BY p.pid)
        INTO found.pending_id, found.pending_call, found.pending_kind, found.pending_needed,
            found.pending_answered, found.pending_last, found.pending_endless, found.pending_deadline,
            found.pending_opened_at, found.pending_digest, found.pending
        FROM "holdover".pending p WHERE p.sid = p_sid;
    IF p_for_claim THEN
        found.inbox := "holdover".inbox_after_5a0b65496eda(p_sid, 0, 256);
    END IF;
    RETURN found;
END $$;


--
-- Name: unreadable_5a0b65496eda(holdover.session, holdover.surroundings_5a0b65496eda); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.unreadable_5a0b65496eda(session holdover.session, extras holdover.surroundings_5a0b65496eda) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    RETURN CASE
        WHEN NOT "holdover".are_ids_5a0b65496eda(ARRAY[session.tenant, session.id, session.created_by, session.queue])
            THEN 'an id of the session'
        WHEN (octet_length(session.incarnation) = 16) IS NOT TRUE THEN 'incarnation'
        WHEN (session.status IN ('idle', 'active', 'suspended', 'interrupted', 'failed', 'aborted')) IS NOT TRUE
            THEN 'status: an unknown word'
        WHEN (session.found IN ('idle', 'active', 'suspended', 'interrupted', 'failed', 'aborted')) IS NOT TRUE
            THEN 'found: an unknown word'
        WHEN NOT "holdover".are_ids_5a0b65496eda(array_remove(ARRAY[session.last_claim, session.lease_worker], NULL))
            OR num_nulls(session.lease_worker, session.lease_ends, session.lease_granted_ms) NOT IN (0, 3)
            THEN 'lease'
        WHEN NOT "holdover".are_counts_5a0b65496eda(ARRAY[session.version, session.epoch, session.last_message,
                session.last_event, session.last_item, session.unread, session.inbox_seen, session.unseen_counted,
                session.stream_run, session.stream_last, coalesce(session.interrupt_handed_to, 0)],
                9223372036854775807)
            OR NOT "holdover".are_counts_5a0b65496eda(ARRAY[session.format, session.attempts, session.wake_on,
                session.stream_number], 4294967295)
            OR num_nulls(session.created_at, session.updated_at, session.run_open, session.unseen_urgent,
                session.stream_open) > 0
            THEN 'a number of the session'
        WHEN num_nulls(session.interrupt_id, session.interrupt_kind, session.interrupt_reason,
                session.interrupt_at) NOT IN (0, 4)
            OR NOT "holdover".are_ids_5a0b65496eda(array_remove(ARRAY[session.interrupt_id], NULL))
            OR session.interrupt_kind NOT IN ('soft', 'abort')
            OR NOT "holdover".is_utf8_5a0b65496eda(session.interrupt_reason)
            OR octet_length(session.interrupt_incarnation) <> 16
            THEN 'interrupt'
        WHEN EXISTS (SELECT FROM unnest(extras.label_names || extras.label_values) AS l (text)
            WHERE "holdover".is_utf8_5a0b65496eda(l.text) IS NOT TRUE) THEN 'label'
        WHEN (sha256(extras.definition) = extras.definition_digest) IS NOT TRUE THEN 'definition'
        WHEN num_nulls(extras.state, extras.state_digest) = 1
            OR sha256(extras.state) <> extras.state_digest THEN 'state'
        WHEN NOT "holdover".are_ids_5a0b65496eda(extras.staged_call || extras.starts)
            OR NOT "holdover".are_intact_5a0b65496eda(extras.staged_digest, extras.staged) THEN 'staged'
        WHEN NOT "holdover".are_ids_5a0b65496eda(extras.pending_id || extras.pending_call)
            OR NOT extras.pending_kind <@ ARRAY['approval', 'client_tool']
            OR NOT "holdover".are_counts_5a0b65496eda(extras.pending_needed || extras.pending_answered, 4294967295)
            OR NOT "holdover".are_counts_5a0b65496eda(extras.pending_last, 9223372036854775807)
            OR NOT "holdover".are_intact_5a0b65496eda(extras.pending_digest, extras.pending) THEN 'pending'
        WHEN NOT "holdover".are_ids_5a0b65496eda((extras.inbox).key)
            OR NOT "holdover".are_counts_5a0b65496eda((extras.inbox).seq, 9223372036854775807)
            OR NOT (extras.inbox).wake <@ ARRAY['now', 'count', 'quiet']
            OR NOT "holdover".are_intact_5a0b65496eda((extras.inbox).digest, (extras.inbox).payload)
            OR EXISTS (
                SELECT FROM unnest((extras.inbox).kind, (extras.inbox).pending) AS i (kind, pending)
                WHERE (CASE WHEN i.kind IN ('message', 'signal') THEN i.pending IS NULL
                    ELSE i.kind = 'answer' AND "holdover".is_id_5a0b65496eda(i.pending) END) IS NOT TRUE)
            THEN 'inbox'
    END;
END $$;


--
-- Name: wait_for_5a0b65496eda(bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.wait_for_5a0b65496eda(p_sid bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    usual text := current_setting('lock_timeout');
BEGIN
    PERFORM set_config('lock_timeout', '500ms', true);
    PERFORM FROM "holdover".session s WHERE s.sid = p_sid FOR NO KEY UPDATE;
    PERFORM set_config('lock_timeout', usual, true);
EXCEPTION WHEN lock_not_available THEN
    -- Passed over after all.
END $$;


--
-- Name: wakes_5a0b65496eda(holdover.session, text); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.wakes_5a0b65496eda(session holdover.session, p_wake text) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT CASE
        WHEN session.status IN ('active', 'aborted') THEN false
        WHEN session.status = 'suspended' THEN "holdover".reaches_5a0b65496eda(session)
        ELSE p_wake <> 'quiet' END
$$;


--
-- Name: wanted_at_once_5a0b65496eda(holdover.session); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.wanted_at_once_5a0b65496eda(session holdover.session) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT session.interrupt_id IS NOT NULL OR CASE
        WHEN "holdover".at_rest_5a0b65496eda(session.status) THEN session.unseen_urgent OR session.unseen_counted > 0
        ELSE "holdover".reaches_5a0b65496eda(session) END
$$;


--
-- Name: was_applied_5a0b65496eda(holdover.session, bytea, bigint, text, bigint); Type: FUNCTION; Schema: holdover; Owner: -
--

CREATE FUNCTION holdover.was_applied_5a0b65496eda(session holdover.session, p_incarnation bytea, p_epoch bigint, p_operation text, p_expected_version bigint) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT CASE
        WHEN session.incarnation <> p_incarnation THEN 'unknown'
        WHEN session.last_commit IS NULL THEN 'no'
        WHEN session.last_commit_epoch < p_epoch THEN 'no'
        WHEN session.last_commit_epoch > p_epoch THEN 'unknown'
        WHEN session.last_commit = p_operation THEN 'yes'
        -- Decided on what the newest commit made, it could only have come after it.
        WHEN p_expected_version >= (session.last_receipt).version THEN 'no'
        ELSE 'unknown' END
$$;


--
-- Name: checkpoint; Type: TABLE; Schema: holdover; Owner: -
--

CREATE TABLE holdover.checkpoint (
    sid bigint NOT NULL,
    id bigint NOT NULL,
    epoch bigint NOT NULL,
    last_message bigint NOT NULL,
    last_event bigint NOT NULL,
    at bigint NOT NULL,
    format bigint NOT NULL,
    digest bytea NOT NULL,
    payload bytea NOT NULL
);


--
-- Name: definition; Type: TABLE; Schema: holdover; Owner: -
--

CREATE TABLE holdover.definition (
    sid bigint NOT NULL,
    digest bytea NOT NULL,
    payload bytea NOT NULL
);


--
-- Name: delta; Type: TABLE; Schema: holdover; Owner: -
--

CREATE TABLE holdover.delta (
    sid bigint NOT NULL,
    place bigint NOT NULL,
    digest bytea NOT NULL,
    payload bytea NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.02');


--
-- Name: event; Type: TABLE; Schema: holdover; Owner: -
--

CREATE TABLE holdover.event (
    sid bigint NOT NULL,
    seq bigint NOT NULL,
    at bigint NOT NULL,
    digest bytea NOT NULL,
    payload bytea NOT NULL,
    sizes bigint[]
);


--
-- Name: item; Type: TABLE; Schema: holdover; Owner: -
--

CREATE TABLE holdover.item (
    sid bigint NOT NULL,
    seq bigint NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    content bytea NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    wake text NOT NULL COLLATE pg_catalog."C",
    pending text COLLATE pg_catalog."C",
    settles boolean NOT NULL,
    at bigint NOT NULL,
    digest bytea,
    payload bytea
);


--
-- Name: label; Type: TABLE; Schema: holdover; Owner: -
--

CREATE TABLE holdover.label (
    sid bigint NOT NULL,
    name bytea NOT NULL,
    value bytea NOT NULL
);


--
-- Name: mark; Type: TABLE; Schema: holdover; Owner: -
--

CREATE TABLE holdover.mark (
    one boolean DEFAULT true NOT NULL,
    version bigint NOT NULL,
    CONSTRAINT mark_one_check CHECK (one)
);


--
-- Name: message; Type: TABLE; Schema: holdover; Owner: -
--

CREATE TABLE holdover.message (
    sid bigint NOT NULL,
    seq bigint NOT NULL,
    at bigint NOT NULL,
    digest bytea NOT NULL,
    payload bytea NOT NULL
);


--
-- Name: opened; Type: TABLE; Schema: holdover; Owner: -
--

CREATE TABLE holdover.opened (
    sid bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: pending; Type: TABLE; Schema: holdover; Owner: -
--

CREATE TABLE holdover.pending (
    pid bigint NOT NULL,
    sid bigint NOT NULL,
    tenant text NOT NULL COLLATE pg_catalog."C",
    session text NOT NULL COLLATE pg_catalog."C",
    incarnation bytea NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    call text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    needed bigint NOT NULL,
    answered bigint DEFAULT 0 NOT NULL,
    last_answer bigint DEFAULT 0 NOT NULL,
    endless boolean NOT NULL,
    deadline bigint NOT NULL,
    opened_at bigint NOT NULL,
    digest bytea NOT NULL,
    payload bytea NOT NULL
);


--
-- Name: pending_pid_seq; Type: SEQUENCE; Schema: holdover; Owner: -
--

ALTER TABLE holdover.pending ALTER COLUMN pid ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME holdover.pending_pid_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: program; Type: TABLE; Schema: holdover; Owner: -
--

CREATE TABLE holdover.program (
    tag text NOT NULL COLLATE pg_catalog."C",
    opened_at timestamp with time zone NOT NULL
);


--
-- Name: run; Type: TABLE; Schema: holdover; Owner: -
--

CREATE TABLE holdover.run (
    sid bigint NOT NULL,
    epoch bigint NOT NULL,
    run text NOT NULL COLLATE pg_catalog."C",
    worker text NOT NULL COLLATE pg_catalog."C",
    found text NOT NULL COLLATE pg_catalog."C",
    parent bigint,
    started_at bigint NOT NULL,
    ended_at bigint,
    outcome text COLLATE pg_catalog."C",
    digest bytea,
    detail bytea
);


--
-- Name: session_sid_seq; Type: SEQUENCE; Schema: holdover; Owner: -
--

ALTER TABLE holdover.session ALTER COLUMN sid ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME holdover.session_sid_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: staged; Type: TABLE; Schema: holdover; Owner: -
--

CREATE TABLE holdover.staged (
    sid bigint NOT NULL,
    call text NOT NULL COLLATE pg_catalog."C",
    digest bytea NOT NULL,
    payload bytea NOT NULL
);


--
-- Name: start_mark; Type: TABLE; Schema: holdover; Owner: -
--

CREATE TABLE holdover.start_mark (
    sid bigint NOT NULL,
    call text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: state; Type: TABLE; Schema: holdover; Owner: -
--

CREATE TABLE holdover.state (
    sid bigint NOT NULL,
    digest bytea NOT NULL,
    payload bytea NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.02');


--
-- Name: tombstone; Type: TABLE; Schema: holdover; Owner: -
--

CREATE TABLE holdover.tombstone (
    tid bigint NOT NULL,
    tenant text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    incarnation bytea NOT NULL,
    operation text NOT NULL COLLATE pg_catalog."C",
    at bigint NOT NULL
);


--
-- Name: tombstone_tid_seq; Type: SEQUENCE; Schema: holdover; Owner: -
--

ALTER TABLE holdover.tombstone ALTER COLUMN tid ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME holdover.tombstone_tid_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: transcript; Type: VIEW; Schema: holdover; Owner: -
--

CREATE VIEW holdover.transcript AS
 SELECT s.tenant,
    s.id AS session,
    'session'::text AS kind,
    (0)::bigint AS seq,
    holdover.instant_5a0b65496eda(s.updated_at) AS at,
    json_build_object('status', s.status, 'version', s.version, 'epoch', s.epoch, 'queue', s.queue, 'worker', s.lease_worker, 'lease_ends', holdover.instant_5a0b65496eda(s.lease_ends), 'alarm', holdover.instant_5a0b65496eda(s.alarm), 'unread', s.unread, 'interrupt', s.interrupt_kind, 'created_at', holdover.instant_5a0b65496eda(s.created_at), 'state', holdover.readable_5a0b65496eda(t.payload)) AS content
   FROM (holdover.session s
     LEFT JOIN holdover.state t ON ((t.sid = s.sid)))
UNION ALL
 SELECT s.tenant,
    s.id AS session,
    'message'::text AS kind,
    m.seq,
    holdover.instant_5a0b65496eda(m.at) AS at,
    holdover.readable_5a0b65496eda(m.payload) AS content
   FROM (holdover.session s
     JOIN holdover.message m ON ((m.sid = s.sid)))
UNION ALL
 SELECT s.tenant,
    s.id AS session,
    'event'::text AS kind,
    ((e.seq - cardinality(z.sizes)) + n.nth) AS seq,
    holdover.instant_5a0b65496eda(e.at) AS at,
    holdover.readable_5a0b65496eda(SUBSTRING(e.payload FROM (((1)::numeric + COALESCE(( SELECT sum(z.sizes[k.k]) AS sum
           FROM generate_series(1, (n.nth - 1)) k(k)), (0)::numeric)))::integer FOR (z.sizes[n.nth])::integer)) AS content
   FROM (((holdover.session s
     JOIN holdover.event e ON ((e.sid = s.sid)))
     CROSS JOIN LATERAL ( SELECT COALESCE(e.sizes, ARRAY[(octet_length(e.payload))::bigint]) AS sizes) z)
     CROSS JOIN LATERAL generate_subscripts(z.sizes, 1) n(nth));


--
-- Data for Name: checkpoint; Type: TABLE DATA; Schema: holdover; Owner: -
--

COPY holdover.checkpoint (sid, id, epoch, last_message, last_event, at, format, digest, payload) FROM stdin;
1	4	1	2	10	1795491299439	1	\\x8180ff0fd8ddf06982f0b7e97c825900b5b03f8766eda473c008efe432b1488e	\\x7b227374617465223a7b227374617465223a22646f6e65222c22656e64696e67223a7b22726561736f6e223a226d6f64656c5f73746f70227d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a66616c73652c227374657073223a312c22616e737765726564223a747275652c22776f726b65645f6d73223a312c22636c61696d65645f6174223a313739353439313239393430387d2c2273746570223a312c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c2276696577223a7b22746f6b656e73223a327d7d
2	4	1	2	12	1795491299474	1	\\xac366172cd8beb22097086df251a2c59d7dc43c4d88b3a144b5cf3e803458b1d	\\x7b227374617465223a7b227374617465223a22636f6e6669726d696e67222c226261746368223a7b2273746570223a312c226d657373616765223a322c2263616c6c73223a5b7b226964223a2263312d30222c22746f6f6c223a226c6f6f6b222c22656666656374223a22726561645f6f6e6c79222c22617267756d656e7473223a322c2270726f66696c65223a7b226b657973223a5b5d7d2c227374617465223a7b226973223a22646f6e65227d7d2c7b226964223a2263312d31222c22746f6f6c223a22706179222c22617267756d656e7473223a322c2270726f66696c65223a7b226b657973223a5b5d7d2c22726f756e64223a312c227374617465223a7b226973223a22626c6f636b65645f6f6e5f75736572222c2270656e64696e67223a2265636566623238333531383834643539393733653836306666393566613034662e63312d312e31227d7d5d7d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a747275652c227374657073223a312c2263616c6c73223a322c22776f726b65645f6d73223a312c22636c61696d65645f6174223a313739353439313239393435387d2c2273746570223a312c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a312c22746f6f6c5f63616c6c73223a317d2c2276696577223a7b22746f6b656e73223a327d7d
3	4	1	2	10	1795491299543	1	\\x2fdd9229d6b8a4ffb95f3ff6337e16509e7b79c498dd78d254b1ad17816d7268	\\x7b227374617465223a7b227374617465223a22636f6e6669726d696e67222c226261746368223a7b2273746570223a312c226d657373616765223a322c2263616c6c73223a5b7b226964223a2263312d30222c22746f6f6c223a2261736b222c22656666656374223a226964656d706f74656e74222c2272756e735f6f6e223a22636c69656e74222c22617267756d656e7473223a322c2270726f66696c65223a7b226b657973223a5b5d7d2c22726f756e64223a312c227374617465223a7b226973223a22626c6f636b65645f6f6e5f636c69656e74222c2270656e64696e67223a2233383663343739656530323134396137393531333164353166316633396135352e63312d302e31227d7d5d7d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a747275652c227374657073223a312c2263616c6c73223a312c22636c61696d65645f6174223a313739353439313239393531317d2c2273746570223a312c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c2276696577223a7b22746f6b656e73223a327d7d
4	5	1	2	11	1795491299570	1	\\xd1e65598711a1037f49ffb23b28d0f1af4ec7e6053003515e71a6c6612c52923	\\x7b227374617465223a7b227374617465223a22636f6e6669726d696e67222c226261746368223a7b2273746570223a312c226d657373616765223a322c2263616c6c73223a5b7b226964223a2263312d30222c22746f6f6c223a22736c656570222c22656666656374223a226964656d706f74656e74222c22617267756d656e7473223a322c2270726f66696c65223a7b226b657973223a5b5d7d2c227374617465223a7b226973223a2277616974696e67222c22756e74696c223a313739353439313330343536342c226f7574707574223a22736c657074227d7d5d7d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a747275652c227374657073223a312c2263616c6c73223a312c22776f726b65645f6d73223a392c22636c61696d65645f6174223a313739353439313239393536347d2c2273746570223a312c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a312c22746f6f6c5f63616c6c73223a317d2c2276696577223a7b22746f6b656e73223a327d7d
5	4	1	1	7	1795491299606	1	\\x3c21d35f40ac9e2ada9aece82ae0f1826eb1ddf5c813e0969d2c2ddaab29478b	\\x7b227374617465223a7b227374617465223a226261636b696e675f6f6666222c2273746570223a312c22617474656d7074223a312c22756e74696c223a313739353439313330343538332c226572726f72223a7b22636f6465223a226d6f64656c2e726174655f6c696d69746564222c2264657461696c223a22736c6f7720646f776e227d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a747275652c22636c61696d65645f6174223a313739353439313239393538337d2c2273746570223a312c227573616765223a7b7d7d
6	4	1	1	10	1795491299627	1	\\x9563126d885889fb7884c71ab3a6f1165fb5f0039b5b5dbf879ae8bfc71c1cc7	\\x7b227374617465223a7b227374617465223a22646f6e65222c22656e64696e67223a7b22726561736f6e223a226572726f72222c226572726f72223a7b22636f6465223a226d6f64656c2e61757468222c2264657461696c223a226e6f206b6579227d2c2273746570223a317d2c227573616765223a7b7d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a66616c73652c22636c61696d65645f6174223a313739353439313239393631397d2c2273746570223a312c227573616765223a7b7d7d
7	4	1	1	9	1795491299917	1	\\xd581126605e6bf586f0f235f3e7794587e127eb09ba21ce095e8cc5ad7c438ab	\\x7b227374617465223a7b227374617465223a22646f6e65222c22656e64696e67223a7b22726561736f6e223a22757365725f61626f7274222c2273746f70706564223a22736f6674227d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a31327d2c22657374696d617465645f746f6b656e73223a31322c226d6f64656c5f63616c6c73223a317d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a66616c73652c22776f726b65645f6d73223a3237312c22636c61696d65645f6174223a313739353439313239393931337d2c2273746570223a312c227573616765223a7b22746f6b656e73223a7b22696e707574223a31327d2c22657374696d617465645f746f6b656e73223a31322c226d6f64656c5f63616c6c73223a317d7d
8	4	1	2	12	1795491299951	1	\\x94f223f8045b55cc979acf2c2d99307636f99570624c357ffe4f49241723d9e5	\\x7b227374617465223a7b227374617465223a22636f6e6669726d696e67222c226261746368223a7b2273746570223a312c226d657373616765223a322c2263616c6c73223a5b7b226964223a2263312d30222c22746f6f6c223a226c6f6f6b222c22656666656374223a22726561645f6f6e6c79222c22617267756d656e7473223a322c2270726f66696c65223a7b226b657973223a5b5d7d2c227374617465223a7b226973223a22646f6e65227d7d2c7b226964223a2263312d31222c22746f6f6c223a22706179222c22617267756d656e7473223a322c2270726f66696c65223a7b226b657973223a5b5d7d2c22726f756e64223a312c227374617465223a7b226973223a22626c6f636b65645f6f6e5f75736572222c2270656e64696e67223a2230396439323138663762383034313233613335313561623437663561646636612e63312d312e31227d7d5d7d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a747275652c227374657073223a312c2263616c6c73223a322c22776f726b65645f6d73223a312c22636c61696d65645f6174223a313739353439313239393933317d2c2273746570223a312c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a312c22746f6f6c5f63616c6c73223a317d2c2276696577223a7b22746f6b656e73223a327d7d
9	4	1	2	10	1795491300022	1	\\x0cabcd3c0d605a7188e24af07dae76cd03ad7ee887b4472a6c4bf2d0d2be819b	\\x7b227374617465223a7b227374617465223a22636f6e6669726d696e67222c226261746368223a7b2273746570223a312c226d657373616765223a322c2263616c6c73223a5b7b226964223a2263312d30222c22746f6f6c223a226772616e74222c22617267756d656e7473223a322c2270726f66696c65223a7b226b657973223a5b5d7d2c22726f756e64223a312c2270616e656c223a7b227465726d73223a7b22617070726f76657273223a7b226e6565646564223a327d7d2c22646967657374223a2233363333373937343266383062353162646239323036353739616637373534393131353433303739623933393963623366633331356662313939663437366538222c2261736b65645f6174223a313739353439313330303030387d2c227374617465223a7b226973223a22626c6f636b65645f6f6e5f75736572222c2270656e64696e67223a2263396262636662306337323234303731613564663231323930613633616162302e63312d302e31227d7d5d7d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a747275652c227374657073223a312c2263616c6c73223a312c22776f726b65645f6d73223a312c22636c61696d65645f6174223a313739353439313330303030387d2c2273746570223a312c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c2276696577223a7b22746f6b656e73223a327d7d
10	4	1	2	12	1795491300055	1	\\x368b1f1210b81c3b4babe28372be624ed97a4b5e639f1952b1c4ce66963fbe2f	\\x7b227374617465223a7b227374617465223a22636f6e6669726d696e67222c226261746368223a7b2273746570223a312c226d657373616765223a322c2263616c6c73223a5b7b226964223a2263312d30222c22746f6f6c223a226c6f6f6b222c22656666656374223a22726561645f6f6e6c79222c22617267756d656e7473223a322c2270726f66696c65223a7b226b657973223a5b5d7d2c227374617465223a7b226973223a22646f6e65227d7d2c7b226964223a2263312d31222c22746f6f6c223a22706179222c22617267756d656e7473223a322c2270726f66696c65223a7b226b657973223a5b5d7d2c22726f756e64223a312c227374617465223a7b226973223a22626c6f636b65645f6f6e5f75736572222c2270656e64696e67223a2230343663383439393236613734636334626465306139303939303433653533662e63312d312e31227d7d5d7d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a747275652c227374657073223a312c2263616c6c73223a322c22776f726b65645f6d73223a312c22636c61696d65645f6174223a313739353439313330303034347d2c2273746570223a312c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a312c22746f6f6c5f63616c6c73223a317d2c2276696577223a7b22746f6b656e73223a327d7d
14	4	1	2	10	1795491300474	1	\\x989877472c4ae4956441fbd4252e44033445f28e9ddd128c4eced6fe566203f1	\\x7b227374617465223a7b227374617465223a22646f6e65222c22656e64696e67223a7b22726561736f6e223a226d6f64656c5f73746f70227d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a66616c73652c227374657073223a312c22616e737765726564223a747275652c22636c61696d65645f6174223a313739353439313330303435337d2c2273746570223a312c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c2276696577223a7b22746f6b656e73223a327d7d
14	6	2	2	12	1795491300492	1	\\xf790cd066b94da8fa7f9ebeb28c0927a3b313a52823a6f4a6482c01dbbda6d5e	\\x7b227374617465223a7b227374617465223a22646f6e65222c22656e64696e67223a7b22726561736f6e223a22757365725f61626f7274222c2273746f70706564223a2261626f7274227d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a66616c73652c227374657073223a312c22616e737765726564223a747275652c22776f726b65645f6d73223a33342c22636c61696d65645f6174223a313739353439313330303438377d2c2273746570223a312c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c2276696577223a7b22746f6b656e73223a327d7d
15	4	1	2	10	1795491300515	1	\\x7f15b95de8a290c8db38164576b6a3a908c2ba2abc69a57ef057a655af38c042	\\x7b227374617465223a7b227374617465223a22646f6e65222c22656e64696e67223a7b22726561736f6e223a226d6f64656c5f73746f70227d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a66616c73652c227374657073223a312c22616e737765726564223a747275652c22636c61696d65645f6174223a313739353439313330303530317d2c2273746570223a312c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c2276696577223a7b22746f6b656e73223a327d7d
16	4	1	2	10	1795491300515	1	\\x7f15b95de8a290c8db38164576b6a3a908c2ba2abc69a57ef057a655af38c042	\\x7b227374617465223a7b227374617465223a22646f6e65222c22656e64696e67223a7b22726561736f6e223a226d6f64656c5f73746f70227d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a66616c73652c227374657073223a312c22616e737765726564223a747275652c22636c61696d65645f6174223a313739353439313330303530317d2c2273746570223a312c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c2276696577223a7b22746f6b656e73223a327d7d
16	5	1	2	12	1795491300523	1	\\x7f15b95de8a290c8db38164576b6a3a908c2ba2abc69a57ef057a655af38c042	\\x7b227374617465223a7b227374617465223a22646f6e65222c22656e64696e67223a7b22726561736f6e223a226d6f64656c5f73746f70227d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a66616c73652c227374657073223a312c22616e737765726564223a747275652c22636c61696d65645f6174223a313739353439313330303530317d2c2273746570223a312c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c2276696577223a7b22746f6b656e73223a327d7d
17	4	1	2	10	1795491300551	1	\\xd4d2650a9da78dfba4e93b0e6f75490a6f1bf444b611498e09699ce0a0a06604	\\x7b227374617465223a7b227374617465223a22646f6e65222c22656e64696e67223a7b22726561736f6e223a226d6f64656c5f73746f70227d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a66616c73652c227374657073223a312c22616e737765726564223a747275652c22636c61696d65645f6174223a313739353439313330303533347d2c2273746570223a312c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c2276696577223a7b22746f6b656e73223a327d7d
17	7	2	5	21	1795491300583	1	\\x3ba469eba67eb05c07f8ec042c9638aeb136f04360fd9360ff79bb287e915848	\\x7b227374617465223a7b227374617465223a22646f6e65222c22656e64696e67223a7b22726561736f6e223a226d6f64656c5f73746f70227d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a322c226f7574707574223a327d2c226d6f64656c5f63616c6c73223a327d7d2c227475726e223a7b226e756d626572223a322c226f70656e223a66616c73652c22757365645f6265666f7265223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c22626567616e223a332c227374657073223a312c22616e737765726564223a747275652c22636c61696d65645f6174223a313739353439313330303537307d2c2273746570223a322c227573616765223a7b22746f6b656e73223a7b22696e707574223a322c226f7574707574223a327d2c226d6f64656c5f63616c6c73223a327d2c2276696577223a7b226166746572223a322c22746f6b656e73223a327d7d
18	4	1	2	10	1795491300602	1	\\xc9d95f1b546c91805d5be4c61433c3ede1de2cce9ce9c7e2eabf0019bbea5235	\\x7b227374617465223a7b227374617465223a22646f6e65222c22656e64696e67223a7b22726561736f6e223a226d6f64656c5f73746f70227d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a66616c73652c227374657073223a312c22616e737765726564223a747275652c22636c61696d65645f6174223a313739353439313330303538397d2c2273746570223a312c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c2276696577223a7b22746f6b656e73223a327d7d
18	7	2	4	20	1795491300649	1	\\x7c26577b1a4ac827c7ed528458051c3a1dfc82b578c9cbc76098711968160ba2	\\x7b227374617465223a7b227374617465223a22646f6e65222c22656e64696e67223a7b22726561736f6e223a226d6f64656c5f73746f70227d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a322c226f7574707574223a327d2c226d6f64656c5f63616c6c73223a327d7d2c227475726e223a7b226e756d626572223a322c226f70656e223a66616c73652c22757365645f6265666f7265223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c22626567616e223a322c227374657073223a312c22616e737765726564223a747275652c22776f726b65645f6d73223a342c22636c61696d65645f6174223a313739353439313330303632307d2c2273746570223a322c227573616765223a7b22746f6b656e73223a7b22696e707574223a322c226f7574707574223a327d2c226d6f64656c5f63616c6c73223a327d2c2276696577223a7b22746f6b656e73223a327d7d
18	13	4	7	36	1795491300731	1	\\x4f63d6a0500421fad9ea55c6864c54f6a8165fc88534f88c16321f0dde71b100	\\x7b227374617465223a7b227374617465223a22646f6e65222c22656e64696e67223a7b22726561736f6e223a226d6f64656c5f73746f70227d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a342c226f7574707574223a347d2c226d6f64656c5f63616c6c73223a347d7d2c227475726e223a7b226e756d626572223a332c226f70656e223a66616c73652c22757365645f6265666f7265223a7b22746f6b656e73223a7b22696e707574223a322c226f7574707574223a327d2c226d6f64656c5f63616c6c73223a327d2c22626567616e223a342c227365656e5f6265666f7265223a7b22746f6b656e73223a327d2c227374657073223a312c22616e737765726564223a747275652c22776f726b65645f6d73223a332c22636c61696d65645f6174223a313739353439313330303637327d2c2273746570223a332c227573616765223a7b22746f6b656e73223a7b22696e707574223a342c226f7574707574223a347d2c226d6f64656c5f63616c6c73223a347d2c2276696577223a7b2273756d6d617279223a372c226b657074223a5b7b2266726f6d223a352c22746f223a367d5d2c226166746572223a372c22746f6b656e73223a317d7d
18	10	3	6	30	1795491300695	1	\\x90b17723a349608b511b2b0e00015a7a67612337c5e83b004f86ed362e641fb9	\\x7b227374617465223a7b227374617465223a22646f6e65222c22656e64696e67223a7b22726561736f6e223a226d6f64656c5f73746f70227d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a332c226f7574707574223a337d2c226d6f64656c5f63616c6c73223a337d7d2c227475726e223a7b226e756d626572223a332c226f70656e223a66616c73652c22757365645f6265666f7265223a7b22746f6b656e73223a7b22696e707574223a322c226f7574707574223a327d2c226d6f64656c5f63616c6c73223a327d2c22626567616e223a342c227374657073223a312c22616e737765726564223a747275652c22776f726b65645f6d73223a332c22636c61696d65645f6174223a313739353439313330303637327d2c2273746570223a332c227573616765223a7b22746f6b656e73223a7b22696e707574223a332c226f7574707574223a337d2c226d6f64656c5f63616c6c73223a337d2c2276696577223a7b22746f6b656e73223a327d7d
20	4	1	2	12	1795491300808	1	\\x93472e287458fc665af0ff57ad09d2f8787b574d0fdc4c89363e6e7b555309fd	\\xfa000000018095aebc3dcfbc34426d05cf100875ca68fe52599b66768fc803b0fe063986aff59bfc8a81bf740cb017a170e88f54f2700f1a8ee1c2da54e2a69cf734e6c9f0c8b8fdfaeb964afa03d557e7690ca185fc38de95ef72a68537aaf6dce3b54f2c98edf4e68a5f375b54ca586e4a4eb6382b170a8acd66272c8cb1d21d1bdf4c1c57c0de1240dabedfa8cb7ad1ed1b703b7ac7d01b0bb9a98c911c797dbb85243369e3c222aaf63f1e3bb3509c46dda3660c87d8486f033bbbb539b46658708ca16e62da5e10ac449e050ef27f2868703a0b7449535a7d05e487e180ed99068cdbb219460bd7190ff449c10dc22d20b07002deb59d54575d86026d3d0c206a9c4719eb2451d7320e7b2586a07e561e3c60f9ded8c7972a3f74118e62a479d12aaee505070ec03a934d07804880da81642659616fe4d8e094a30e57bb2e11865f9b694cc54f512993a108cd8ed773627ce9fbb81c
\.


--
-- Data for Name: definition; Type: TABLE DATA; Schema: holdover; Owner: -
--

COPY holdover.definition (sid, digest, payload) FROM stdin;
1	\\xe1e24ef8500c1f1ecb3db2c18120a4a0df97af7ffa6efe806575e1df94f4fd57	\\x7b2273706563223a7b226e616d65223a22746573746572222c22696e737472756374696f6e73223a22546573742e222c22746f6f6c73223a5b7b226e616d65223a2261736b222c226465736372697074696f6e223a2274686520746f6f6c2061736b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22636c69656e74227d2c7b226e616d65223a22706179222c226465736372697074696f6e223a2274686520746f6f6c20706179222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226772616e74222c226465736372697074696f6e223a2274686520746f6f6c206772616e74222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22686f6c64222c226465736372697074696f6e223a2274686520746f6f6c20686f6c64222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22626f6f6b222c226465736372697074696f6e223a2274686520746f6f6c20626f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22736c656570222c226465736372697074696f6e223a2274686520746f6f6c20736c656570222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226c6f6f6b222c226465736372697074696f6e223a2274686520746f6f6c206c6f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a22726561645f6f6e6c79222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d5d2c226c696d697473223a7b226d61785f7374657073223a35302c226d61785f746f6b656e73223a6e756c6c2c226d61785f636f73745f6d6963726f757364223a6e756c6c2c226d61785f72756e5f6d73223a3630303030302c22707269636573223a7b22696e7075745f6d6963726f757364223a302c226f75747075745f6d6963726f757364223a307d2c226d61785f6f75747075745f746f6b656e73223a31363338342c22746f6f6c5f74696d656f75745f6d73223a33303030302c22616e737765725f74696d656f75745f6d73223a6e756c6c2c22726573756c745f62797465735f6d6178223a313034383537362c226572726f725f62797465735f6d6178223a383139322c22726573756c745f63686172735f73686f776e223a32303030302c2273746f705f67726163655f6d73223a323030307d2c226475726162696c697479223a22706970656c696e6564222c2270726f766973696f6e73223a66616c73652c226c6f6f7073223a7b2273746f705f6174223a382c227761726e5f6174223a302c2277697468686f6c645f6174223a302c227769746868656c645f7374657073223a332c22776974685f726573756c7473223a66616c73657d2c22636f6d70616374696f6e223a7b22636f6e746578745f746f6b656e73223a3230303030302c227468726573686f6c645f70657263656e74223a37302c226b6570745f7475726e73223a312c2273756d6d6172795f746f6b656e73223a343030302c2274696d656f75745f6d73223a33303030302c226661696c757265735f6d6178223a332c22636c6561725f726573756c74735f6f766572223a31352c226b6570745f726573756c7473223a357d7d7d
2	\\xe1e24ef8500c1f1ecb3db2c18120a4a0df97af7ffa6efe806575e1df94f4fd57	\\x7b2273706563223a7b226e616d65223a22746573746572222c22696e737472756374696f6e73223a22546573742e222c22746f6f6c73223a5b7b226e616d65223a2261736b222c226465736372697074696f6e223a2274686520746f6f6c2061736b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22636c69656e74227d2c7b226e616d65223a22706179222c226465736372697074696f6e223a2274686520746f6f6c20706179222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226772616e74222c226465736372697074696f6e223a2274686520746f6f6c206772616e74222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22686f6c64222c226465736372697074696f6e223a2274686520746f6f6c20686f6c64222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22626f6f6b222c226465736372697074696f6e223a2274686520746f6f6c20626f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22736c656570222c226465736372697074696f6e223a2274686520746f6f6c20736c656570222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226c6f6f6b222c226465736372697074696f6e223a2274686520746f6f6c206c6f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a22726561645f6f6e6c79222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d5d2c226c696d697473223a7b226d61785f7374657073223a35302c226d61785f746f6b656e73223a6e756c6c2c226d61785f636f73745f6d6963726f757364223a6e756c6c2c226d61785f72756e5f6d73223a3630303030302c22707269636573223a7b22696e7075745f6d6963726f757364223a302c226f75747075745f6d6963726f757364223a307d2c226d61785f6f75747075745f746f6b656e73223a31363338342c22746f6f6c5f74696d656f75745f6d73223a33303030302c22616e737765725f74696d656f75745f6d73223a6e756c6c2c22726573756c745f62797465735f6d6178223a313034383537362c226572726f725f62797465735f6d6178223a383139322c22726573756c745f63686172735f73686f776e223a32303030302c2273746f705f67726163655f6d73223a323030307d2c226475726162696c697479223a22706970656c696e6564222c2270726f766973696f6e73223a66616c73652c226c6f6f7073223a7b2273746f705f6174223a382c227761726e5f6174223a302c2277697468686f6c645f6174223a302c227769746868656c645f7374657073223a332c22776974685f726573756c7473223a66616c73657d2c22636f6d70616374696f6e223a7b22636f6e746578745f746f6b656e73223a3230303030302c227468726573686f6c645f70657263656e74223a37302c226b6570745f7475726e73223a312c2273756d6d6172795f746f6b656e73223a343030302c2274696d656f75745f6d73223a33303030302c226661696c757265735f6d6178223a332c22636c6561725f726573756c74735f6f766572223a31352c226b6570745f726573756c7473223a357d7d7d
3	\\xe1e24ef8500c1f1ecb3db2c18120a4a0df97af7ffa6efe806575e1df94f4fd57	\\x7b2273706563223a7b226e616d65223a22746573746572222c22696e737472756374696f6e73223a22546573742e222c22746f6f6c73223a5b7b226e616d65223a2261736b222c226465736372697074696f6e223a2274686520746f6f6c2061736b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22636c69656e74227d2c7b226e616d65223a22706179222c226465736372697074696f6e223a2274686520746f6f6c20706179222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226772616e74222c226465736372697074696f6e223a2274686520746f6f6c206772616e74222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22686f6c64222c226465736372697074696f6e223a2274686520746f6f6c20686f6c64222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22626f6f6b222c226465736372697074696f6e223a2274686520746f6f6c20626f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22736c656570222c226465736372697074696f6e223a2274686520746f6f6c20736c656570222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226c6f6f6b222c226465736372697074696f6e223a2274686520746f6f6c206c6f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a22726561645f6f6e6c79222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d5d2c226c696d697473223a7b226d61785f7374657073223a35302c226d61785f746f6b656e73223a6e756c6c2c226d61785f636f73745f6d6963726f757364223a6e756c6c2c226d61785f72756e5f6d73223a3630303030302c22707269636573223a7b22696e7075745f6d6963726f757364223a302c226f75747075745f6d6963726f757364223a307d2c226d61785f6f75747075745f746f6b656e73223a31363338342c22746f6f6c5f74696d656f75745f6d73223a33303030302c22616e737765725f74696d656f75745f6d73223a6e756c6c2c22726573756c745f62797465735f6d6178223a313034383537362c226572726f725f62797465735f6d6178223a383139322c22726573756c745f63686172735f73686f776e223a32303030302c2273746f705f67726163655f6d73223a323030307d2c226475726162696c697479223a22706970656c696e6564222c2270726f766973696f6e73223a66616c73652c226c6f6f7073223a7b2273746f705f6174223a382c227761726e5f6174223a302c2277697468686f6c645f6174223a302c227769746868656c645f7374657073223a332c22776974685f726573756c7473223a66616c73657d2c22636f6d70616374696f6e223a7b22636f6e746578745f746f6b656e73223a3230303030302c227468726573686f6c645f70657263656e74223a37302c226b6570745f7475726e73223a312c2273756d6d6172795f746f6b656e73223a343030302c2274696d656f75745f6d73223a33303030302c226661696c757265735f6d6178223a332c22636c6561725f726573756c74735f6f766572223a31352c226b6570745f726573756c7473223a357d7d7d
4	\\xe1e24ef8500c1f1ecb3db2c18120a4a0df97af7ffa6efe806575e1df94f4fd57	\\x7b2273706563223a7b226e616d65223a22746573746572222c22696e737472756374696f6e73223a22546573742e222c22746f6f6c73223a5b7b226e616d65223a2261736b222c226465736372697074696f6e223a2274686520746f6f6c2061736b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22636c69656e74227d2c7b226e616d65223a22706179222c226465736372697074696f6e223a2274686520746f6f6c20706179222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226772616e74222c226465736372697074696f6e223a2274686520746f6f6c206772616e74222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22686f6c64222c226465736372697074696f6e223a2274686520746f6f6c20686f6c64222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22626f6f6b222c226465736372697074696f6e223a2274686520746f6f6c20626f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22736c656570222c226465736372697074696f6e223a2274686520746f6f6c20736c656570222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226c6f6f6b222c226465736372697074696f6e223a2274686520746f6f6c206c6f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a22726561645f6f6e6c79222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d5d2c226c696d697473223a7b226d61785f7374657073223a35302c226d61785f746f6b656e73223a6e756c6c2c226d61785f636f73745f6d6963726f757364223a6e756c6c2c226d61785f72756e5f6d73223a3630303030302c22707269636573223a7b22696e7075745f6d6963726f757364223a302c226f75747075745f6d6963726f757364223a307d2c226d61785f6f75747075745f746f6b656e73223a31363338342c22746f6f6c5f74696d656f75745f6d73223a33303030302c22616e737765725f74696d656f75745f6d73223a6e756c6c2c22726573756c745f62797465735f6d6178223a313034383537362c226572726f725f62797465735f6d6178223a383139322c22726573756c745f63686172735f73686f776e223a32303030302c2273746f705f67726163655f6d73223a323030307d2c226475726162696c697479223a22706970656c696e6564222c2270726f766973696f6e73223a66616c73652c226c6f6f7073223a7b2273746f705f6174223a382c227761726e5f6174223a302c2277697468686f6c645f6174223a302c227769746868656c645f7374657073223a332c22776974685f726573756c7473223a66616c73657d2c22636f6d70616374696f6e223a7b22636f6e746578745f746f6b656e73223a3230303030302c227468726573686f6c645f70657263656e74223a37302c226b6570745f7475726e73223a312c2273756d6d6172795f746f6b656e73223a343030302c2274696d656f75745f6d73223a33303030302c226661696c757265735f6d6178223a332c22636c6561725f726573756c74735f6f766572223a31352c226b6570745f726573756c7473223a357d7d7d
5	\\xe1e24ef8500c1f1ecb3db2c18120a4a0df97af7ffa6efe806575e1df94f4fd57	\\x7b2273706563223a7b226e616d65223a22746573746572222c22696e737472756374696f6e73223a22546573742e222c22746f6f6c73223a5b7b226e616d65223a2261736b222c226465736372697074696f6e223a2274686520746f6f6c2061736b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22636c69656e74227d2c7b226e616d65223a22706179222c226465736372697074696f6e223a2274686520746f6f6c20706179222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226772616e74222c226465736372697074696f6e223a2274686520746f6f6c206772616e74222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22686f6c64222c226465736372697074696f6e223a2274686520746f6f6c20686f6c64222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22626f6f6b222c226465736372697074696f6e223a2274686520746f6f6c20626f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22736c656570222c226465736372697074696f6e223a2274686520746f6f6c20736c656570222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226c6f6f6b222c226465736372697074696f6e223a2274686520746f6f6c206c6f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a22726561645f6f6e6c79222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d5d2c226c696d697473223a7b226d61785f7374657073223a35302c226d61785f746f6b656e73223a6e756c6c2c226d61785f636f73745f6d6963726f757364223a6e756c6c2c226d61785f72756e5f6d73223a3630303030302c22707269636573223a7b22696e7075745f6d6963726f757364223a302c226f75747075745f6d6963726f757364223a307d2c226d61785f6f75747075745f746f6b656e73223a31363338342c22746f6f6c5f74696d656f75745f6d73223a33303030302c22616e737765725f74696d656f75745f6d73223a6e756c6c2c22726573756c745f62797465735f6d6178223a313034383537362c226572726f725f62797465735f6d6178223a383139322c22726573756c745f63686172735f73686f776e223a32303030302c2273746f705f67726163655f6d73223a323030307d2c226475726162696c697479223a22706970656c696e6564222c2270726f766973696f6e73223a66616c73652c226c6f6f7073223a7b2273746f705f6174223a382c227761726e5f6174223a302c2277697468686f6c645f6174223a302c227769746868656c645f7374657073223a332c22776974685f726573756c7473223a66616c73657d2c22636f6d70616374696f6e223a7b22636f6e746578745f746f6b656e73223a3230303030302c227468726573686f6c645f70657263656e74223a37302c226b6570745f7475726e73223a312c2273756d6d6172795f746f6b656e73223a343030302c2274696d656f75745f6d73223a33303030302c226661696c757265735f6d6178223a332c22636c6561725f726573756c74735f6f766572223a31352c226b6570745f726573756c7473223a357d7d7d
12	\\xe1e24ef8500c1f1ecb3db2c18120a4a0df97af7ffa6efe806575e1df94f4fd57	\\x7b2273706563223a7b226e616d65223a22746573746572222c22696e737472756374696f6e73223a22546573742e222c22746f6f6c73223a5b7b226e616d65223a2261736b222c226465736372697074696f6e223a2274686520746f6f6c2061736b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22636c69656e74227d2c7b226e616d65223a22706179222c226465736372697074696f6e223a2274686520746f6f6c20706179222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226772616e74222c226465736372697074696f6e223a2274686520746f6f6c206772616e74222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22686f6c64222c226465736372697074696f6e223a2274686520746f6f6c20686f6c64222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22626f6f6b222c226465736372697074696f6e223a2274686520746f6f6c20626f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22736c656570222c226465736372697074696f6e223a2274686520746f6f6c20736c656570222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226c6f6f6b222c226465736372697074696f6e223a2274686520746f6f6c206c6f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a22726561645f6f6e6c79222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d5d2c226c696d697473223a7b226d61785f7374657073223a35302c226d61785f746f6b656e73223a6e756c6c2c226d61785f636f73745f6d6963726f757364223a6e756c6c2c226d61785f72756e5f6d73223a3630303030302c22707269636573223a7b22696e7075745f6d6963726f757364223a302c226f75747075745f6d6963726f757364223a307d2c226d61785f6f75747075745f746f6b656e73223a31363338342c22746f6f6c5f74696d656f75745f6d73223a33303030302c22616e737765725f74696d656f75745f6d73223a6e756c6c2c22726573756c745f62797465735f6d6178223a313034383537362c226572726f725f62797465735f6d6178223a383139322c22726573756c745f63686172735f73686f776e223a32303030302c2273746f705f67726163655f6d73223a323030307d2c226475726162696c697479223a22706970656c696e6564222c2270726f766973696f6e73223a66616c73652c226c6f6f7073223a7b2273746f705f6174223a382c227761726e5f6174223a302c2277697468686f6c645f6174223a302c227769746868656c645f7374657073223a332c22776974685f726573756c7473223a66616c73657d2c22636f6d70616374696f6e223a7b22636f6e746578745f746f6b656e73223a3230303030302c227468726573686f6c645f70657263656e74223a37302c226b6570745f7475726e73223a312c2273756d6d6172795f746f6b656e73223a343030302c2274696d656f75745f6d73223a33303030302c226661696c757265735f6d6178223a332c22636c6561725f726573756c74735f6f766572223a31352c226b6570745f726573756c7473223a357d7d7d
13	\\xe1e24ef8500c1f1ecb3db2c18120a4a0df97af7ffa6efe806575e1df94f4fd57	\\x7b2273706563223a7b226e616d65223a22746573746572222c22696e737472756374696f6e73223a22546573742e222c22746f6f6c73223a5b7b226e616d65223a2261736b222c226465736372697074696f6e223a2274686520746f6f6c2061736b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22636c69656e74227d2c7b226e616d65223a22706179222c226465736372697074696f6e223a2274686520746f6f6c20706179222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226772616e74222c226465736372697074696f6e223a2274686520746f6f6c206772616e74222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22686f6c64222c226465736372697074696f6e223a2274686520746f6f6c20686f6c64222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22626f6f6b222c226465736372697074696f6e223a2274686520746f6f6c20626f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22736c656570222c226465736372697074696f6e223a2274686520746f6f6c20736c656570222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226c6f6f6b222c226465736372697074696f6e223a2274686520746f6f6c206c6f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a22726561645f6f6e6c79222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d5d2c226c696d697473223a7b226d61785f7374657073223a35302c226d61785f746f6b656e73223a6e756c6c2c226d61785f636f73745f6d6963726f757364223a6e756c6c2c226d61785f72756e5f6d73223a3630303030302c22707269636573223a7b22696e7075745f6d6963726f757364223a302c226f75747075745f6d6963726f757364223a307d2c226d61785f6f75747075745f746f6b656e73223a31363338342c22746f6f6c5f74696d656f75745f6d73223a33303030302c22616e737765725f74696d656f75745f6d73223a6e756c6c2c22726573756c745f62797465735f6d6178223a313034383537362c226572726f725f62797465735f6d6178223a383139322c22726573756c745f63686172735f73686f776e223a32303030302c2273746f705f67726163655f6d73223a323030307d2c226475726162696c697479223a22706970656c696e6564222c2270726f766973696f6e73223a66616c73652c226c6f6f7073223a7b2273746f705f6174223a382c227761726e5f6174223a302c2277697468686f6c645f6174223a302c227769746868656c645f7374657073223a332c22776974685f726573756c7473223a66616c73657d2c22636f6d70616374696f6e223a7b22636f6e746578745f746f6b656e73223a3230303030302c227468726573686f6c645f70657263656e74223a37302c226b6570745f7475726e73223a312c2273756d6d6172795f746f6b656e73223a343030302c2274696d656f75745f6d73223a33303030302c226661696c757265735f6d6178223a332c22636c6561725f726573756c74735f6f766572223a31352c226b6570745f726573756c7473223a357d7d7d
15	\\xe1e24ef8500c1f1ecb3db2c18120a4a0df97af7ffa6efe806575e1df94f4fd57	\\x7b2273706563223a7b226e616d65223a22746573746572222c22696e737472756374696f6e73223a22546573742e222c22746f6f6c73223a5b7b226e616d65223a2261736b222c226465736372697074696f6e223a2274686520746f6f6c2061736b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22636c69656e74227d2c7b226e616d65223a22706179222c226465736372697074696f6e223a2274686520746f6f6c20706179222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226772616e74222c226465736372697074696f6e223a2274686520746f6f6c206772616e74222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22686f6c64222c226465736372697074696f6e223a2274686520746f6f6c20686f6c64222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22626f6f6b222c226465736372697074696f6e223a2274686520746f6f6c20626f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22736c656570222c226465736372697074696f6e223a2274686520746f6f6c20736c656570222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226c6f6f6b222c226465736372697074696f6e223a2274686520746f6f6c206c6f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a22726561645f6f6e6c79222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d5d2c226c696d697473223a7b226d61785f7374657073223a35302c226d61785f746f6b656e73223a6e756c6c2c226d61785f636f73745f6d6963726f757364223a6e756c6c2c226d61785f72756e5f6d73223a3630303030302c22707269636573223a7b22696e7075745f6d6963726f757364223a302c226f75747075745f6d6963726f757364223a307d2c226d61785f6f75747075745f746f6b656e73223a31363338342c22746f6f6c5f74696d656f75745f6d73223a33303030302c22616e737765725f74696d656f75745f6d73223a6e756c6c2c22726573756c745f62797465735f6d6178223a313034383537362c226572726f725f62797465735f6d6178223a383139322c22726573756c745f63686172735f73686f776e223a32303030302c2273746f705f67726163655f6d73223a323030307d2c226475726162696c697479223a22706970656c696e6564222c2270726f766973696f6e73223a66616c73652c226c6f6f7073223a7b2273746f705f6174223a382c227761726e5f6174223a302c2277697468686f6c645f6174223a302c227769746868656c645f7374657073223a332c22776974685f726573756c7473223a66616c73657d2c22636f6d70616374696f6e223a7b22636f6e746578745f746f6b656e73223a3230303030302c227468726573686f6c645f70657263656e74223a37302c226b6570745f7475726e73223a312c2273756d6d6172795f746f6b656e73223a343030302c2274696d656f75745f6d73223a33303030302c226661696c757265735f6d6178223a332c22636c6561725f726573756c74735f6f766572223a31352c226b6570745f726573756c7473223a357d7d7d
6	\\xe1e24ef8500c1f1ecb3db2c18120a4a0df97af7ffa6efe806575e1df94f4fd57	\\x7b2273706563223a7b226e616d65223a22746573746572222c22696e737472756374696f6e73223a22546573742e222c22746f6f6c73223a5b7b226e616d65223a2261736b222c226465736372697074696f6e223a2274686520746f6f6c2061736b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22636c69656e74227d2c7b226e616d65223a22706179222c226465736372697074696f6e223a2274686520746f6f6c20706179222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226772616e74222c226465736372697074696f6e223a2274686520746f6f6c206772616e74222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22686f6c64222c226465736372697074696f6e223a2274686520746f6f6c20686f6c64222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22626f6f6b222c226465736372697074696f6e223a2274686520746f6f6c20626f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22736c656570222c226465736372697074696f6e223a2274686520746f6f6c20736c656570222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226c6f6f6b222c226465736372697074696f6e223a2274686520746f6f6c206c6f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a22726561645f6f6e6c79222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d5d2c226c696d697473223a7b226d61785f7374657073223a35302c226d61785f746f6b656e73223a6e756c6c2c226d61785f636f73745f6d6963726f757364223a6e756c6c2c226d61785f72756e5f6d73223a3630303030302c22707269636573223a7b22696e7075745f6d6963726f757364223a302c226f75747075745f6d6963726f757364223a307d2c226d61785f6f75747075745f746f6b656e73223a31363338342c22746f6f6c5f74696d656f75745f6d73223a33303030302c22616e737765725f74696d656f75745f6d73223a6e756c6c2c22726573756c745f62797465735f6d6178223a313034383537362c226572726f725f62797465735f6d6178223a383139322c22726573756c745f63686172735f73686f776e223a32303030302c2273746f705f67726163655f6d73223a323030307d2c226475726162696c697479223a22706970656c696e6564222c2270726f766973696f6e73223a66616c73652c226c6f6f7073223a7b2273746f705f6174223a382c227761726e5f6174223a302c2277697468686f6c645f6174223a302c227769746868656c645f7374657073223a332c22776974685f726573756c7473223a66616c73657d2c22636f6d70616374696f6e223a7b22636f6e746578745f746f6b656e73223a3230303030302c227468726573686f6c645f70657263656e74223a37302c226b6570745f7475726e73223a312c2273756d6d6172795f746f6b656e73223a343030302c2274696d656f75745f6d73223a33303030302c226661696c757265735f6d6178223a332c22636c6561725f726573756c74735f6f766572223a31352c226b6570745f726573756c7473223a357d7d7d
10	\\xe1e24ef8500c1f1ecb3db2c18120a4a0df97af7ffa6efe806575e1df94f4fd57	\\x7b2273706563223a7b226e616d65223a22746573746572222c22696e737472756374696f6e73223a22546573742e222c22746f6f6c73223a5b7b226e616d65223a2261736b222c226465736372697074696f6e223a2274686520746f6f6c2061736b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22636c69656e74227d2c7b226e616d65223a22706179222c226465736372697074696f6e223a2274686520746f6f6c20706179222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226772616e74222c226465736372697074696f6e223a2274686520746f6f6c206772616e74222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22686f6c64222c226465736372697074696f6e223a2274686520746f6f6c20686f6c64222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22626f6f6b222c226465736372697074696f6e223a2274686520746f6f6c20626f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22736c656570222c226465736372697074696f6e223a2274686520746f6f6c20736c656570222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226c6f6f6b222c226465736372697074696f6e223a2274686520746f6f6c206c6f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a22726561645f6f6e6c79222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d5d2c226c696d697473223a7b226d61785f7374657073223a35302c226d61785f746f6b656e73223a6e756c6c2c226d61785f636f73745f6d6963726f757364223a6e756c6c2c226d61785f72756e5f6d73223a3630303030302c22707269636573223a7b22696e7075745f6d6963726f757364223a302c226f75747075745f6d6963726f757364223a307d2c226d61785f6f75747075745f746f6b656e73223a31363338342c22746f6f6c5f74696d656f75745f6d73223a33303030302c22616e737765725f74696d656f75745f6d73223a6e756c6c2c22726573756c745f62797465735f6d6178223a313034383537362c226572726f725f62797465735f6d6178223a383139322c22726573756c745f63686172735f73686f776e223a32303030302c2273746f705f67726163655f6d73223a323030307d2c226475726162696c697479223a22706970656c696e6564222c2270726f766973696f6e73223a66616c73652c226c6f6f7073223a7b2273746f705f6174223a382c227761726e5f6174223a302c2277697468686f6c645f6174223a302c227769746868656c645f7374657073223a332c22776974685f726573756c7473223a66616c73657d2c22636f6d70616374696f6e223a7b22636f6e746578745f746f6b656e73223a3230303030302c227468726573686f6c645f70657263656e74223a37302c226b6570745f7475726e73223a312c2273756d6d6172795f746f6b656e73223a343030302c2274696d656f75745f6d73223a33303030302c226661696c757265735f6d6178223a332c22636c6561725f726573756c74735f6f766572223a31352c226b6570745f726573756c7473223a357d7d7d
14	\\xe1e24ef8500c1f1ecb3db2c18120a4a0df97af7ffa6efe806575e1df94f4fd57	\\x7b2273706563223a7b226e616d65223a22746573746572222c22696e737472756374696f6e73223a22546573742e222c22746f6f6c73223a5b7b226e616d65223a2261736b222c226465736372697074696f6e223a2274686520746f6f6c2061736b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22636c69656e74227d2c7b226e616d65223a22706179222c226465736372697074696f6e223a2274686520746f6f6c20706179222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226772616e74222c226465736372697074696f6e223a2274686520746f6f6c206772616e74222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22686f6c64222c226465736372697074696f6e223a2274686520746f6f6c20686f6c64222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22626f6f6b222c226465736372697074696f6e223a2274686520746f6f6c20626f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22736c656570222c226465736372697074696f6e223a2274686520746f6f6c20736c656570222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226c6f6f6b222c226465736372697074696f6e223a2274686520746f6f6c206c6f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a22726561645f6f6e6c79222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d5d2c226c696d697473223a7b226d61785f7374657073223a35302c226d61785f746f6b656e73223a6e756c6c2c226d61785f636f73745f6d6963726f757364223a6e756c6c2c226d61785f72756e5f6d73223a3630303030302c22707269636573223a7b22696e7075745f6d6963726f757364223a302c226f75747075745f6d6963726f757364223a307d2c226d61785f6f75747075745f746f6b656e73223a31363338342c22746f6f6c5f74696d656f75745f6d73223a33303030302c22616e737765725f74696d656f75745f6d73223a6e756c6c2c22726573756c745f62797465735f6d6178223a313034383537362c226572726f725f62797465735f6d6178223a383139322c22726573756c745f63686172735f73686f776e223a32303030302c2273746f705f67726163655f6d73223a323030307d2c226475726162696c697479223a22706970656c696e6564222c2270726f766973696f6e73223a66616c73652c226c6f6f7073223a7b2273746f705f6174223a382c227761726e5f6174223a302c2277697468686f6c645f6174223a302c227769746868656c645f7374657073223a332c22776974685f726573756c7473223a66616c73657d2c22636f6d70616374696f6e223a7b22636f6e746578745f746f6b656e73223a3230303030302c227468726573686f6c645f70657263656e74223a37302c226b6570745f7475726e73223a312c2273756d6d6172795f746f6b656e73223a343030302c2274696d656f75745f6d73223a33303030302c226661696c757265735f6d6178223a332c22636c6561725f726573756c74735f6f766572223a31352c226b6570745f726573756c7473223a357d7d7d
7	\\xe1e24ef8500c1f1ecb3db2c18120a4a0df97af7ffa6efe806575e1df94f4fd57	\\x7b2273706563223a7b226e616d65223a22746573746572222c22696e737472756374696f6e73223a22546573742e222c22746f6f6c73223a5b7b226e616d65223a2261736b222c226465736372697074696f6e223a2274686520746f6f6c2061736b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22636c69656e74227d2c7b226e616d65223a22706179222c226465736372697074696f6e223a2274686520746f6f6c20706179222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226772616e74222c226465736372697074696f6e223a2274686520746f6f6c206772616e74222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22686f6c64222c226465736372697074696f6e223a2274686520746f6f6c20686f6c64222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22626f6f6b222c226465736372697074696f6e223a2274686520746f6f6c20626f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22736c656570222c226465736372697074696f6e223a2274686520746f6f6c20736c656570222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226c6f6f6b222c226465736372697074696f6e223a2274686520746f6f6c206c6f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a22726561645f6f6e6c79222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d5d2c226c696d697473223a7b226d61785f7374657073223a35302c226d61785f746f6b656e73223a6e756c6c2c226d61785f636f73745f6d6963726f757364223a6e756c6c2c226d61785f72756e5f6d73223a3630303030302c22707269636573223a7b22696e7075745f6d6963726f757364223a302c226f75747075745f6d6963726f757364223a307d2c226d61785f6f75747075745f746f6b656e73223a31363338342c22746f6f6c5f74696d656f75745f6d73223a33303030302c22616e737765725f74696d656f75745f6d73223a6e756c6c2c22726573756c745f62797465735f6d6178223a313034383537362c226572726f725f62797465735f6d6178223a383139322c22726573756c745f63686172735f73686f776e223a32303030302c2273746f705f67726163655f6d73223a323030307d2c226475726162696c697479223a22706970656c696e6564222c2270726f766973696f6e73223a66616c73652c226c6f6f7073223a7b2273746f705f6174223a382c227761726e5f6174223a302c2277697468686f6c645f6174223a302c227769746868656c645f7374657073223a332c22776974685f726573756c7473223a66616c73657d2c22636f6d70616374696f6e223a7b22636f6e746578745f746f6b656e73223a3230303030302c227468726573686f6c645f70657263656e74223a37302c226b6570745f7475726e73223a312c2273756d6d6172795f746f6b656e73223a343030302c2274696d656f75745f6d73223a33303030302c226661696c757265735f6d6178223a332c22636c6561725f726573756c74735f6f766572223a31352c226b6570745f726573756c7473223a357d7d7d
8	\\xe1e24ef8500c1f1ecb3db2c18120a4a0df97af7ffa6efe806575e1df94f4fd57	\\x7b2273706563223a7b226e616d65223a22746573746572222c22696e737472756374696f6e73223a22546573742e222c22746f6f6c73223a5b7b226e616d65223a2261736b222c226465736372697074696f6e223a2274686520746f6f6c2061736b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22636c69656e74227d2c7b226e616d65223a22706179222c226465736372697074696f6e223a2274686520746f6f6c20706179222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226772616e74222c226465736372697074696f6e223a2274686520746f6f6c206772616e74222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22686f6c64222c226465736372697074696f6e223a2274686520746f6f6c20686f6c64222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22626f6f6b222c226465736372697074696f6e223a2274686520746f6f6c20626f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22736c656570222c226465736372697074696f6e223a2274686520746f6f6c20736c656570222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226c6f6f6b222c226465736372697074696f6e223a2274686520746f6f6c206c6f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a22726561645f6f6e6c79222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d5d2c226c696d697473223a7b226d61785f7374657073223a35302c226d61785f746f6b656e73223a6e756c6c2c226d61785f636f73745f6d6963726f757364223a6e756c6c2c226d61785f72756e5f6d73223a3630303030302c22707269636573223a7b22696e7075745f6d6963726f757364223a302c226f75747075745f6d6963726f757364223a307d2c226d61785f6f75747075745f746f6b656e73223a31363338342c22746f6f6c5f74696d656f75745f6d73223a33303030302c22616e737765725f74696d656f75745f6d73223a6e756c6c2c22726573756c745f62797465735f6d6178223a313034383537362c226572726f725f62797465735f6d6178223a383139322c22726573756c745f63686172735f73686f776e223a32303030302c2273746f705f67726163655f6d73223a323030307d2c226475726162696c697479223a22706970656c696e6564222c2270726f766973696f6e73223a66616c73652c226c6f6f7073223a7b2273746f705f6174223a382c227761726e5f6174223a302c2277697468686f6c645f6174223a302c227769746868656c645f7374657073223a332c22776974685f726573756c7473223a66616c73657d2c22636f6d70616374696f6e223a7b22636f6e746578745f746f6b656e73223a3230303030302c227468726573686f6c645f70657263656e74223a37302c226b6570745f7475726e73223a312c2273756d6d6172795f746f6b656e73223a343030302c2274696d656f75745f6d73223a33303030302c226661696c757265735f6d6178223a332c22636c6561725f726573756c74735f6f766572223a31352c226b6570745f726573756c7473223a357d7d7d
9	\\xe1e24ef8500c1f1ecb3db2c18120a4a0df97af7ffa6efe806575e1df94f4fd57	\\x7b2273706563223a7b226e616d65223a22746573746572222c22696e737472756374696f6e73223a22546573742e222c22746f6f6c73223a5b7b226e616d65223a2261736b222c226465736372697074696f6e223a2274686520746f6f6c2061736b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22636c69656e74227d2c7b226e616d65223a22706179222c226465736372697074696f6e223a2274686520746f6f6c20706179222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226772616e74222c226465736372697074696f6e223a2274686520746f6f6c206772616e74222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22686f6c64222c226465736372697074696f6e223a2274686520746f6f6c20686f6c64222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22626f6f6b222c226465736372697074696f6e223a2274686520746f6f6c20626f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22736c656570222c226465736372697074696f6e223a2274686520746f6f6c20736c656570222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226c6f6f6b222c226465736372697074696f6e223a2274686520746f6f6c206c6f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a22726561645f6f6e6c79222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d5d2c226c696d697473223a7b226d61785f7374657073223a35302c226d61785f746f6b656e73223a6e756c6c2c226d61785f636f73745f6d6963726f757364223a6e756c6c2c226d61785f72756e5f6d73223a3630303030302c22707269636573223a7b22696e7075745f6d6963726f757364223a302c226f75747075745f6d6963726f757364223a307d2c226d61785f6f75747075745f746f6b656e73223a31363338342c22746f6f6c5f74696d656f75745f6d73223a33303030302c22616e737765725f74696d656f75745f6d73223a6e756c6c2c22726573756c745f62797465735f6d6178223a313034383537362c226572726f725f62797465735f6d6178223a383139322c22726573756c745f63686172735f73686f776e223a32303030302c2273746f705f67726163655f6d73223a323030307d2c226475726162696c697479223a22706970656c696e6564222c2270726f766973696f6e73223a66616c73652c226c6f6f7073223a7b2273746f705f6174223a382c227761726e5f6174223a302c2277697468686f6c645f6174223a302c227769746868656c645f7374657073223a332c22776974685f726573756c7473223a66616c73657d2c22636f6d70616374696f6e223a7b22636f6e746578745f746f6b656e73223a3230303030302c227468726573686f6c645f70657263656e74223a37302c226b6570745f7475726e73223a312c2273756d6d6172795f746f6b656e73223a343030302c2274696d656f75745f6d73223a33303030302c226661696c757265735f6d6178223a332c22636c6561725f726573756c74735f6f766572223a31352c226b6570745f726573756c7473223a357d7d7d
11	\\xe1e24ef8500c1f1ecb3db2c18120a4a0df97af7ffa6efe806575e1df94f4fd57	\\x7b2273706563223a7b226e616d65223a22746573746572222c22696e737472756374696f6e73223a22546573742e222c22746f6f6c73223a5b7b226e616d65223a2261736b222c226465736372697074696f6e223a2274686520746f6f6c2061736b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22636c69656e74227d2c7b226e616d65223a22706179222c226465736372697074696f6e223a2274686520746f6f6c20706179222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226772616e74222c226465736372697074696f6e223a2274686520746f6f6c206772616e74222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22686f6c64222c226465736372697074696f6e223a2274686520746f6f6c20686f6c64222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22626f6f6b222c226465736372697074696f6e223a2274686520746f6f6c20626f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22736c656570222c226465736372697074696f6e223a2274686520746f6f6c20736c656570222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226c6f6f6b222c226465736372697074696f6e223a2274686520746f6f6c206c6f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a22726561645f6f6e6c79222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d5d2c226c696d697473223a7b226d61785f7374657073223a35302c226d61785f746f6b656e73223a6e756c6c2c226d61785f636f73745f6d6963726f757364223a6e756c6c2c226d61785f72756e5f6d73223a3630303030302c22707269636573223a7b22696e7075745f6d6963726f757364223a302c226f75747075745f6d6963726f757364223a307d2c226d61785f6f75747075745f746f6b656e73223a31363338342c22746f6f6c5f74696d656f75745f6d73223a33303030302c22616e737765725f74696d656f75745f6d73223a6e756c6c2c22726573756c745f62797465735f6d6178223a313034383537362c226572726f725f62797465735f6d6178223a383139322c22726573756c745f63686172735f73686f776e223a32303030302c2273746f705f67726163655f6d73223a323030307d2c226475726162696c697479223a22706970656c696e6564222c2270726f766973696f6e73223a66616c73652c226c6f6f7073223a7b2273746f705f6174223a382c227761726e5f6174223a302c2277697468686f6c645f6174223a302c227769746868656c645f7374657073223a332c22776974685f726573756c7473223a66616c73657d2c22636f6d70616374696f6e223a7b22636f6e746578745f746f6b656e73223a3230303030302c227468726573686f6c645f70657263656e74223a37302c226b6570745f7475726e73223a312c2273756d6d6172795f746f6b656e73223a343030302c2274696d656f75745f6d73223a33303030302c226661696c757265735f6d6178223a332c22636c6561725f726573756c74735f6f766572223a31352c226b6570745f726573756c7473223a357d7d7d
16	\\xe1e24ef8500c1f1ecb3db2c18120a4a0df97af7ffa6efe806575e1df94f4fd57	\\x7b2273706563223a7b226e616d65223a22746573746572222c22696e737472756374696f6e73223a22546573742e222c22746f6f6c73223a5b7b226e616d65223a2261736b222c226465736372697074696f6e223a2274686520746f6f6c2061736b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22636c69656e74227d2c7b226e616d65223a22706179222c226465736372697074696f6e223a2274686520746f6f6c20706179222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226772616e74222c226465736372697074696f6e223a2274686520746f6f6c206772616e74222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22686f6c64222c226465736372697074696f6e223a2274686520746f6f6c20686f6c64222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22626f6f6b222c226465736372697074696f6e223a2274686520746f6f6c20626f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22736c656570222c226465736372697074696f6e223a2274686520746f6f6c20736c656570222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226c6f6f6b222c226465736372697074696f6e223a2274686520746f6f6c206c6f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a22726561645f6f6e6c79222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d5d2c226c696d697473223a7b226d61785f7374657073223a35302c226d61785f746f6b656e73223a6e756c6c2c226d61785f636f73745f6d6963726f757364223a6e756c6c2c226d61785f72756e5f6d73223a3630303030302c22707269636573223a7b22696e7075745f6d6963726f757364223a302c226f75747075745f6d6963726f757364223a307d2c226d61785f6f75747075745f746f6b656e73223a31363338342c22746f6f6c5f74696d656f75745f6d73223a33303030302c22616e737765725f74696d656f75745f6d73223a6e756c6c2c22726573756c745f62797465735f6d6178223a313034383537362c226572726f725f62797465735f6d6178223a383139322c22726573756c745f63686172735f73686f776e223a32303030302c2273746f705f67726163655f6d73223a323030307d2c226475726162696c697479223a22706970656c696e6564222c2270726f766973696f6e73223a66616c73652c226c6f6f7073223a7b2273746f705f6174223a382c227761726e5f6174223a302c2277697468686f6c645f6174223a302c227769746868656c645f7374657073223a332c22776974685f726573756c7473223a66616c73657d2c22636f6d70616374696f6e223a7b22636f6e746578745f746f6b656e73223a3230303030302c227468726573686f6c645f70657263656e74223a37302c226b6570745f7475726e73223a312c2273756d6d6172795f746f6b656e73223a343030302c2274696d656f75745f6d73223a33303030302c226661696c757265735f6d6178223a332c22636c6561725f726573756c74735f6f766572223a31352c226b6570745f726573756c7473223a357d7d7d
18	\\xe1e24ef8500c1f1ecb3db2c18120a4a0df97af7ffa6efe806575e1df94f4fd57	\\x7b2273706563223a7b226e616d65223a22746573746572222c22696e737472756374696f6e73223a22546573742e222c22746f6f6c73223a5b7b226e616d65223a2261736b222c226465736372697074696f6e223a2274686520746f6f6c2061736b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22636c69656e74227d2c7b226e616d65223a22706179222c226465736372697074696f6e223a2274686520746f6f6c20706179222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226772616e74222c226465736372697074696f6e223a2274686520746f6f6c206772616e74222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22686f6c64222c226465736372697074696f6e223a2274686520746f6f6c20686f6c64222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22626f6f6b222c226465736372697074696f6e223a2274686520746f6f6c20626f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22736c656570222c226465736372697074696f6e223a2274686520746f6f6c20736c656570222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226c6f6f6b222c226465736372697074696f6e223a2274686520746f6f6c206c6f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a22726561645f6f6e6c79222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d5d2c226c696d697473223a7b226d61785f7374657073223a35302c226d61785f746f6b656e73223a6e756c6c2c226d61785f636f73745f6d6963726f757364223a6e756c6c2c226d61785f72756e5f6d73223a3630303030302c22707269636573223a7b22696e7075745f6d6963726f757364223a302c226f75747075745f6d6963726f757364223a307d2c226d61785f6f75747075745f746f6b656e73223a31363338342c22746f6f6c5f74696d656f75745f6d73223a33303030302c22616e737765725f74696d656f75745f6d73223a6e756c6c2c22726573756c745f62797465735f6d6178223a313034383537362c226572726f725f62797465735f6d6178223a383139322c22726573756c745f63686172735f73686f776e223a32303030302c2273746f705f67726163655f6d73223a323030307d2c226475726162696c697479223a22706970656c696e6564222c2270726f766973696f6e73223a66616c73652c226c6f6f7073223a7b2273746f705f6174223a382c227761726e5f6174223a302c2277697468686f6c645f6174223a302c227769746868656c645f7374657073223a332c22776974685f726573756c7473223a66616c73657d2c22636f6d70616374696f6e223a7b22636f6e746578745f746f6b656e73223a3230303030302c227468726573686f6c645f70657263656e74223a37302c226b6570745f7475726e73223a312c2273756d6d6172795f746f6b656e73223a343030302c2274696d656f75745f6d73223a33303030302c226661696c757265735f6d6178223a332c22636c6561725f726573756c74735f6f766572223a31352c226b6570745f726573756c7473223a357d7d7d
17	\\xe1e24ef8500c1f1ecb3db2c18120a4a0df97af7ffa6efe806575e1df94f4fd57	\\x7b2273706563223a7b226e616d65223a22746573746572222c22696e737472756374696f6e73223a22546573742e222c22746f6f6c73223a5b7b226e616d65223a2261736b222c226465736372697074696f6e223a2274686520746f6f6c2061736b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22636c69656e74227d2c7b226e616d65223a22706179222c226465736372697074696f6e223a2274686520746f6f6c20706179222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226772616e74222c226465736372697074696f6e223a2274686520746f6f6c206772616e74222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22686f6c64222c226465736372697074696f6e223a2274686520746f6f6c20686f6c64222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a2261745f6d6f73745f6f6e6365222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22626f6f6b222c226465736372697074696f6e223a2274686520746f6f6c20626f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a22736c656570222c226465736372697074696f6e223a2274686520746f6f6c20736c656570222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a226964656d706f74656e74222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d2c7b226e616d65223a226c6f6f6b222c226465736372697074696f6e223a2274686520746f6f6c206c6f6f6b222c22706172616d6574657273223a7b2270726f70657274696573223a7b226e223a7b2274797065223a22696e7465676572227d7d2c2274797065223a226f626a656374227d2c22656666656374223a22726561645f6f6e6c79222c2264616e6765726f7573223a66616c73652c2272756e735f6f6e223a22736572766572227d5d2c226c696d697473223a7b226d61785f7374657073223a35302c226d61785f746f6b656e73223a6e756c6c2c226d61785f636f73745f6d6963726f757364223a6e756c6c2c226d61785f72756e5f6d73223a3630303030302c22707269636573223a7b22696e7075745f6d6963726f757364223a302c226f75747075745f6d6963726f757364223a307d2c226d61785f6f75747075745f746f6b656e73223a31363338342c22746f6f6c5f74696d656f75745f6d73223a33303030302c22616e737765725f74696d656f75745f6d73223a6e756c6c2c22726573756c745f62797465735f6d6178223a313034383537362c226572726f725f62797465735f6d6178223a383139322c22726573756c745f63686172735f73686f776e223a32303030302c2273746f705f67726163655f6d73223a323030307d2c226475726162696c697479223a22706970656c696e6564222c2270726f766973696f6e73223a66616c73652c226c6f6f7073223a7b2273746f705f6174223a382c227761726e5f6174223a302c2277697468686f6c645f6174223a302c227769746868656c645f7374657073223a332c22776974685f726573756c7473223a66616c73657d2c22636f6d70616374696f6e223a7b22636f6e746578745f746f6b656e73223a3230303030302c227468726573686f6c645f70657263656e74223a37302c226b6570745f7475726e73223a312c2273756d6d6172795f746f6b656e73223a343030302c2274696d656f75745f6d73223a33303030302c226661696c757265735f6d6178223a332c22636c6561725f726573756c74735f6f766572223a31352c226b6570745f726573756c7473223a357d7d7d
20	\\x2f55b3d7c9ac2262b0156b863a11c1310a2c82da9240bd106c2dae762c263520	\\xfa00000001d757e4c78839ebe5581a96e54bc29f5ceb3160e5f5766e2854d4cc5804c18aba8ba723707f1332ccd0d715eb260963cb7f24f111df50e97e9de04d89adb225b6cde66bca900f45477ff0df68204afa5cc9fd8db63fc9a429f015dd59129917d442fc557f1694b746f9ad93d147c935fb37b21c9214b39cfa24a025d1cc6d94ac4052ebb6950be4283b703a77c62f632af7260044fec6dc0b6cb2b0ad046e7e147a63e187bc02ebe7bdf0810ecbe2b546f31897c83eb830800ecc6a899d6c7a5a56731c4dc846418f9d7624360dfdf8eff4af4702a5ee686eadb2f8706fd5d7efc0a4bfb4c493abeea75f0742898017cf940bd0ffd95467b43933c17f7cfbe27db962641612d5d0a78aa66042eadb9185702ad6b62e372c2896bdf51f9d68baa329a826c2ff3b145ad50ac06ae7f6df158846b6cf091753548005b37df44ac713218dae220b94dd9b90f8975375bf1dff45e70b2df66713d14747a79f10acb8368144928095a61e726eeb42d789bb44a8332361ff647e1c7585e1777e3f45fe649e70384a9ee47d869b93430009e002fc9c7c153b81ab69f99ad8c678a9bdef4ed657c286dda10586d1aead239b2f30c6cd42066814364dd51112f54f4cc85d205ba1ea16dcb60c176d8e01d86ca622bef37df3ce9e4968069c5dfbdb2eee826d6590342460bb81d84a0e338e66e63d4bcc9b84f66e2b67b1328d388d47499813f7a50c777da9f420d0e224067267219e4d5c93db43746e841ebb7e80e663e390b12c461094e79709126905013f65d2c725c42333cc1be7259d3e1b0176ac2c520ab9744705eaf7224ef923ea8acec0f591ec7cd18c
\.


--
-- Data for Name: delta; Type: TABLE DATA; Schema: holdover; Owner: -
--

COPY holdover.delta (sid, place, digest, payload) FROM stdin;
12	1	\\xedcc5071eb3b210cc839c927e5e2d71fe709f902076056290364f838f8d51cba	\\x7b2274797065223a2274657874222c2274657874223a22497420697320227d
13	1	\\xedcc5071eb3b210cc839c927e5e2d71fe709f902076056290364f838f8d51cba	\\x7b2274797065223a2274657874222c2274657874223a22497420697320227d
\.


--
-- Data for Name: event; Type: TABLE DATA; Schema: holdover; Owner: -
--

COPY holdover.event (sid, seq, at, digest, payload, sizes) FROM stdin;
1	5	1795491299430	\\x7a7031133365eca94ca1a9770359894dccc58a7bfdd5db16abda8b2155863762	\\x7b2274797065223a22696e6974222c227475726e223a312c2273657373696f6e223a227265737473227d7b2274797065223a2272756e5f73746172746564222c2272756e223a312c22666f756e64223a2269646c65227d7b2274797065223a226d657373616765222c22736571223a312c22726f6c65223a2275736572227d7b2274797065223a22737465705f73746172746564222c2273746570223a317d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a2269646c65222c226f6e223a7b22696e707574223a227475726e5f726571756573746564222c2272657175657374223a226d657373616765222c2270726f766973696f6e73223a66616c73657d2c226174223a313739353439313239393430377d2c7b2266726f6d223a2270726f766973696f6e696e67222c226f6e223a7b22696e707574223a2270726f766973696f6e6564227d7d5d7d	{42,45,40,32,186}
1	10	1795491299439	\\x3394f97c3ae3ff91bb9763bd009f5807c041c97c5463f3aa09e231d1ca5111c9	\\x7b2274797065223a226d657373616765222c22736571223a322c22726f6c65223a22617373697374616e74222c2273747265616d223a22312e31227d7b2274797065223a22737465705f656e646564222c2273746570223a317d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a227468696e6b696e67222c226f6e223a7b22696e707574223a226d6f64656c5f63616c6c6564222c22656e747279223a327d2c226174223a313739353439313239393430377d2c7b2266726f6d223a2273747265616d696e67222c226f6e223a7b22696e707574223a226d6f64656c5f616e737765726564222c226d657373616765223a322c2273746f70223a22656e645f7475726e222c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c22746f6b656e73223a327d2c226d73223a317d2c7b2266726f6d223a227374656572696e67222c226f6e223a7b22696e707574223a2273746565726564222c2273746f70223a7b22726561736f6e223a226d6f64656c5f73746f70227d7d7d2c7b2266726f6d223a2274656172696e675f646f776e222c226f6e223a7b22696e707574223a22746f726e5f646f776e227d7d5d7d7b2274797065223a226167656e745f656e64222c227475726e223a312c2273657373696f6e223a227265737473222c227374657073223a312c22726561736f6e223a226d6f64656c5f73746f70227d7b2274797065223a22646f6e65222c227475726e223a312c22726561736f6e223a226d6f64656c5f73746f70222c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d7d	{60,30,392,79,104}
2	5	1795491299469	\\xaf0e24b10e4dec0140287edb8a18542679bba5edc41f21bfc97d6fb0241b3251	\\x7b2274797065223a22696e6974222c227475726e223a312c2273657373696f6e223a22617070726f76616c227d7b2274797065223a2272756e5f73746172746564222c2272756e223a312c22666f756e64223a2269646c65227d7b2274797065223a226d657373616765222c22736571223a312c22726f6c65223a2275736572227d7b2274797065223a22737465705f73746172746564222c2273746570223a317d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a2269646c65222c226f6e223a7b22696e707574223a227475726e5f726571756573746564222c2272657175657374223a226d657373616765222c2270726f766973696f6e73223a66616c73657d2c226174223a313739353439313239393435377d2c7b2266726f6d223a2270726f766973696f6e696e67222c226f6e223a7b22696e707574223a2270726f766973696f6e6564227d7d5d7d	{45,45,40,32,186}
2	12	1795491299474	\\x42527d0fc7b63975582a0168384382d92b368a444c08ae1a5fed206f33dea43b	\\x7b2274797065223a226d657373616765222c22736571223a322c22726f6c65223a22617373697374616e74222c2273747265616d223a22312e31227d7b2274797065223a2261736b6564222c2263616c6c223a2263312d31222c22746f6f6c223a22706179222c226b696e64223a22617070726f76616c222c2270656e64696e67223a2265636566623238333531383834643539393733653836306666393566613034662e63312d312e31227d7b2274797065223a2263616c6c222c2263616c6c223a2263312d31222c22746f6f6c223a22706179222c226973223a22626c6f636b65645f6f6e5f75736572227d7b2274797065223a2263616c6c222c2263616c6c223a2263312d30222c22746f6f6c223a226c6f6f6b222c226973223a22657865637574696e67227d7b2274797065223a2263616c6c222c2263616c6c223a2263312d30222c22746f6f6c223a226c6f6f6b222c226973223a22646f6e65222c226475726174696f6e5f6d73223a307d7b2274797065223a2273757370656e646564222c226b696e64223a2273757370656e6465645f636c69656e745f746f6f6c222c22756e74696c223a6e756c6c2c226f776564223a5b7b2263616c6c223a2263312d31222c22746f6f6c223a22706179222c226b696e64223a22617070726f76616c222c2270656e64696e67223a2265636566623238333531383834643539393733653836306666393566613034662e63312d312e31227d5d7d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a227468696e6b696e67222c226f6e223a7b22696e707574223a226d6f64656c5f63616c6c6564222c22656e747279223a327d2c226174223a313739353439313239393435377d2c7b2266726f6d223a2273747265616d696e67222c226f6e223a7b22696e707574223a226d6f64656c5f616e737765726564222c226d657373616765223a322c2263616c6c73223a5b7b226964223a2263312d30222c22746f6f6c223a226c6f6f6b222c22656666656374223a22726561645f6f6e6c79227d2c7b226964223a2263312d31222c22746f6f6c223a22706179227d5d2c2273746f70223a22746f6f6c5f757365222c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c22746f6b656e73223a327d7d2c7b2266726f6d223a22657865637574696e67222c2263616c6c223a2263312d30222c226973223a2261736b6564227d2c7b2263616c6c223a2263312d31222c226973223a2261736b6564227d2c7b2263616c6c223a2263312d30222c226973223a22616c6c6f776564222c2270726f66696c65223a7b226b657973223a5b5d7d2c226d73223a317d2c7b2263616c6c223a2263312d31222c226973223a226e656564735f75736572222c2270656e64696e67223a2265636566623238333531383834643539393733653836306666393566613034662e63312d312e31222c22646561646c696e65223a6e756c6c2c2270726f66696c65223a7b226b657973223a5b5d7d2c22617267756d656e7473223a327d2c7b2263616c6c223a2263312d30222c226973223a2273656e74227d2c7b226973223a2272657475726e6564222c226f6b223a747275657d2c7b2266726f6d223a22636f6e6669726d696e67222c226f6e223a7b22696e707574223a227061726b6564227d7d5d7d	{60,113,65,60,71,172,721}
3	5	1795491299527	\\x885bcc821cff45ea7043b029a6fb95ff68a5a70e6675eea231fdd8c9b4507c66	\\x7b2274797065223a22696e6974222c227475726e223a312c2273657373696f6e223a22636c69656e74227d7b2274797065223a2272756e5f73746172746564222c2272756e223a312c22666f756e64223a2269646c65227d7b2274797065223a226d657373616765222c22736571223a312c22726f6c65223a2275736572227d7b2274797065223a22737465705f73746172746564222c2273746570223a317d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a2269646c65222c226f6e223a7b22696e707574223a227475726e5f726571756573746564222c2272657175657374223a226d657373616765222c2270726f766973696f6e73223a66616c73657d2c226174223a313739353439313239393531317d2c7b2266726f6d223a2270726f766973696f6e696e67222c226f6e223a7b22696e707574223a2270726f766973696f6e6564227d7d5d7d	{43,45,40,32,186}
3	10	1795491299543	\\x3414d86d41dd91995aaf13020b27d024d30fc61082f059b49e99331d65c6d11f	\\x7b2274797065223a226d657373616765222c22736571223a322c22726f6c65223a22617373697374616e74222c2273747265616d223a22312e31227d7b2274797065223a2261736b6564222c2263616c6c223a2263312d30222c22746f6f6c223a2261736b222c226b696e64223a22636c69656e745f746f6f6c222c2270656e64696e67223a2233383663343739656530323134396137393531333164353166316633396135352e63312d302e31227d7b2274797065223a2263616c6c222c2263616c6c223a2263312d30222c22746f6f6c223a2261736b222c226973223a22626c6f636b65645f6f6e5f636c69656e74227d7b2274797065223a2273757370656e646564222c226b696e64223a2273757370656e6465645f636c69656e745f746f6f6c222c22756e74696c223a6e756c6c2c226f776564223a5b7b2263616c6c223a2263312d30222c22746f6f6c223a2261736b222c226b696e64223a22636c69656e745f746f6f6c222c2270656e64696e67223a2233383663343739656530323134396137393531333164353166316633396135352e63312d302e31227d5d7d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a227468696e6b696e67222c226f6e223a7b22696e707574223a226d6f64656c5f63616c6c6564222c22656e747279223a327d2c226174223a313739353439313239393531317d2c7b2266726f6d223a2273747265616d696e67222c226f6e223a7b22696e707574223a226d6f64656c5f616e737765726564222c226d657373616765223a322c2263616c6c73223a5b7b226964223a2263312d30222c22746f6f6c223a2261736b222c22656666656374223a226964656d706f74656e74222c2272756e735f6f6e223a22636c69656e74227d5d2c2273746f70223a22746f6f6c5f757365222c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c22746f6b656e73223a327d7d2c7b2266726f6d223a22657865637574696e67222c2263616c6c223a2263312d30222c226973223a2261736b6564227d2c7b226973223a226e656564735f636c69656e74222c2270656e64696e67223a2233383663343739656530323134396137393531333164353166316633396135352e63312d302e31222c22646561646c696e65223a6e756c6c2c2270726f66696c65223a7b226b657973223a5b5d7d7d2c7b2266726f6d223a22636f6e6669726d696e67222c226f6e223a7b22696e707574223a227061726b6564227d7d5d7d	{60,116,67,175,542}
4	5	1795491299560	\\xd77aae3a37de50eff44043adc7b51f17d7a12d8913db6bcbb00923bdfafeb2d8	\\x7b2274797065223a22696e6974222c227475726e223a312c2273657373696f6e223a22736c65657073227d7b2274797065223a2272756e5f73746172746564222c2272756e223a312c22666f756e64223a2269646c65227d7b2274797065223a226d657373616765222c22736571223a312c22726f6c65223a2275736572227d7b2274797065223a22737465705f73746172746564222c2273746570223a317d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a2269646c65222c226f6e223a7b22696e707574223a227475726e5f726571756573746564222c2272657175657374223a226d657373616765222c2270726f766973696f6e73223a66616c73657d2c226174223a313739353439313239393535357d2c7b2266726f6d223a2270726f766973696f6e696e67222c226f6e223a7b22696e707574223a2270726f766973696f6e6564227d7d5d7d	{43,45,40,32,186}
4	8	1795491299564	\\x47b0c29ea5eb12603af7a42d1fea91c17e421061991fb49f29736d0120f64399	\\x7b2274797065223a226d657373616765222c22736571223a322c22726f6c65223a22617373697374616e74222c2273747265616d223a22312e31227d7b2274797065223a2263616c6c222c2263616c6c223a2263312d30222c22746f6f6c223a22736c656570222c226973223a22657865637574696e67227d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a227468696e6b696e67222c226f6e223a7b22696e707574223a226d6f64656c5f63616c6c6564222c22656e747279223a327d2c226174223a313739353439313239393535357d2c7b2266726f6d223a2273747265616d696e67222c226f6e223a7b22696e707574223a226d6f64656c5f616e737765726564222c226d657373616765223a322c2263616c6c73223a5b7b226964223a2263312d30222c22746f6f6c223a22736c656570222c22656666656374223a226964656d706f74656e74227d5d2c2273746f70223a22746f6f6c5f757365222c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c22746f6b656e73223a327d7d2c7b2266726f6d223a22657865637574696e67222c2263616c6c223a2263312d30222c226973223a2261736b6564227d2c7b226973223a22616c6c6f776564222c2270726f66696c65223a7b226b657973223a5b5d7d7d2c7b226973223a226d61726b6564222c226d73223a357d5d7d	{60,61,429}
4	11	1795491299570	\\x07fe4a3146c8d6961a09d53cf928f1e066f68c532c5882b09f7a1ed5657f9311	\\x7b2274797065223a2263616c6c222c2263616c6c223a2263312d30222c22746f6f6c223a22736c656570222c226973223a2277616974696e67227d7b2274797065223a2273757370656e646564222c226b696e64223a2273757370656e6465645f756e74696c222c22756e74696c223a313739353439313330343536342c226f776564223a5b7b2263616c6c223a2263312d30222c22746f6f6c223a22736c656570222c226b696e64223a2274696d6572222c22756e74696c223a313739353439313330343536347d5d7d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a22657865637574696e67222c2263616c6c223a2263312d30222c226973223a2273656e74222c226174223a313739353439313239393536347d2c7b226973223a226465666572726564222c22756e74696c223a313739353439313330343536342c226f7574707574223a22736c657074227d2c7b2266726f6d223a22636f6e6669726d696e67222c226f6e223a7b22696e707574223a227061726b6564227d7d5d7d	{59,144,196}
5	5	1795491299591	\\xbadfc8b3ff09d64a7077ac4a946d605dd8c391a50666bc278563dccbaf082d99	\\x7b2274797065223a22696e6974222c227475726e223a312c2273657373696f6e223a226261636b732d6f6666227d7b2274797065223a2272756e5f73746172746564222c2272756e223a312c22666f756e64223a2269646c65227d7b2274797065223a226d657373616765222c22736571223a312c22726f6c65223a2275736572227d7b2274797065223a22737465705f73746172746564222c2273746570223a317d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a2269646c65222c226f6e223a7b22696e707574223a227475726e5f726571756573746564222c2272657175657374223a226d657373616765222c2270726f766973696f6e73223a66616c73657d2c226174223a313739353439313239393538337d2c7b2266726f6d223a2270726f766973696f6e696e67222c226f6e223a7b22696e707574223a2270726f766973696f6e6564227d7d5d7d	{46,45,40,32,186}
5	7	1795491299606	\\x7cac6f3362257c497747c33b46581ecf2da02fc44534f31203e8bba9bb041724	\\x7b2274797065223a226261636b696e675f6f6666222c22756e74696c223a313739353439313330343538332c22617474656d7074223a312c226572726f72223a7b22636f6465223a226d6f64656c2e726174655f6c696d69746564222c2264657461696c223a22736c6f7720646f776e227d7d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a227468696e6b696e67222c226f6e223a7b22696e707574223a226d6f64656c5f63616c6c6564222c22656e747279223a327d2c226174223a313739353439313239393538337d2c7b2266726f6d223a2273747265616d696e67222c226f6e223a7b22696e707574223a226d6f64656c5f6661696c6564222c226572726f72223a7b22636f6465223a226d6f64656c2e726174655f6c696d69746564222c2264657461696c223a22736c6f7720646f776e227d2c2272657472795f6174223a313739353439313330343538337d7d2c7b2266726f6d223a226261636b696e675f6f6666222c226f6e223a7b22696e707574223a227061726b6564227d7d5d7d	{115,288}
6	5	1795491299623	\\x4637672e3236c9e4cddd60b2cc4f75c151bd09653658f7eba5ed73a1a0556701	\\x7b2274797065223a22696e6974222c227475726e223a312c2273657373696f6e223a226661696c6564227d7b2274797065223a2272756e5f73746172746564222c2272756e223a312c22666f756e64223a2269646c65227d7b2274797065223a226d657373616765222c22736571223a312c22726f6c65223a2275736572227d7b2274797065223a22737465705f73746172746564222c2273746570223a317d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a2269646c65222c226f6e223a7b22696e707574223a227475726e5f726571756573746564222c2272657175657374223a226d657373616765222c2270726f766973696f6e73223a66616c73657d2c226174223a313739353439313239393631397d2c7b2266726f6d223a2270726f766973696f6e696e67222c226f6e223a7b22696e707574223a2270726f766973696f6e6564227d7d5d7d	{43,45,40,32,186}
6	10	1795491299627	\\x92b144bb507f1945d5ef3e77f105edc6a1b5721bfb36ed298e083db7d43a36d7	\\x7b2274797065223a22737465705f656e646564222c2273746570223a317d7b2274797065223a226572726f72222c226572726f72223a7b22636f6465223a226d6f64656c2e61757468222c2264657461696c223a226e6f206b6579227d7d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a227468696e6b696e67222c226f6e223a7b22696e707574223a226d6f64656c5f63616c6c6564222c22656e747279223a327d2c226174223a313739353439313239393631397d2c7b2266726f6d223a2273747265616d696e67222c226f6e223a7b22696e707574223a226d6f64656c5f6661696c6564222c226572726f72223a7b22636f6465223a226d6f64656c2e61757468222c2264657461696c223a226e6f206b6579227d7d7d2c7b2266726f6d223a2274656172696e675f646f776e222c226f6e223a7b22696e707574223a22746f726e5f646f776e227d7d5d7d7b2274797065223a226167656e745f656e64222c227475726e223a312c2273657373696f6e223a226661696c6564222c227374657073223a302c22726561736f6e223a226572726f72227d7b2274797065223a22646f6e65222c227475726e223a312c22726561736f6e223a226572726f72222c226572726f72223a7b22636f6465223a226d6f64656c2e61757468222c2264657461696c223a226e6f206b6579227d2c2273746570223a312c227573616765223a7b7d7d	{30,64,256,75,109}
7	9	1795491299917	\\x6d9c69d3a385ed3f7555dfaadda2965149cbb55295b49b2c33feeb10e7b49e4a	\\x7b2274797065223a22737465705f656e646564222c2273746570223a317d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a227468696e6b696e67222c226f6e223a7b22696e707574223a226d6f64656c5f63616c6c6564222c22656e747279223a327d2c226174223a313739353439313239393634327d2c7b2266726f6d223a2273747265616d696e67222c226f6e223a7b22696e707574223a22696e746572727570746564222c226b696e64223a22736f6674227d2c226d73223a3237317d2c7b2266726f6d223a2274656172696e675f646f776e222c226f6e223a7b22696e707574223a226d6f64656c5f73746f70706564222c227573616765223a7b22746f6b656e73223a7b22696e707574223a31327d2c22657374696d617465645f746f6b656e73223a31322c226d6f64656c5f63616c6c73223a317d7d7d2c7b226f6e223a7b22696e707574223a22746f726e5f646f776e227d7d5d7d7b2274797065223a226167656e745f656e64222c227475726e223a312c2273657373696f6e223a22696e746572727570746564222c227374657073223a302c22726561736f6e223a22757365725f61626f7274227d7b2274797065223a22646f6e65222c227475726e223a312c22726561736f6e223a22757365725f61626f7274222c2273746f70706564223a22736f6674222c227573616765223a7b22746f6b656e73223a7b22696e707574223a31327d2c22657374696d617465645f746f6b656e73223a31322c226d6f64656c5f63616c6c73223a317d7d	{30,333,85,133}
8	5	1795491299939	\\x34d6de49e06f1224937a9b698dc961d6be4a81f6d28487f5f9c92e8084d447a7	\\x7b2274797065223a22696e6974222c227475726e223a312c2273657373696f6e223a22696e2d7468652d6d6964646c65227d7b2274797065223a2272756e5f73746172746564222c2272756e223a312c22666f756e64223a2269646c65227d7b2274797065223a226d657373616765222c22736571223a312c22726f6c65223a2275736572227d7b2274797065223a22737465705f73746172746564222c2273746570223a317d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a2269646c65222c226f6e223a7b22696e707574223a227475726e5f726571756573746564222c2272657175657374223a226d657373616765222c2270726f766973696f6e73223a66616c73657d2c226174223a313739353439313239393933307d2c7b2266726f6d223a2270726f766973696f6e696e67222c226f6e223a7b22696e707574223a2270726f766973696f6e6564227d7d5d7d	{50,45,40,32,186}
9	10	1795491300022	\\xb8b59b01392f27cad28e781415aba8eaebe867224392b9be88ef7fee9a9a5b77	\\x7b2274797065223a226d657373616765222c22736571223a322c22726f6c65223a22617373697374616e74222c2273747265616d223a22312e31227d7b2274797065223a2261736b6564222c2263616c6c223a2263312d30222c22746f6f6c223a226772616e74222c226b696e64223a22617070726f76616c222c2270656e64696e67223a2263396262636662306337323234303731613564663231323930613633616162302e63312d302e31227d7b2274797065223a2263616c6c222c2263616c6c223a2263312d30222c22746f6f6c223a226772616e74222c226973223a22626c6f636b65645f6f6e5f75736572227d7b2274797065223a2273757370656e646564222c226b696e64223a2273757370656e6465645f636c69656e745f746f6f6c222c22756e74696c223a6e756c6c2c226f776564223a5b7b2263616c6c223a2263312d30222c22746f6f6c223a226772616e74222c226b696e64223a22617070726f76616c222c2270656e64696e67223a2263396262636662306337323234303731613564663231323930613633616162302e63312d302e31227d5d7d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a227468696e6b696e67222c226f6e223a7b22696e707574223a226d6f64656c5f63616c6c6564222c22656e747279223a327d2c226174223a313739353439313330303030377d2c7b2266726f6d223a2273747265616d696e67222c226f6e223a7b22696e707574223a226d6f64656c5f616e737765726564222c226d657373616765223a322c2263616c6c73223a5b7b226964223a2263312d30222c22746f6f6c223a226772616e74227d5d2c2273746f70223a22746f6f6c5f757365222c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c22746f6b656e73223a327d7d2c7b2266726f6d223a22657865637574696e67222c2263616c6c223a2263312d30222c226973223a2261736b6564227d2c7b226973223a226e656564735f75736572222c2270656e64696e67223a2263396262636662306337323234303731613564663231323930613633616162302e63312d302e31222c22646561646c696e65223a6e756c6c2c2270726f66696c65223a7b226b657973223a5b5d7d2c22617267756d656e7473223a322c2270616e656c223a7b227465726d73223a7b22617070726f76657273223a7b226e6565646564223a327d7d2c22646967657374223a2233363333373937343266383062353162646239323036353739616637373534393131353433303739623933393963623366633331356662313939663437366538222c2261736b65645f6174223a313739353439313330303030387d2c226d73223a317d2c7b2266726f6d223a22636f6e6669726d696e67222c226f6e223a7b22696e707574223a227061726b6564227d7d5d7d	{60,115,67,174,668}
10	5	1795491300051	\\x93596418e4c756e8b753c3d400000a3f8e67cb6190df049e373a683f9ec18eb3	\\x7b2274797065223a22696e6974222c227475726e223a312c2273657373696f6e223a22717565756564227d7b2274797065223a2272756e5f73746172746564222c2272756e223a312c22666f756e64223a2269646c65227d7b2274797065223a226d657373616765222c22736571223a312c22726f6c65223a2275736572227d7b2274797065223a22737465705f73746172746564222c2273746570223a317d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a2269646c65222c226f6e223a7b22696e707574223a227475726e5f726571756573746564222c2272657175657374223a226d657373616765222c2270726f766973696f6e73223a66616c73657d2c226174223a313739353439313330303034337d2c7b2266726f6d223a2270726f766973696f6e696e67222c226f6e223a7b22696e707574223a2270726f766973696f6e6564227d7d5d7d	{43,45,40,32,186}
11	5	1795491300080	\\xed2c99097a4891c5a351f5522cd366f605bd87aacf0be9b2aac92a35fef7dc00	\\x7b2274797065223a22696e6974222c227475726e223a312c2273657373696f6e223a22737461676564227d7b2274797065223a2272756e5f73746172746564222c2272756e223a312c22666f756e64223a2269646c65227d7b2274797065223a226d657373616765222c22736571223a312c22726f6c65223a2275736572227d7b2274797065223a22737465705f73746172746564222c2273746570223a317d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a2269646c65222c226f6e223a7b22696e707574223a227475726e5f726571756573746564222c2272657175657374223a226d657373616765222c2270726f766973696f6e73223a66616c73657d2c226174223a313739353439313330303037377d2c7b2266726f6d223a2270726f766973696f6e696e67222c226f6e223a7b22696e707574223a2270726f766973696f6e6564227d7d5d7d	{43,45,40,32,186}
14	10	1795491300474	\\x321e9b3ae72a766056ddc9e252f474a9bf017f5cd6db15ce8541a5e71ce735fa	\\x7b2274797065223a226d657373616765222c22736571223a322c22726f6c65223a22617373697374616e74222c2273747265616d223a22312e31227d7b2274797065223a22737465705f656e646564222c2273746570223a317d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a227468696e6b696e67222c226f6e223a7b22696e707574223a226d6f64656c5f63616c6c6564222c22656e747279223a327d2c226174223a313739353439313330303435337d2c7b2266726f6d223a2273747265616d696e67222c226f6e223a7b22696e707574223a226d6f64656c5f616e737765726564222c226d657373616765223a322c2273746f70223a22656e645f7475726e222c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c22746f6b656e73223a327d7d2c7b2266726f6d223a227374656572696e67222c226f6e223a7b22696e707574223a2273746565726564222c2273746f70223a7b22726561736f6e223a226d6f64656c5f73746f70227d7d7d2c7b2266726f6d223a2274656172696e675f646f776e222c226f6e223a7b22696e707574223a22746f726e5f646f776e227d7d5d7d7b2274797065223a226167656e745f656e64222c227475726e223a312c2273657373696f6e223a2261626f72746564222c227374657073223a312c22726561736f6e223a226d6f64656c5f73746f70227d7b2274797065223a22646f6e65222c227475726e223a312c22726561736f6e223a226d6f64656c5f73746f70222c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d7d	{60,30,385,81,104}
16	5	1795491300510	\\x52053c99400d47348cf59cfe01d1c6edc39a2421c68e8f49a450e2f6431e3e31	\\x7b2274797065223a22696e6974222c227475726e223a312c2273657373696f6e223a22666f726b6564227d7b2274797065223a2272756e5f73746172746564222c2272756e223a312c22666f756e64223a2269646c65227d7b2274797065223a226d657373616765222c22736571223a312c22726f6c65223a2275736572227d7b2274797065223a22737465705f73746172746564222c2273746570223a317d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a2269646c65222c226f6e223a7b22696e707574223a227475726e5f726571756573746564222c2272657175657374223a226d657373616765222c2270726f766973696f6e73223a66616c73657d2c226174223a313739353439313330303530317d2c7b2266726f6d223a2270726f766973696f6e696e67222c226f6e223a7b22696e707574223a2270726f766973696f6e6564227d7d5d7d	{43,45,40,32,186}
16	10	1795491300515	\\xd78a8d1fd095673f1ce1387823e304193fe32f44f89d4de7d81a1f8dd873cb99	\\x7b2274797065223a226d657373616765222c22736571223a322c22726f6c65223a22617373697374616e74222c2273747265616d223a22312e31227d7b2274797065223a22737465705f656e646564222c2273746570223a317d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a227468696e6b696e67222c226f6e223a7b22696e707574223a226d6f64656c5f63616c6c6564222c22656e747279223a327d2c226174223a313739353439313330303530317d2c7b2266726f6d223a2273747265616d696e67222c226f6e223a7b22696e707574223a226d6f64656c5f616e737765726564222c226d657373616765223a322c2273746f70223a22656e645f7475726e222c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c22746f6b656e73223a327d7d2c7b2266726f6d223a227374656572696e67222c226f6e223a7b22696e707574223a2273746565726564222c2273746f70223a7b22726561736f6e223a226d6f64656c5f73746f70227d7d7d2c7b2266726f6d223a2274656172696e675f646f776e222c226f6e223a7b22696e707574223a22746f726e5f646f776e227d7d5d7d7b2274797065223a226167656e745f656e64222c227475726e223a312c2273657373696f6e223a22666f726b6564222c227374657073223a312c22726561736f6e223a226d6f64656c5f73746f70227d7b2274797065223a22646f6e65222c227475726e223a312c22726561736f6e223a226d6f64656c5f73746f70222c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d7d	{60,30,385,80,104}
16	12	1795491300523	\\xab518299c7d9cb82780d76733262661f4fa55d9e80b6986282391cdfbdc763fb	\\x7b2274797065223a22666f726b6564222c2266726f6d223a7b2274656e616e74223a2261636d65222c226964223a22666f726b6564227d2c226174223a347d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a22646f6e65222c226f6e223a7b22696e707574223a22666f726b6564227d2c226174223a313739353439313330303531377d5d7d	{63,86}
17	10	1795491300551	\\xfb495a13036eebeda9db0e2f0a64b37383f65857aa45197798f1e68db42636e5	\\x7b2274797065223a226d657373616765222c22736571223a322c22726f6c65223a22617373697374616e74222c2273747265616d223a22312e31227d7b2274797065223a22737465705f656e646564222c2273746570223a317d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a227468696e6b696e67222c226f6e223a7b22696e707574223a226d6f64656c5f63616c6c6564222c22656e747279223a327d2c226174223a313739353439313330303533347d2c7b2266726f6d223a2273747265616d696e67222c226f6e223a7b22696e707574223a226d6f64656c5f616e737765726564222c226d657373616765223a322c2273746f70223a22656e645f7475726e222c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c22746f6b656e73223a327d7d2c7b2266726f6d223a227374656572696e67222c226f6e223a7b22696e707574223a2273746565726564222c2273746f70223a7b22726561736f6e223a226d6f64656c5f73746f70227d7d7d2c7b2266726f6d223a2274656172696e675f646f776e222c226f6e223a7b22696e707574223a22746f726e5f646f776e227d7d5d7d7b2274797065223a226167656e745f656e64222c227475726e223a312c2273657373696f6e223a22656469746564222c227374657073223a312c22726561736f6e223a226d6f64656c5f73746f70227d7b2274797065223a22646f6e65222c227475726e223a312c22726561736f6e223a226d6f64656c5f73746f70222c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d7d	{60,30,385,80,104}
17	16	1795491300579	\\xf66ae8f5f237f61f706700a40683322589d1277571065c3344d4a6956e9feff0	\\x7b2274797065223a2272756e5f73746172746564222c2272756e223a322c22666f756e64223a2269646c65227d7b2274797065223a226d657373616765222c22736571223a332c22726f6c65223a226e6f74696365227d7b2274797065223a22696e6974222c227475726e223a322c2273657373696f6e223a22656469746564227d7b2274797065223a226d657373616765222c22736571223a342c22726f6c65223a2275736572227d7b2274797065223a22737465705f73746172746564222c2273746570223a327d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a22646f6e65222c226f6e223a7b22696e707574223a227265776f756e64222c22746f223a302c226174223a337d2c226174223a313739353439313330303537307d2c7b226f6e223a7b22696e707574223a227475726e5f726571756573746564222c2272657175657374223a226d657373616765222c2270726f766973696f6e73223a66616c73652c226166746572223a337d7d2c7b2266726f6d223a2270726f766973696f6e696e67222c226f6e223a7b22696e707574223a2270726f766973696f6e6564227d7d5d7d	{45,42,43,40,32,237}
7	5	1795491299648	\\x2c9a0f471666a1ccec688e79246f9f3dbfb8c1601380380c0f0a30da9d66a774	\\x7b2274797065223a22696e6974222c227475726e223a312c2273657373696f6e223a22696e746572727570746564227d7b2274797065223a2272756e5f73746172746564222c2272756e223a312c22666f756e64223a2269646c65227d7b2274797065223a226d657373616765222c22736571223a312c22726f6c65223a2275736572227d7b2274797065223a22737465705f73746172746564222c2273746570223a317d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a2269646c65222c226f6e223a7b22696e707574223a227475726e5f726571756573746564222c2272657175657374223a226d657373616765222c2270726f766973696f6e73223a66616c73657d2c226174223a313739353439313239393634327d2c7b2266726f6d223a2270726f766973696f6e696e67222c226f6e223a7b22696e707574223a2270726f766973696f6e6564227d7d5d7d	{48,45,40,32,186}
8	12	1795491299951	\\x05f29bb81ee89b68b46ecb1504ced75902e9a8451018d8c1c540253688b0e770	\\x7b2274797065223a226d657373616765222c22736571223a322c22726f6c65223a22617373697374616e74222c2273747265616d223a22312e31227d7b2274797065223a2261736b6564222c2263616c6c223a2263312d31222c22746f6f6c223a22706179222c226b696e64223a22617070726f76616c222c2270656e64696e67223a2230396439323138663762383034313233613335313561623437663561646636612e63312d312e31227d7b2274797065223a2263616c6c222c2263616c6c223a2263312d31222c22746f6f6c223a22706179222c226973223a22626c6f636b65645f6f6e5f75736572227d7b2274797065223a2263616c6c222c2263616c6c223a2263312d30222c22746f6f6c223a226c6f6f6b222c226973223a22657865637574696e67227d7b2274797065223a2263616c6c222c2263616c6c223a2263312d30222c22746f6f6c223a226c6f6f6b222c226973223a22646f6e65222c226475726174696f6e5f6d73223a307d7b2274797065223a2273757370656e646564222c226b696e64223a2273757370656e6465645f636c69656e745f746f6f6c222c22756e74696c223a6e756c6c2c226f776564223a5b7b2263616c6c223a2263312d31222c22746f6f6c223a22706179222c226b696e64223a22617070726f76616c222c2270656e64696e67223a2230396439323138663762383034313233613335313561623437663561646636612e63312d312e31227d5d7d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a227468696e6b696e67222c226f6e223a7b22696e707574223a226d6f64656c5f63616c6c6564222c22656e747279223a327d2c226174223a313739353439313239393933307d2c7b2266726f6d223a2273747265616d696e67222c226f6e223a7b22696e707574223a226d6f64656c5f616e737765726564222c226d657373616765223a322c2263616c6c73223a5b7b226964223a2263312d30222c22746f6f6c223a226c6f6f6b222c22656666656374223a22726561645f6f6e6c79227d2c7b226964223a2263312d31222c22746f6f6c223a22706179227d5d2c2273746f70223a22746f6f6c5f757365222c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c22746f6b656e73223a327d7d2c7b2266726f6d223a22657865637574696e67222c2263616c6c223a2263312d30222c226973223a2261736b6564227d2c7b2263616c6c223a2263312d31222c226973223a2261736b6564227d2c7b2263616c6c223a2263312d30222c226973223a22616c6c6f776564222c2270726f66696c65223a7b226b657973223a5b5d7d2c226d73223a317d2c7b2263616c6c223a2263312d31222c226973223a226e656564735f75736572222c2270656e64696e67223a2230396439323138663762383034313233613335313561623437663561646636612e63312d312e31222c22646561646c696e65223a6e756c6c2c2270726f66696c65223a7b226b657973223a5b5d7d2c22617267756d656e7473223a327d2c7b2263616c6c223a2263312d30222c226973223a2273656e74227d2c7b226973223a2272657475726e6564222c226f6b223a747275657d2c7b2266726f6d223a22636f6e6669726d696e67222c226f6e223a7b22696e707574223a227061726b6564227d7d5d7d	{60,113,65,60,71,172,721}
8	16	1795491299991	\\xc02ddc41d384583dc4ac9c455cc0a63f5e0bb029e145180a057db236c4387a91	\\x7b2274797065223a2272756e5f73746172746564222c2272756e223a322c22666f756e64223a2273757370656e646564222c226b696e64223a22726573756d65227d7b2274797065223a226d657373616765222c22736571223a332c22726f6c65223a226465636973696f6e227d7b2274797065223a2263616c6c222c2263616c6c223a2263312d31222c22746f6f6c223a22706179222c226973223a22657865637574696e67222c22706172616d6574657273223a7b226e223a377d7d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a22636f6e6669726d696e67222c226f6e223a7b22696e707574223a22636c61696d6564222c2274616b656f766572223a66616c73657d2c226174223a313739353439313239393937357d2c7b2263616c6c223a2263312d31222c226973223a22617070726f766564222c22617267756d656e7473223a322c22646967657374223a2231646434326465393238376331623661393663363137333736633064663662383330343438353738336564306234383033663161616330663131393437316135227d2c7b2266726f6d223a22657865637574696e67222c226973223a2261736b6564227d2c7b226973223a22616c6c6f776564222c2270726f66696c65223a7b226b657973223a5b5d7d2c226d73223a317d2c7b226973223a226d61726b6564227d5d7d	{66,44,80,328}
9	5	1795491300019	\\x97b1d635baf227f926d8e81a30937a310026337661e45a4b78aada2d209f72bb	\\x7b2274797065223a22696e6974222c227475726e223a312c2273657373696f6e223a226f6e652d6f662d74776f227d7b2274797065223a2272756e5f73746172746564222c2272756e223a312c22666f756e64223a2269646c65227d7b2274797065223a226d657373616765222c22736571223a312c22726f6c65223a2275736572227d7b2274797065223a22737465705f73746172746564222c2273746570223a317d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a2269646c65222c226f6e223a7b22696e707574223a227475726e5f726571756573746564222c2272657175657374223a226d657373616765222c2270726f766973696f6e73223a66616c73657d2c226174223a313739353439313330303030377d2c7b2266726f6d223a2270726f766973696f6e696e67222c226f6e223a7b22696e707574223a2270726f766973696f6e6564227d7d5d7d	{47,45,40,32,186}
11	9	1795491300083	\\xefbee46a0612055afb210efb2fb5252bf98a7909b107a8c21a3ff6e7e131aea1	\\x7b2274797065223a226d657373616765222c22736571223a322c22726f6c65223a22617373697374616e74222c2273747265616d223a22312e31227d7b2274797065223a2263616c6c222c2263616c6c223a2263312d30222c22746f6f6c223a22626f6f6b222c226973223a22657865637574696e67222c22706172616d6574657273223a7b226e223a317d7d7b2274797065223a2263616c6c222c2263616c6c223a2263312d31222c22746f6f6c223a22686f6c64222c226973223a22657865637574696e67222c22706172616d6574657273223a7b226e223a327d7d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a227468696e6b696e67222c226f6e223a7b22696e707574223a226d6f64656c5f63616c6c6564222c22656e747279223a327d2c226174223a313739353439313330303037377d2c7b2266726f6d223a2273747265616d696e67222c226f6e223a7b22696e707574223a226d6f64656c5f616e737765726564222c226d657373616765223a322c2263616c6c73223a5b7b226964223a2263312d30222c22746f6f6c223a22626f6f6b222c22656666656374223a226964656d706f74656e74227d2c7b226964223a2263312d31222c22746f6f6c223a22686f6c64227d5d2c2273746f70223a22746f6f6c5f757365222c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c22746f6b656e73223a327d7d2c7b2266726f6d223a22657865637574696e67222c2263616c6c223a2263312d30222c226973223a2261736b6564227d2c7b2263616c6c223a2263312d31222c226973223a2261736b6564227d2c7b2263616c6c223a2263312d30222c226973223a22616c6c6f776564222c2270726f66696c65223a7b226b657973223a5b5d7d2c226d73223a317d2c7b2263616c6c223a2263312d31222c226973223a22616c6c6f776564222c2270726f66696c65223a7b226b657973223a5b5d7d7d2c7b2263616c6c223a2263312d30222c226973223a226d61726b6564222c226d73223a327d2c7b2263616c6c223a2263312d31222c226973223a226d61726b6564227d5d7d	{60,81,81,603}
13	5	1795491300268	\\xe06764b794357b5e9c6e60f9436b26b69ddbe5de4a4d5f5a7c561e09c2be1fba	\\x7b2274797065223a22696e6974222c227475726e223a312c2273657373696f6e223a22746f2d61626f7274227d7b2274797065223a2272756e5f73746172746564222c2272756e223a312c22666f756e64223a2269646c65227d7b2274797065223a226d657373616765222c22736571223a312c22726f6c65223a2275736572227d7b2274797065223a22737465705f73746172746564222c2273746570223a317d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a2269646c65222c226f6e223a7b22696e707574223a227475726e5f726571756573746564222c2272657175657374223a226d657373616765222c2270726f766973696f6e73223a66616c73657d2c226174223a313739353439313330303236327d2c7b2266726f6d223a2270726f766973696f6e696e67222c226f6e223a7b22696e707574223a2270726f766973696f6e6564227d7d5d7d	{45,45,40,32,186}
14	12	1795491300492	\\x4058c77e3edd779e323b1bb986d276561ccf05b8d079f09f896b2dc646ca506b	\\x7b2274797065223a2272756e5f73746172746564222c2272756e223a322c22666f756e64223a2269646c65227d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a22646f6e65222c226f6e223a7b22696e707574223a22696e746572727570746564222c226b696e64223a2261626f7274227d2c226174223a313739353439313330303438377d2c7b2266726f6d223a2274656172696e675f646f776e222c226f6e223a7b22696e707574223a22746f726e5f646f776e227d7d5d7d	{45,157}
15	5	1795491300510	\\x52053c99400d47348cf59cfe01d1c6edc39a2421c68e8f49a450e2f6431e3e31	\\x7b2274797065223a22696e6974222c227475726e223a312c2273657373696f6e223a22666f726b6564227d7b2274797065223a2272756e5f73746172746564222c2272756e223a312c22666f756e64223a2269646c65227d7b2274797065223a226d657373616765222c22736571223a312c22726f6c65223a2275736572227d7b2274797065223a22737465705f73746172746564222c2273746570223a317d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a2269646c65222c226f6e223a7b22696e707574223a227475726e5f726571756573746564222c2272657175657374223a226d657373616765222c2270726f766973696f6e73223a66616c73657d2c226174223a313739353439313330303530317d2c7b2266726f6d223a2270726f766973696f6e696e67222c226f6e223a7b22696e707574223a2270726f766973696f6e6564227d7d5d7d	{43,45,40,32,186}
17	5	1795491300548	\\xb584798b1596b0d1cacd13a9285a40f39f8ed05a7a37f215e3c42365b0d95600	\\x7b2274797065223a22696e6974222c227475726e223a312c2273657373696f6e223a22656469746564227d7b2274797065223a2272756e5f73746172746564222c2272756e223a312c22666f756e64223a2269646c65227d7b2274797065223a226d657373616765222c22736571223a312c22726f6c65223a2275736572227d7b2274797065223a22737465705f73746172746564222c2273746570223a317d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a2269646c65222c226f6e223a7b22696e707574223a227475726e5f726571756573746564222c2272657175657374223a226d657373616765222c2270726f766973696f6e73223a66616c73657d2c226174223a313739353439313330303533347d2c7b2266726f6d223a2270726f766973696f6e696e67222c226f6e223a7b22696e707574223a2270726f766973696f6e6564227d7d5d7d	{43,45,40,32,186}
18	10	1795491300602	\\x4a2571988c2377acea98c028dfbc7b980224c04829426feb2ee0c7e494dadd6e	\\x7b2274797065223a226d657373616765222c22736571223a322c22726f6c65223a22617373697374616e74222c2273747265616d223a22312e31227d7b2274797065223a22737465705f656e646564222c2273746570223a317d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a227468696e6b696e67222c226f6e223a7b22696e707574223a226d6f64656c5f63616c6c6564222c22656e747279223a327d2c226174223a313739353439313330303538397d2c7b2266726f6d223a2273747265616d696e67222c226f6e223a7b22696e707574223a226d6f64656c5f616e737765726564222c226d657373616765223a322c2273746f70223a22656e645f7475726e222c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c22746f6b656e73223a327d7d2c7b2266726f6d223a227374656572696e67222c226f6e223a7b22696e707574223a2273746565726564222c2273746f70223a7b22726561736f6e223a226d6f64656c5f73746f70227d7d7d2c7b2266726f6d223a2274656172696e675f646f776e222c226f6e223a7b22696e707574223a22746f726e5f646f776e227d7d5d7d7b2274797065223a226167656e745f656e64222c227475726e223a312c2273657373696f6e223a2273686f7274656e6564222c227374657073223a312c22726561736f6e223a226d6f64656c5f73746f70227d7b2274797065223a22646f6e65222c227475726e223a312c22726561736f6e223a226d6f64656c5f73746f70222c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d7d	{60,30,385,83,104}
18	15	1795491300623	\\x304a0757017eeb3979b3f095f8c54d2f571d2caf728f24f3b629eb64078bb64e	\\x7b2274797065223a22696e6974222c227475726e223a322c2273657373696f6e223a2273686f7274656e6564227d7b2274797065223a2272756e5f73746172746564222c2272756e223a322c22666f756e64223a2269646c65227d7b2274797065223a226d657373616765222c22736571223a332c22726f6c65223a2275736572227d7b2274797065223a22737465705f73746172746564222c2273746570223a327d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a22646f6e65222c226f6e223a7b22696e707574223a227475726e5f726571756573746564222c2272657175657374223a226d657373616765222c2270726f766973696f6e73223a66616c73652c226166746572223a327d2c226174223a313739353439313330303631367d2c7b2266726f6d223a2270726f766973696f6e696e67222c226f6e223a7b22696e707574223a2270726f766973696f6e6564227d7d5d7d	{46,45,40,32,196}
10	12	1795491300055	\\x47eabfa2ec12f73153d5160cfa6bc005882bfaa910dbe270d334c820d6090780	\\x7b2274797065223a226d657373616765222c22736571223a322c22726f6c65223a22617373697374616e74222c2273747265616d223a22312e31227d7b2274797065223a2261736b6564222c2263616c6c223a2263312d31222c22746f6f6c223a22706179222c226b696e64223a22617070726f76616c222c2270656e64696e67223a2230343663383439393236613734636334626465306139303939303433653533662e63312d312e31227d7b2274797065223a2263616c6c222c2263616c6c223a2263312d31222c22746f6f6c223a22706179222c226973223a22626c6f636b65645f6f6e5f75736572227d7b2274797065223a2263616c6c222c2263616c6c223a2263312d30222c22746f6f6c223a226c6f6f6b222c226973223a22657865637574696e67227d7b2274797065223a2263616c6c222c2263616c6c223a2263312d30222c22746f6f6c223a226c6f6f6b222c226973223a22646f6e65222c226475726174696f6e5f6d73223a307d7b2274797065223a2273757370656e646564222c226b696e64223a2273757370656e6465645f636c69656e745f746f6f6c222c22756e74696c223a6e756c6c2c226f776564223a5b7b2263616c6c223a2263312d31222c22746f6f6c223a22706179222c226b696e64223a22617070726f76616c222c2270656e64696e67223a2230343663383439393236613734636334626465306139303939303433653533662e63312d312e31227d5d7d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a227468696e6b696e67222c226f6e223a7b22696e707574223a226d6f64656c5f63616c6c6564222c22656e747279223a327d2c226174223a313739353439313330303034337d2c7b2266726f6d223a2273747265616d696e67222c226f6e223a7b22696e707574223a226d6f64656c5f616e737765726564222c226d657373616765223a322c2263616c6c73223a5b7b226964223a2263312d30222c22746f6f6c223a226c6f6f6b222c22656666656374223a22726561645f6f6e6c79227d2c7b226964223a2263312d31222c22746f6f6c223a22706179227d5d2c2273746f70223a22746f6f6c5f757365222c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c22746f6b656e73223a327d7d2c7b2266726f6d223a22657865637574696e67222c2263616c6c223a2263312d30222c226973223a2261736b6564227d2c7b2263616c6c223a2263312d31222c226973223a2261736b6564227d2c7b2263616c6c223a2263312d30222c226973223a22616c6c6f776564222c2270726f66696c65223a7b226b657973223a5b5d7d2c226d73223a317d2c7b2263616c6c223a2263312d31222c226973223a226e656564735f75736572222c2270656e64696e67223a2230343663383439393236613734636334626465306139303939303433653533662e63312d312e31222c22646561646c696e65223a6e756c6c2c2270726f66696c65223a7b226b657973223a5b5d7d2c22617267756d656e7473223a327d2c7b2263616c6c223a2263312d30222c226973223a2273656e74227d2c7b226973223a2272657475726e6564222c226f6b223a747275657d2c7b2266726f6d223a22636f6e6669726d696e67222c226f6e223a7b22696e707574223a227061726b6564227d7d5d7d	{60,113,65,60,71,172,721}
12	5	1795491300104	\\x04301cbaf51e7c79f9b656a1162a0815c421684529cf9d86cb51d4a57e9a5203	\\x7b2274797065223a22696e6974222c227475726e223a312c2273657373696f6e223a226d69642d616e73776572227d7b2274797065223a2272756e5f73746172746564222c2272756e223a312c22666f756e64223a2269646c65227d7b2274797065223a226d657373616765222c22736571223a312c22726f6c65223a2275736572227d7b2274797065223a22737465705f73746172746564222c2273746570223a317d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a2269646c65222c226f6e223a7b22696e707574223a227475726e5f726571756573746564222c2272657175657374223a226d657373616765222c2270726f766973696f6e73223a66616c73657d2c226174223a313739353439313330303039367d2c7b2266726f6d223a2270726f766973696f6e696e67222c226f6e223a7b22696e707574223a2270726f766973696f6e6564227d7d5d7d	{47,45,40,32,186}
14	5	1795491300463	\\x9b6f57fa745f76b63b22197c543ce5d8f6ed1032bbc9e3a0cf7c329cd190399f	\\x7b2274797065223a22696e6974222c227475726e223a312c2273657373696f6e223a2261626f72746564227d7b2274797065223a2272756e5f73746172746564222c2272756e223a312c22666f756e64223a2269646c65227d7b2274797065223a226d657373616765222c22736571223a312c22726f6c65223a2275736572227d7b2274797065223a22737465705f73746172746564222c2273746570223a317d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a2269646c65222c226f6e223a7b22696e707574223a227475726e5f726571756573746564222c2272657175657374223a226d657373616765222c2270726f766973696f6e73223a66616c73657d2c226174223a313739353439313330303435337d2c7b2266726f6d223a2270726f766973696f6e696e67222c226f6e223a7b22696e707574223a2270726f766973696f6e6564227d7d5d7d	{44,45,40,32,186}
15	10	1795491300515	\\xd78a8d1fd095673f1ce1387823e304193fe32f44f89d4de7d81a1f8dd873cb99	\\x7b2274797065223a226d657373616765222c22736571223a322c22726f6c65223a22617373697374616e74222c2273747265616d223a22312e31227d7b2274797065223a22737465705f656e646564222c2273746570223a317d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a227468696e6b696e67222c226f6e223a7b22696e707574223a226d6f64656c5f63616c6c6564222c22656e747279223a327d2c226174223a313739353439313330303530317d2c7b2266726f6d223a2273747265616d696e67222c226f6e223a7b22696e707574223a226d6f64656c5f616e737765726564222c226d657373616765223a322c2273746f70223a22656e645f7475726e222c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c22746f6b656e73223a327d7d2c7b2266726f6d223a227374656572696e67222c226f6e223a7b22696e707574223a2273746565726564222c2273746f70223a7b22726561736f6e223a226d6f64656c5f73746f70227d7d7d2c7b2266726f6d223a2274656172696e675f646f776e222c226f6e223a7b22696e707574223a22746f726e5f646f776e227d7d5d7d7b2274797065223a226167656e745f656e64222c227475726e223a312c2273657373696f6e223a22666f726b6564222c227374657073223a312c22726561736f6e223a226d6f64656c5f73746f70227d7b2274797065223a22646f6e65222c227475726e223a312c22726561736f6e223a226d6f64656c5f73746f70222c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d7d	{60,30,385,80,104}
17	21	1795491300583	\\xeb194a8705202bc8bfded266df1474c81e1e2939a69649cf08ddeca2781652c5	\\x7b2274797065223a226d657373616765222c22736571223a352c22726f6c65223a22617373697374616e74222c2273747265616d223a22322e31227d7b2274797065223a22737465705f656e646564222c2273746570223a327d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a227468696e6b696e67222c226f6e223a7b22696e707574223a226d6f64656c5f63616c6c6564222c22656e747279223a357d2c226174223a313739353439313330303537307d2c7b2266726f6d223a2273747265616d696e67222c226f6e223a7b22696e707574223a226d6f64656c5f616e737765726564222c226d657373616765223a352c2273746f70223a22656e645f7475726e222c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c22746f6b656e73223a327d7d2c7b2266726f6d223a227374656572696e67222c226f6e223a7b22696e707574223a2273746565726564222c2273746f70223a7b22726561736f6e223a226d6f64656c5f73746f70227d7d7d2c7b2266726f6d223a2274656172696e675f646f776e222c226f6e223a7b22696e707574223a22746f726e5f646f776e227d7d5d7d7b2274797065223a226167656e745f656e64222c227475726e223a322c2273657373696f6e223a22656469746564222c227374657073223a312c22726561736f6e223a226d6f64656c5f73746f70227d7b2274797065223a22646f6e65222c227475726e223a322c22726561736f6e223a226d6f64656c5f73746f70222c227573616765223a7b22746f6b656e73223a7b22696e707574223a322c226f7574707574223a327d2c226d6f64656c5f63616c6c73223a327d7d	{60,30,385,80,104}
18	5	1795491300595	\\xeb6bf0ed8cb4a3531b3c32c56a352a1203c7d391e4e058ac20e4c5cb2e85fa04	\\x7b2274797065223a22696e6974222c227475726e223a312c2273657373696f6e223a2273686f7274656e6564227d7b2274797065223a2272756e5f73746172746564222c2272756e223a312c22666f756e64223a2269646c65227d7b2274797065223a226d657373616765222c22736571223a312c22726f6c65223a2275736572227d7b2274797065223a22737465705f73746172746564222c2273746570223a317d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a2269646c65222c226f6e223a7b22696e707574223a227475726e5f726571756573746564222c2272657175657374223a226d657373616765222c2270726f766973696f6e73223a66616c73657d2c226174223a313739353439313330303538397d2c7b2266726f6d223a2270726f766973696f6e696e67222c226f6e223a7b22696e707574223a2270726f766973696f6e6564227d7d5d7d	{46,45,40,32,186}
18	20	1795491300649	\\xf197d8476a124f9361fe0cdef5ef7652f3bd548a3d15babb5608fd3b3969c257	\\x7b2274797065223a226d657373616765222c22736571223a342c22726f6c65223a22617373697374616e74222c2273747265616d223a22322e31227d7b2274797065223a22737465705f656e646564222c2273746570223a327d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a227468696e6b696e67222c226f6e223a7b22696e707574223a226d6f64656c5f63616c6c6564222c22656e747279223a347d2c226174223a313739353439313330303631367d2c7b2266726f6d223a2273747265616d696e67222c226f6e223a7b22696e707574223a226d6f64656c5f616e737765726564222c226d657373616765223a342c2273746f70223a22656e645f7475726e222c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c22746f6b656e73223a327d2c226d73223a347d2c7b2266726f6d223a227374656572696e67222c226f6e223a7b22696e707574223a2273746565726564222c2273746f70223a7b22726561736f6e223a226d6f64656c5f73746f70227d7d7d2c7b2266726f6d223a2274656172696e675f646f776e222c226f6e223a7b22696e707574223a22746f726e5f646f776e227d7d5d7d7b2274797065223a226167656e745f656e64222c227475726e223a322c2273657373696f6e223a2273686f7274656e6564222c227374657073223a312c22726561736f6e223a226d6f64656c5f73746f70227d7b2274797065223a22646f6e65222c227475726e223a322c22726561736f6e223a226d6f64656c5f73746f70222c227573616765223a7b22746f6b656e73223a7b22696e707574223a322c226f7574707574223a327d2c226d6f64656c5f63616c6c73223a327d7d	{60,30,392,83,104}
18	25	1795491300692	\\xa694cdcb150768a16962cc8c02ad0a424bca0c6d614bff263023d8ba43e8a013	\\x7b2274797065223a22696e6974222c227475726e223a332c2273657373696f6e223a2273686f7274656e6564227d7b2274797065223a2272756e5f73746172746564222c2272756e223a332c22666f756e64223a2269646c65227d7b2274797065223a226d657373616765222c22736571223a352c22726f6c65223a2275736572227d7b2274797065223a22737465705f73746172746564222c2273746570223a337d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a22646f6e65222c226f6e223a7b22696e707574223a227475726e5f726571756573746564222c2272657175657374223a226d657373616765222c2270726f766973696f6e73223a66616c73652c226166746572223a347d2c226174223a313739353439313330303636397d2c7b2266726f6d223a2270726f766973696f6e696e67222c226f6e223a7b22696e707574223a2270726f766973696f6e6564227d7d5d7d	{46,45,40,32,196}
18	36	1795491300731	\\x73eaf5f95b343c3d9bf3cc081884d27e1e322c8dc54275ab83a20b8d1b61b64d	\\x7b2274797065223a22636f6d70616374696f6e5f73746172746564222c22746f6b656e73223a322c227468726573686f6c64223a3134303030302c226361757365223a2261736b6564227d7b2274797065223a226d657373616765222c22736571223a372c22726f6c65223a2273756d6d617279227d7b2274797065223a22636f6d70616374696f6e5f656e646564222c226265666f7265223a322c226166746572223a312c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c226361757365223a2261736b6564227d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a22636f6d70616374696e67222c226f6e223a7b22696e707574223a22636f6d706163746564222c2273756d6d617279223a372c2266726f6d223a352c22746f6b656e73223a312c226265666f7265223a322c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d7d2c226174223a313739353439313330303730377d5d7d	{75,43,122,196}
18	30	1795491300695	\\x36bcbe02cc05a58ab455332c69764392cddb82bb4fff2ddc10e0ea996ecdc838	\\x7b2274797065223a226d657373616765222c22736571223a362c22726f6c65223a22617373697374616e74222c2273747265616d223a22332e31227d7b2274797065223a22737465705f656e646564222c2273746570223a337d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a227468696e6b696e67222c226f6e223a7b22696e707574223a226d6f64656c5f63616c6c6564222c22656e747279223a367d2c226174223a313739353439313330303636397d2c7b2266726f6d223a2273747265616d696e67222c226f6e223a7b22696e707574223a226d6f64656c5f616e737765726564222c226d657373616765223a362c2273746f70223a22656e645f7475726e222c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c22746f6b656e73223a327d2c226d73223a337d2c7b2266726f6d223a227374656572696e67222c226f6e223a7b22696e707574223a2273746565726564222c2273746f70223a7b22726561736f6e223a226d6f64656c5f73746f70227d7d7d2c7b2266726f6d223a2274656172696e675f646f776e222c226f6e223a7b22696e707574223a22746f726e5f646f776e227d7d5d7d7b2274797065223a226167656e745f656e64222c227475726e223a332c2273657373696f6e223a2273686f7274656e6564222c227374657073223a312c22726561736f6e223a226d6f64656c5f73746f70227d7b2274797065223a22646f6e65222c227475726e223a332c22726561736f6e223a226d6f64656c5f73746f70222c227573616765223a7b22746f6b656e73223a7b22696e707574223a332c226f7574707574223a337d2c226d6f64656c5f63616c6c73223a337d7d	{60,30,392,83,104}
18	32	1795491300723	\\xa99a45ef6b60987c6e9ea703579f1464603ddd2c6d93da9174a61137c1b4c04e	\\x7b2274797065223a2272756e5f73746172746564222c2272756e223a342c22666f756e64223a2269646c65222c226b696e64223a22636f6d70616374227d7b2274797065223a22686973746f7279222c22726f7773223a5b7b2266726f6d223a22646f6e65222c226f6e223a7b22696e707574223a22636f6d70616374696f6e5f726571756573746564227d2c226174223a313739353439313330303730327d5d7d	{62,100}
20	12	1795491300808	\\x712e425a4ea802dd09a938477620c2b5a6c8932e0cbc9f1d001b65837a87842d	\\xfa00000001a75aebda36957ebf9545d6096fa67c5018d5d7e66782ff0d4b870abc87de5f9f9d93bb6d0b74240137ebe293f7266900e1feedfdf897a7e3e8faac4f4dcf447ae34ae1cd74049f4f6b7dc5b223fa00000001b1d6a86e5dd3267f826235284ce99b015161715d5a47141b0ee7369a79196772c524347d5d71026b55ef2095b06280486c5c98070beefe60dc3f257c0443fdabea3b3e9f4ba4bb63b0dcf6db58f8cdac4aa27576dbf260cee02ca2788f62540502a30219bb782b6c7cb6716de5cc998dc6114e2e74ed097972acab07fa00000001ae22c5d693248451334a31f8c768c4a0b4b336c4fb24b804a1a2128a42e6ccb4a0db9d3fc80913c758fa5ced868efb9ab261ca546f80e530f5de94b87f728ee9a1cde20e558b11474aba5e7936998854c55afa000000016134463faf9cc0af4d0ccf7b6157ff018ddea0abf4761951f79aa06de12fc1abdf4238d052f3295c37997027263d214a7a01eac6435be23c16695dc61ffc6a1ea9f8afafd0fc9d5ed53e2e9ecbfa00000001cbd408650b7f1b90b29d83ec0debd72878f3b28fd864080aa5c8ee2a5b6bcac11315c69e32b3966d40a10bf09e06256b6dcbeca1bf702336c624f820ed574e2e7a95def8cee3ba4b3dd51c30d064351ccf9fb50ec1365c12fa0000000195d6682f38828e39509f5f46bf805a1f3c1edc97ca2ca77ccd677edb6b19d08a9e453a1a5b8711d750f0990e8a8e0e1c6e885e21b2bec4ce2606f98cced250bd424f0146cc9e2711b00691ee0c7fd2684cdd917aeeb15c94496cf2a4a7041b64b63abd538fa7fb4d016f7f1e4bd3b67a3e3d81feef2965e07f8b515ccccbb2cce3af978d282ab627625d9304b81dddd41e49675dcebc95cec9dbfd1898fa000000018bf92ed86d4c5a83f08a7542ca8d7fae45eec60a4b5d0747980cc650e04d1587176dc08bebb94c49f6fb5259bdf7a0f889fa8afd5071ee9920a152f819268411b5c48d81b08c95f42ae815ea133fd9dbea3c1f18a30f29e53059173d67ce7847d2c3da573871a292ed1be9273c07492ae8b51e2f1adc41cd3ac50b05378050d183a38151a6856f89e2949f47fea18b8626f8d00651da3f67af0b036d57bcb2b126e37eb04ce6c1814fcfed67b5d6b5c6578fd4bd88488247ede26de1bfd5354ccc708000a2d9e731583346ec1bd9670052c4b54f592f59d3cbd1dd86b6ff0d30b22b5a0bb290f6a0a71378861aa75307d765aef78580f4637cf878ca8df07ac873a05626a033520164ee202beb77079005aa209dc411df32372bae254c22b7bbebc8ccbd61540081326542539437930796b171c8bb5e1d43690d7fc08bb6ede5bfaa7c190aed5b18c65e883ca96f4878f9f4203a163881fca77dbac50a5589af7e25ad34aaac964ad08d90079ef28af72005a46ab8e05964be1eae4b39e7af5db9baf505ee1ede98ad	{82,129,87,82,93,162,398}
20	5	1795491300796	\\xcf0c8b5f61e8c94c0a79a5db8322515462d20c94f0d6e9d6e2c724f8b3eae82d	\\xfa000000019f909e25575628c04e12d2ad7b23a5eb19fd0911ea50d4f1ee7b41018b170d44246b26ea863398cb1d2bc5e256602b82f49a5b3a23dc554a7a6d0f80fa00000001d19f41464edec98c88867a5970b9d3b237785c0e0e00caefd966a73a00e23a06e658b238afcfc92bf445b8af55b9e08e8d374861c1b92af628023043ba21fa000000010378a48f2466a627cb96bdf04cdf8c582761d7b6d94e9ee19ce292997617bb65125c3969719afbb97a7e535075b1a400573b698c26ac402927fa000000018a94b1966b91d88cede791b0614c8928207ed097926a4bf6ae636405669a960a9634815a9d97456d6ea19646d2180445bbfa000000018243caf0c8d854db589578c529a66630f9ac8ac4ebb382ffcc2fbc732f3557c4f6d0cf321e7ab80d0bba9c38e1ee859b88818f9e7f3fd149062d69e19515cb7aca3c7e2867deb8c5f3c8a59362b79b22b7d573ea6bee702ac7ef0346e4c4c6dff7a561c1f1ea2143531f4633b2b28def396164bfa5d530e1b325d105089bf88a6dcc8d6f103d331e1338f735af4b2cdbc8f04a6b9dc3c77cf8	{65,67,62,54,158}
\.


--
-- Data for Name: item; Type: TABLE DATA; Schema: holdover; Owner: -
--

COPY holdover.item (sid, seq, key, content, kind, wake, pending, settles, at, digest, payload) FROM stdin;
1	1	323ecf0a4a3949d6a05ceeaeb9eb6b47	\\xde399ace914d0e3edc2c8bbf37d0e72300679763a0419c88f44e8c6c41fd9f4e	message	now	\N	f	1795491299407	\N	\N
2	1	d50abb64d70f48089a1addacedc3fb6e	\\x84b599e2401ba1211d48404e4acda8419e1e20c3a325909dc3236ff237e8318f	message	now	\N	f	1795491299457	\N	\N
3	1	942cd0d4ccdb452494280d43ddbc5c7a	\\x2b02a231f3db4496a4c3b4b4776cee1036a9f4b6459d1a1851d10e66b8034e8d	message	now	\N	f	1795491299511	\N	\N
4	1	78476ccae11f45fe929312f0742b2f6e	\\x6ea970fc2ace000733c6211d26fb81727379de32dd11224e9b1941edcd987e44	message	now	\N	f	1795491299555	\N	\N
5	1	d7379f5eea4e4fc997f92b8e69cd62fb	\\x886df973be8f8f7bea537bb76c001d29d967405690ecdddc0d465452dc424eab	message	now	\N	f	1795491299583	\N	\N
6	1	6b1501aa9f2d4cc784044f2c32b8d2fb	\\x44aaeca684f214022f3838745b44a43513cba522b410a434176184cd0569e7d5	message	now	\N	f	1795491299619	\N	\N
7	1	c7a0d3deb3134c77bf7053095c5546a8	\\x553d01b68cef2aa0bda6fdf436b70cc6fbbb2a90960250b677a7ba9e806e86de	message	now	\N	f	1795491299642	\N	\N
8	1	1ffd1a931f9f49e9a0458b0b91f2636f	\\x75362c8118c77acf64eb3dfce08ee7bcf2816c8d8e35f9b9e1a68d1fe397999d	message	now	\N	f	1795491299930	\N	\N
8	2	answer=f54a24cedfeb6a3a1b4461fceb51230ea9deea067d35031e39219be233eb0ce6	\\x311058e1aec14a94cef87f398b38d46cb06f91c29ad3df927c054bd4aa939a5b	answer	now	09d9218f7b804123a3515ab47f5adf6a.c1-1.1	f	1795491299959	\N	\N
9	1	51501bd19c834643b60c51874956027f	\\x7bbeabb7899bce509d6540808b14063f1383308df57d4659d3c0bf8a1d0aac31	message	now	\N	f	1795491300007	\N	\N
9	2	answer@79308bbd6a35d4e262bb4a8ce6e8248af086570b4bdb4112fcc758ed39113f64	\\x647d8c3a9e824b014495bd0a2162fe33b3faff127951f8e5d07ebe204cc50cdd	answer	quiet	c9bbcfb0c7224071a5df21290a63aab0.c1-0.1	f	1795491300039	\\x5aa14eacb352ed21882f61cbdf400fb591c7b85005be2785f7f8494ad4b1379f	\\x7b22617070726f7665223a747275652c22736177223a2233363333373937343266383062353162646239323036353739616637373534393131353433303739623933393963623366633331356662313939663437366538222c226279223a22616e6e227d
10	1	68d1f46df12a406492843d743dd73059	\\xb70614e7f4b496730d71b200ec16355263accf228ea9e105252776f79632e7e0	message	now	\N	f	1795491300043	\N	\N
10	2	6ebc6f5256a44769ae8a2e710a6e0323	\\x5e49e3a67a27a4e3e08df82e850ed0fd881538420bb96e481e6128c4ed0f3f48	message	quiet	\N	f	1795491300065	\\xcaafb3e6bb6a5b82ec85ce7a6bf9bad91846a29a6fd432e598df495b67774bf5	\\x7b2274657874223a226c61746572222c22706f6c696379223a22656e7175657565227d
11	1	b2303eda88dc460892499baa3e276630	\\x08d3a166e527ab3855b90f84d033baffb88f6fe051f4a3b27dfae780a3bf8943	message	now	\N	f	1795491300077	\N	\N
12	1	6325464ad1ed4a79ad86a56e11a4c5d5	\\x95f83a86ca3f63fe02e3d7d8225c15f73be9566652a015f965f8512bbf0803fc	message	now	\N	f	1795491300096	\N	\N
13	1	fce74d25c7b043d6b3021175f3e68757	\\xe842254871e6a333c297be584917aa47f75d2de88ce5d095205f7bf283be450f	message	now	\N	f	1795491300262	\N	\N
14	1	693b5afec7194bf88bd1a69137ac7f10	\\x5d3f071a98c9164d1dc00825968bbce054f771fc31a8ae1d1979890b83678623	message	now	\N	f	1795491300453	\N	\N
15	1	6cb75e6c7853499ca17f61c1088a470c	\\x7551a575d76ca82d15536bcd90860535ac5a5a38244ae8d22ac995af6031d319	message	now	\N	f	1795491300501	\N	\N
17	1	b4bb9f60dd9648caa6d2abe319cd8fc5	\\x833f0492dc2a27c16dd9873c0e8fdcdc342034c2019f636822b77b592e57d63e	message	now	\N	f	1795491300534	\N	\N
17	2	25a335bb92174416888b83781fba9803	\\xbafe5143311153327a6836121674f46e403b610480b3a9d6fe6795c21a2d9d33	message	now	\N	f	1795491300563	\N	\N
18	1	7471042d15e94f7388492b6ff4f6ca58	\\x1dee1edcddb6e6055db8c4a6faad5c97cbb31ca33aaa0e030b05b5438dce6137	message	now	\N	f	1795491300589	\N	\N
18	2	456ca81769a348a49a3d5a2db29d0680	\\x0fb75684a22b58f41d8745e520801c0275275c8b30c0cbd6d30e7b0f94b8dba5	message	now	\N	f	1795491300608	\N	\N
18	3	7e9ce3a855f046228383d8b391320753	\\xb1446be15348f0a952031283827c7068148d24db81e9ea1769e576d29861e81d	message	now	\N	f	1795491300664	\N	\N
18	4	fd298f5f77db462d949c6699cf4f231a	\\xcfcf69188f27749024bd620e05a7b581575216cff85c3e63fabe3e1d90c488aa	signal	now	\N	f	1795491300702	\N	\N
20	1	0e35e4a87e124d00852e6c1a187390d9	\\xc65b1c67316c049307ffdd3412897b5084a8df03fab2862c540ddcc31e20144f	message	now	\N	f	1795491300777	\N	\N
\.


--
-- Data for Name: label; Type: TABLE DATA; Schema: holdover; Owner: -
--

COPY holdover.label (sid, name, value) FROM stdin;
1	\\x6167656e74	\\x746573746572
1	\\x70726f6772616d	\\x636f727075732d30633332666538633863333431643537
2	\\x6167656e74	\\x746573746572
2	\\x70726f6772616d	\\x636f727075732d30633332666538633863333431643537
3	\\x6167656e74	\\x746573746572
3	\\x70726f6772616d	\\x636f727075732d30633332666538633863333431643537
4	\\x6167656e74	\\x746573746572
4	\\x70726f6772616d	\\x636f727075732d30633332666538633863333431643537
5	\\x6167656e74	\\x746573746572
5	\\x70726f6772616d	\\x636f727075732d30633332666538633863333431643537
6	\\x6167656e74	\\x746573746572
6	\\x70726f6772616d	\\x636f727075732d30633332666538633863333431643537
7	\\x6167656e74	\\x746573746572
7	\\x70726f6772616d	\\x636f727075732d30633332666538633863333431643537
8	\\x6167656e74	\\x746573746572
8	\\x70726f6772616d	\\x636f727075732d30633332666538633863333431643537
9	\\x6167656e74	\\x746573746572
9	\\x70726f6772616d	\\x636f727075732d30633332666538633863333431643537
10	\\x6167656e74	\\x746573746572
10	\\x70726f6772616d	\\x636f727075732d30633332666538633863333431643537
11	\\x6167656e74	\\x746573746572
11	\\x70726f6772616d	\\x636f727075732d30633332666538633863333431643537
12	\\x6167656e74	\\x746573746572
12	\\x70726f6772616d	\\x636f727075732d30633332666538633863333431643537
13	\\x6167656e74	\\x746573746572
13	\\x70726f6772616d	\\x636f727075732d30633332666538633863333431643537
14	\\x6167656e74	\\x746573746572
14	\\x70726f6772616d	\\x636f727075732d30633332666538633863333431643537
15	\\x6167656e74	\\x746573746572
15	\\x70726f6772616d	\\x636f727075732d30633332666538633863333431643537
16	\\x6167656e74	\\x746573746572
16	\\x666f726b65645f66726f6d	\\x666f726b6564
16	\\x66726f6d	\\x666f726b6564
16	\\x70726f6772616d	\\x636f727075732d30633332666538633863333431643537
17	\\x6167656e74	\\x746573746572
17	\\x70726f6772616d	\\x636f727075732d30633332666538633863333431643537
18	\\x6167656e74	\\x746573746572
18	\\x70726f6772616d	\\x636f727075732d30633332666538633863333431643537
20	\\x6167656e74	\\x746573746572
20	\\x70726f6772616d	\\x636f727075732d30633332666538633863333431643537
\.


--
-- Data for Name: mark; Type: TABLE DATA; Schema: holdover; Owner: -
--

COPY holdover.mark (one, version) FROM stdin;
t	2
\.


--
-- Data for Name: message; Type: TABLE DATA; Schema: holdover; Owner: -
--

COPY holdover.message (sid, seq, at, digest, payload) FROM stdin;
1	1	1795491299430	\\x990331611e6d01b207f863215e8378bf6655c8bf8f829923745dcc937e4a0bbc	\\x7b22726f6c65223a2275736572222c2274657874223a227265737473222c226974656d223a317d
1	2	1795491299439	\\xcb287ce07a87929f82761ff9c7d0978fd366be93ece68434aaf411a0569e34d3	\\x7b22726f6c65223a22617373697374616e74222c227061727473223a5b7b2274797065223a2274657874222c2274657874223a22646f6e65227d5d7d
2	1	1795491299469	\\x981bc0134c952955eef5b7057a5603c33f146cf2b5bdabbab970b640b23e277b	\\x7b22726f6c65223a2275736572222c2274657874223a22617070726f76616c222c226974656d223a317d
2	2	1795491299474	\\x90c2d07b7d1236d64b8652db11961b4009576df2da97a9723000030144cd95cd	\\x7b22726f6c65223a22617373697374616e74222c227061727473223a5b7b2274797065223a2263616c6c222c226964223a2263312d30222c22746f6f6c223a226c6f6f6b222c22617267756d656e7473223a227b7d227d2c7b2274797065223a2263616c6c222c226964223a2263312d31222c22746f6f6c223a22706179222c22617267756d656e7473223a227b5c226e5c223a377d227d5d7d
3	1	1795491299527	\\xda90f79fe257e588548f9b094d8bd86e66101e4a24960f52de29acd80cad8b68	\\x7b22726f6c65223a2275736572222c2274657874223a22636c69656e74222c226974656d223a317d
3	2	1795491299543	\\xc0232d9282007373e366e0ee40b57c5146aa07dc3d370d819ce73a9d12d0dda5	\\x7b22726f6c65223a22617373697374616e74222c227061727473223a5b7b2274797065223a2263616c6c222c226964223a2263312d30222c22746f6f6c223a2261736b222c22617267756d656e7473223a227b7d227d5d7d
4	1	1795491299560	\\x68fde9579a728e6ed86fb022cdd6e8c2685e576a9148b068309255531dd685ad	\\x7b22726f6c65223a2275736572222c2274657874223a22736c65657073222c226974656d223a317d
4	2	1795491299564	\\xef205bc91e658ffd7bd85da66fa75369b29bb798093ee6ec066d0c5f2d040637	\\x7b22726f6c65223a22617373697374616e74222c227061727473223a5b7b2274797065223a2263616c6c222c226964223a2263312d30222c22746f6f6c223a22736c656570222c22617267756d656e7473223a227b7d227d5d7d
5	1	1795491299591	\\xe000e48f5ef970ba57e25eecf961684854fdbcbf1bcd82b0c78a1b3988af655a	\\x7b22726f6c65223a2275736572222c2274657874223a226261636b732d6f6666222c226974656d223a317d
6	1	1795491299623	\\xf92f30be5db74890a59a6923f0bb549afbb718b4d930476e67a5761c8fb24059	\\x7b22726f6c65223a2275736572222c2274657874223a226661696c6564222c226974656d223a317d
7	1	1795491299648	\\x55f969b5acd47e4a38bef7be36b900160f2cdb89579c140981e9874fc899a0af	\\x7b22726f6c65223a2275736572222c2274657874223a22696e746572727570746564222c226974656d223a317d
8	1	1795491299939	\\xcd4fbecbb9dc90272072aa9990c11f25b9505bd942cf0d1eff8ba393d7f0a31a	\\x7b22726f6c65223a2275736572222c2274657874223a22696e2d7468652d6d6964646c65222c226974656d223a317d
8	2	1795491299951	\\x90c2d07b7d1236d64b8652db11961b4009576df2da97a9723000030144cd95cd	\\x7b22726f6c65223a22617373697374616e74222c227061727473223a5b7b2274797065223a2263616c6c222c226964223a2263312d30222c22746f6f6c223a226c6f6f6b222c22617267756d656e7473223a227b7d227d2c7b2274797065223a2263616c6c222c226964223a2263312d31222c22746f6f6c223a22706179222c22617267756d656e7473223a227b5c226e5c223a377d227d5d7d
8	3	1795491299991	\\xea6a7b2cbea0a4727a7ec1f54166bd71cd881ab7bba47370422608c345156b6d	\\x7b22726f6c65223a226465636973696f6e222c2263616c6c223a2263312d31222c2270656e64696e67223a2230396439323138663762383034313233613335313561623437663561646636612e63312d312e31222c226465636973696f6e223a7b22617070726f7665223a747275652c22736177223a2231646434326465393238376331623661393663363137333736633064663662383330343438353738336564306234383033663161616330663131393437316135222c226279223a22616e6e227d2c226174223a313739353439313239393935397d
9	1	1795491300019	\\x044eb8763c2c47879497274a57cb9c681a62aed526a3e67334739e53f385bcd9	\\x7b22726f6c65223a2275736572222c2274657874223a226f6e652d6f662d74776f222c226974656d223a317d
9	2	1795491300022	\\x6639392f6e0679944948c51e644eeda647d4303afe46e1cf2206bb0882e9712e	\\x7b22726f6c65223a22617373697374616e74222c227061727473223a5b7b2274797065223a2263616c6c222c226964223a2263312d30222c22746f6f6c223a226772616e74222c22617267756d656e7473223a227b5c226e5c223a327d227d5d7d
10	1	1795491300051	\\x7dbe920876938b537ca19475612249137ece584b78d8133dc54c22e8d82c9d4b	\\x7b22726f6c65223a2275736572222c2274657874223a22717565756564222c226974656d223a317d
10	2	1795491300055	\\x90c2d07b7d1236d64b8652db11961b4009576df2da97a9723000030144cd95cd	\\x7b22726f6c65223a22617373697374616e74222c227061727473223a5b7b2274797065223a2263616c6c222c226964223a2263312d30222c22746f6f6c223a226c6f6f6b222c22617267756d656e7473223a227b7d227d2c7b2274797065223a2263616c6c222c226964223a2263312d31222c22746f6f6c223a22706179222c22617267756d656e7473223a227b5c226e5c223a377d227d5d7d
11	1	1795491300080	\\x1aa0aa3f6dfe316a126467364cfe42c9bd181a9b6f19bb328b682dfba2b2ccaf	\\x7b22726f6c65223a2275736572222c2274657874223a22737461676564222c226974656d223a317d
11	2	1795491300083	\\xb23ea7051d6ac6c1feeaccae7c1758eba579b34a0559e64ead4f86d755065c76	\\x7b22726f6c65223a22617373697374616e74222c227061727473223a5b7b2274797065223a2263616c6c222c226964223a2263312d30222c22746f6f6c223a22626f6f6b222c22617267756d656e7473223a227b5c226e5c223a317d227d2c7b2274797065223a2263616c6c222c226964223a2263312d31222c22746f6f6c223a22686f6c64222c22617267756d656e7473223a227b5c226e5c223a327d227d5d7d
12	1	1795491300104	\\xf39589a8034413f05e4de08f66eb726c737ba01ec4dc47e230ff88b4d384539d	\\x7b22726f6c65223a2275736572222c2274657874223a226d69642d616e73776572222c226974656d223a317d
13	1	1795491300268	\\x9558b4db89692c53154891522f4a7a414f04deded928232e5d1e6033d34cbed5	\\x7b22726f6c65223a2275736572222c2274657874223a22746f2d61626f7274222c226974656d223a317d
14	1	1795491300463	\\x609705fe9a3155a5896516c2a3bc255d310bfb55e1859c4b01e0a303b3e8e688	\\x7b22726f6c65223a2275736572222c2274657874223a2261626f72746564222c226974656d223a317d
14	2	1795491300474	\\xcb287ce07a87929f82761ff9c7d0978fd366be93ece68434aaf411a0569e34d3	\\x7b22726f6c65223a22617373697374616e74222c227061727473223a5b7b2274797065223a2274657874222c2274657874223a22646f6e65227d5d7d
15	1	1795491300510	\\xc65bc6cc60294b0469e0ed4cce15c02fae1ad8ec0895ee02d20346133b2a01a4	\\x7b22726f6c65223a2275736572222c2274657874223a22666f726b6564222c226974656d223a317d
15	2	1795491300515	\\xcb287ce07a87929f82761ff9c7d0978fd366be93ece68434aaf411a0569e34d3	\\x7b22726f6c65223a22617373697374616e74222c227061727473223a5b7b2274797065223a2274657874222c2274657874223a22646f6e65227d5d7d
16	1	1795491300510	\\xc65bc6cc60294b0469e0ed4cce15c02fae1ad8ec0895ee02d20346133b2a01a4	\\x7b22726f6c65223a2275736572222c2274657874223a22666f726b6564222c226974656d223a317d
16	2	1795491300515	\\xcb287ce07a87929f82761ff9c7d0978fd366be93ece68434aaf411a0569e34d3	\\x7b22726f6c65223a22617373697374616e74222c227061727473223a5b7b2274797065223a2274657874222c2274657874223a22646f6e65227d5d7d
17	1	1795491300548	\\xa9720f462e14f2d93e817b20a7fc00a340178cfbe3c5d2048412b9a9bc4e5bb1	\\x7b22726f6c65223a2275736572222c2274657874223a22656469746564222c226974656d223a317d
17	2	1795491300551	\\xcb287ce07a87929f82761ff9c7d0978fd366be93ece68434aaf411a0569e34d3	\\x7b22726f6c65223a22617373697374616e74222c227061727473223a5b7b2274797065223a2274657874222c2274657874223a22646f6e65227d5d7d
17	3	1795491300579	\\xb4fa145bf093c6d2e01659035c670335bbbfea84e86771108c1673ca6be82c32	\\x7b22726f6c65223a226e6f74696365222c2274657874223a2274616b656e206261636b3a206d65737361676573203120746f2032222c227265776f756e64223a307d
17	4	1795491300579	\\xb5d9d4004b7d20319755753e4c6cea787aa3a8dd38bfec6d9f17526349a050f9	\\x7b22726f6c65223a2275736572222c2274657874223a22696e7374656164222c226974656d223a327d
17	5	1795491300583	\\xcb287ce07a87929f82761ff9c7d0978fd366be93ece68434aaf411a0569e34d3	\\x7b22726f6c65223a22617373697374616e74222c227061727473223a5b7b2274797065223a2274657874222c2274657874223a22646f6e65227d5d7d
18	1	1795491300595	\\xc7ccfd387f3021cb17cb6ca6ef7797653998093b4578c61180c32a81b0884888	\\x7b22726f6c65223a2275736572222c2274657874223a2273686f7274656e6564222c226974656d223a317d
18	2	1795491300602	\\xcb287ce07a87929f82761ff9c7d0978fd366be93ece68434aaf411a0569e34d3	\\x7b22726f6c65223a22617373697374616e74222c227061727473223a5b7b2274797065223a2274657874222c2274657874223a22646f6e65227d5d7d
18	3	1795491300623	\\x957c40e0c1506f6328132c88c7489b4daf10cd5930b64d9e6aa9cd49b664ea53	\\x7b22726f6c65223a2275736572222c2274657874223a226d6f7265222c226974656d223a327d
18	4	1795491300649	\\xcb287ce07a87929f82761ff9c7d0978fd366be93ece68434aaf411a0569e34d3	\\x7b22726f6c65223a22617373697374616e74222c227061727473223a5b7b2274797065223a2274657874222c2274657874223a22646f6e65227d5d7d
18	5	1795491300692	\\xf73ed5617e3d9044886927f99683f88da8f966ee8423d90cc44f60b2f0f3de05	\\x7b22726f6c65223a2275736572222c2274657874223a22616e64206d6f7265222c226974656d223a337d
18	6	1795491300695	\\xcb287ce07a87929f82761ff9c7d0978fd366be93ece68434aaf411a0569e34d3	\\x7b22726f6c65223a22617373697374616e74222c227061727473223a5b7b2274797065223a2274657874222c2274657874223a22646f6e65227d5d7d
18	7	1795491300731	\\x0a2fcd58b5104ece1462c882ee4d3acef42cc1cfd7ba7305a6525ad2cfac7b1c	\\x7b22726f6c65223a2273756d6d617279222c2274657874223a22646f6e65222c226265666f7265223a357d
20	1	1795491300796	\\x8e4a3e0a2de8dec099234082f4a0825c79044393894a7e928eba6bd4d89d5a53	\\xfa00000001230254d4f25631af7716e8d2582f45b2ed4592bd59f2f8417ffdd533e01bb57cff2de1fd39446d4a320db5aa402f7ca8690d19a5785ce0d93692d9
20	2	1795491300808	\\x2590de4ae01eca633a096440726fa7bc24e4f5c7035d8feaa0ac98c5f26eaa66	\\xfa00000001deb04af0fe57c213ad57ad260d01206aa5d5f80b5f6311474e6620d311be39586ca1ed67a8b644e17c9368509526158d89cc95620b5ec22ae47126ca93f84ae973dac996d0d55f2e757c5b8c3d47827b80de1bd9e3cdb98edbbc7bd783e1c7edfe5d0fc3490ff2820241dc2f8cfcd31a3348e84e0d1fc5d2d70b
\.


--
-- Data for Name: opened; Type: TABLE DATA; Schema: holdover; Owner: -
--

COPY holdover.opened (sid, id) FROM stdin;
2	ecefb28351884d59973e860ff95fa04f.c1-1.1
3	386c479ee02149a795131d51f1f39a55.c1-0.1
8	09d9218f7b804123a3515ab47f5adf6a.c1-1.1
9	c9bbcfb0c7224071a5df21290a63aab0.c1-0.1
10	046c849926a74cc4bde0a9099043e53f.c1-1.1
20	5788177209c54ac5ad611576ee8adad4.c1-1.1
\.


--
-- Data for Name: pending; Type: TABLE DATA; Schema: holdover; Owner: -
--

COPY holdover.pending (pid, sid, tenant, session, incarnation, id, call, kind, needed, answered, last_answer, endless, deadline, opened_at, digest, payload) FROM stdin;
1	2	acme	approval	\\xecefb28351884d59973e860ff95fa04f	ecefb28351884d59973e860ff95fa04f.c1-1.1	c1-1	approval	1	0	0	t	0	1795491299474	\\x106f46ef2698649e8118cfed07dc25396357d049126914d3e170fb395b8ccdbd	\\x7b22746f6f6c223a22706179222c22617267756d656e7473223a227b5c226e5c223a377d222c22646967657374223a2231646434326465393238376331623661393663363137333736633064663662383330343438353738336564306234383033663161616330663131393437316135227d
2	3	acme	client	\\x386c479ee02149a795131d51f1f39a55	386c479ee02149a795131d51f1f39a55.c1-0.1	c1-0	client_tool	1	0	0	t	0	1795491299543	\\xeb3798035bdb24ed9a916c878dcd73781ca8e10fcd8f4a7e1a228f0485527a1f	\\x7b22746f6f6c223a2261736b222c22617267756d656e7473223a227b7d222c22646967657374223a2234343133366661333535623336373861313134366164313666376538363439653934666234666332316665373765383331306330363066363163616166663861227d
4	9	acme	one-of-two	\\xc9bbcfb0c7224071a5df21290a63aab0	c9bbcfb0c7224071a5df21290a63aab0.c1-0.1	c1-0	approval	2	1	2	t	0	1795491300022	\\xe31c6d4f40128f6ca8b60f9e3120d81e2ed7879a466a78c8a40029f87111c7cd	\\x7b22746f6f6c223a226772616e74222c22617267756d656e7473223a227b5c226e5c223a327d222c22646967657374223a2233363333373937343266383062353162646239323036353739616637373534393131353433303739623933393963623366633331356662313939663437366538222c2270616e656c223a7b227465726d73223a7b22617070726f76657273223a7b226e6565646564223a327d7d2c22646967657374223a2233363333373937343266383062353162646239323036353739616637373534393131353433303739623933393963623366633331356662313939663437366538222c2261736b65645f6174223a313739353439313330303030387d7d
5	10	acme	queued	\\x046c849926a74cc4bde0a9099043e53f	046c849926a74cc4bde0a9099043e53f.c1-1.1	c1-1	approval	1	0	0	t	0	1795491300055	\\x106f46ef2698649e8118cfed07dc25396357d049126914d3e170fb395b8ccdbd	\\x7b22746f6f6c223a22706179222c22617267756d656e7473223a227b5c226e5c223a377d222c22646967657374223a2231646434326465393238376331623661393663363137333736633064663662383330343438353738336564306234383033663161616330663131393437316135227d
6	20	sealed	sealed	\\x5788177209c54ac5ad611576ee8adad4	5788177209c54ac5ad611576ee8adad4.c1-1.1	c1-1	approval	1	0	0	t	0	1795491300808	\\xad48f8b0a4d9a0cd958c7a339d7e7df9bb257b6875f891229e1996d98a9a9077	\\xfa00000001bbc7117cf78f67a79824b7944576a33fe895da26044fe422ad146b85419a71d8ff146227256c4c95a3b46a0db728e57b6381ec11e697e7cc4b8d42de5ec1845a66836c013da5fd7b6195335025df7d220e6e42443ff92b2825a5662155d2a05f7c5ee5600c26c4403240edf2002bbf266028f3874e3a08519344baf2c168
\.


--
-- Data for Name: program; Type: TABLE DATA; Schema: holdover; Owner: -
--

COPY holdover.program (tag, opened_at) FROM stdin;
5a0b65496eda	2026-11-24 03:34:59.359093+00
\.


--
-- Data for Name: run; Type: TABLE DATA; Schema: holdover; Owner: -
--

COPY holdover.run (sid, epoch, run, worker, found, parent, started_at, ended_at, outcome, digest, detail) FROM stdin;
1	1	c4abca4ed7824f7d90124b46eaa1d13a	holdover-13939-4de4389e	idle	\N	1795491299407	1795491299439	completed	\\xffbf58a03fe77452046b07804c6bcc88d4b88b2e8d4b7ca24d273b34429980ca	\\x7b226b696e64223a2265786563757465222c226f7574636f6d65223a7b22726561736f6e223a226d6f64656c5f73746f70227d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d7d
2	1	72badca8d70b4c9ba05ee163d246532d	holdover-13939-4a2cda7b	idle	\N	1795491299457	1795491299474	suspended_client_tool	\\x984981f1934a22876a3564a0ed2e864228611e243954d2c0ae9ae95411b54fc9	\\x7b226b696e64223a2265786563757465222c226f7574636f6d65223a7b226b696e64223a2273757370656e6465645f636c69656e745f746f6f6c222c22756e74696c223a6e756c6c2c226f776564223a5b7b2263616c6c223a2263312d31222c22746f6f6c223a22706179222c226b696e64223a22617070726f76616c222c2270656e64696e67223a2265636566623238333531383834643539393733653836306666393566613034662e63312d312e31227d5d7d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a312c22746f6f6c5f63616c6c73223a317d7d
3	1	05fa1a7d2fde4c40b06b918caf47aebb	holdover-13939-e335f429	idle	\N	1795491299511	1795491299543	suspended_client_tool	\\xe9377b534344b0c64a0fb5fd75cc3b0f69791b14d18540fbbc545b6900405b72	\\x7b226b696e64223a2265786563757465222c226f7574636f6d65223a7b226b696e64223a2273757370656e6465645f636c69656e745f746f6f6c222c22756e74696c223a6e756c6c2c226f776564223a5b7b2263616c6c223a2263312d30222c22746f6f6c223a2261736b222c226b696e64223a22636c69656e745f746f6f6c222c2270656e64696e67223a2233383663343739656530323134396137393531333164353166316633396135352e63312d302e31227d5d7d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d7d
4	1	8af7f58982ba457088a4b624109f1f5a	holdover-13939-4a125172	idle	\N	1795491299555	1795491299570	suspended_until	\\xacfd0a4b328ec7091e1cd7938be7ebff85d00528910c0f077fa62cd11ad6cf76	\\x7b226b696e64223a2265786563757465222c226f7574636f6d65223a7b226b696e64223a2273757370656e6465645f756e74696c222c22756e74696c223a313739353439313330343536342c226f776564223a5b7b2263616c6c223a2263312d30222c22746f6f6c223a22736c656570222c226b696e64223a2274696d6572222c22756e74696c223a313739353439313330343536347d5d7d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a312c22746f6f6c5f63616c6c73223a317d7d
5	1	9ee10127c72e4591a40cee4b978e952b	holdover-13939-8dca00cf	idle	\N	1795491299583	1795491299606	suspended_until	\\x46f96002567de65e8f028b1f2fb2d625279616c6184cb06c551f7012b3a9721e	\\x7b226b696e64223a2265786563757465222c226f7574636f6d65223a7b22756e74696c223a313739353439313330343538332c226572726f72223a7b22636f6465223a226d6f64656c2e726174655f6c696d69746564222c2264657461696c223a22736c6f7720646f776e227d7d7d
6	1	9b972c0a47f945bf8cf817256f3508f3	holdover-13939-db864515	idle	\N	1795491299619	1795491299627	failed	\\x640069fff36b1ae25c195115d5b048cdbeeed663fd7b3406f9fd6f8feceb6fcd	\\x7b226b696e64223a2265786563757465222c226f7574636f6d65223a7b22726561736f6e223a226572726f72222c226572726f72223a7b22636f6465223a226d6f64656c2e61757468222c2264657461696c223a226e6f206b6579227d2c2273746570223a317d7d
7	1	25004c012c8249fda1aaf19b97a6052f	holdover-13939-e09660e1	idle	\N	1795491299642	1795491299917	interrupted	\\x8cef7da3c80c6ca1f54d6dd7ab0a5035c63ec7df07900a0b66399d9457328cb9	\\x7b226b696e64223a2265786563757465222c226f7574636f6d65223a7b22726561736f6e223a22757365725f61626f7274222c2273746f70706564223a22736f6674227d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a31327d2c22657374696d617465645f746f6b656e73223a31322c226d6f64656c5f63616c6c73223a317d7d
8	1	7e60551e9bf341c4b453ab032c71ed72	holdover-13939-7ff22308	idle	\N	1795491299930	1795491299951	suspended_client_tool	\\x91618e9d49cc7233e1962115980472d7f3a7e00c9f7faa450b369d9d434fce90	\\x7b226b696e64223a2265786563757465222c226f7574636f6d65223a7b226b696e64223a2273757370656e6465645f636c69656e745f746f6f6c222c22756e74696c223a6e756c6c2c226f776564223a5b7b2263616c6c223a2263312d31222c22746f6f6c223a22706179222c226b696e64223a22617070726f76616c222c2270656e64696e67223a2230396439323138663762383034313233613335313561623437663561646636612e63312d312e31227d5d7d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a312c22746f6f6c5f63616c6c73223a317d7d
8	2	935420e9f0464902a067f46bf4574bcc	holdover-13939-7ff22308	suspended	1	1795491299972	\N	\N	\N	\N
9	1	a599351b85694e489912e98909f3b494	holdover-13939-8dfafaea	idle	\N	1795491300007	1795491300022	suspended_client_tool	\\x237d4d657585c49551f5d4ed45b9c31736f483bbea87ad15e2e6930fbcb87c18	\\x7b226b696e64223a2265786563757465222c226f7574636f6d65223a7b226b696e64223a2273757370656e6465645f636c69656e745f746f6f6c222c22756e74696c223a6e756c6c2c226f776564223a5b7b2263616c6c223a2263312d30222c22746f6f6c223a226772616e74222c226b696e64223a22617070726f76616c222c2270656e64696e67223a2263396262636662306337323234303731613564663231323930613633616162302e63312d302e31227d5d7d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d7d
10	1	833dbb9eebb245068e82396ec44957fe	holdover-13939-a5e34d88	idle	\N	1795491300043	1795491300055	suspended_client_tool	\\x24776b497faf2cf57cd5db1ce93f774f2e4d14ca5d27bc68700a77ebbc791e9f	\\x7b226b696e64223a2265786563757465222c226f7574636f6d65223a7b226b696e64223a2273757370656e6465645f636c69656e745f746f6f6c222c22756e74696c223a6e756c6c2c226f776564223a5b7b2263616c6c223a2263312d31222c22746f6f6c223a22706179222c226b696e64223a22617070726f76616c222c2270656e64696e67223a2230343663383439393236613734636334626465306139303939303433653533662e63312d312e31227d5d7d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a312c22746f6f6c5f63616c6c73223a317d7d
11	1	088b9ba5427c45cf84a92efbc3e922f6	holdover-13939-73857560	idle	\N	1795491300077	\N	\N	\N	\N
12	1	33d04852c71248dea53af61437ca47e8	holdover-13939-718d26cc	idle	\N	1795491300096	\N	\N	\N	\N
13	1	db524522d78341c588e7744afb62d2d8	holdover-13939-36f6cc49	idle	\N	1795491300262	\N	\N	\N	\N
14	1	d53698618652447f870bee5882931cd7	holdover-13939-1cb8a52d	idle	\N	1795491300453	1795491300474	completed	\\xffbf58a03fe77452046b07804c6bcc88d4b88b2e8d4b7ca24d273b34429980ca	\\x7b226b696e64223a2265786563757465222c226f7574636f6d65223a7b22726561736f6e223a226d6f64656c5f73746f70227d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d7d
14	2	736e550fc84247cc8b6c2032ac61c5c8	holdover-13939-1cb8a52d	idle	\N	1795491300487	1795491300492	aborted	\\xcc2bd68a2bb5c342a54e7bc18beacb4c6f22d1c25cd131f7ca0f8d6ff133c985	\\x7b226b696e64223a2265786563757465222c226f7574636f6d65223a7b22726561736f6e223a22757365725f61626f7274222c2273746f70706564223a2261626f7274227d7d
15	1	99521a289637463a9529bfe8e15bfa37	holdover-13939-905d3b4d	idle	\N	1795491300501	1795491300515	completed	\\xffbf58a03fe77452046b07804c6bcc88d4b88b2e8d4b7ca24d273b34429980ca	\\x7b226b696e64223a2265786563757465222c226f7574636f6d65223a7b22726561736f6e223a226d6f64656c5f73746f70227d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d7d
17	1	3d4b99e1863d4b3b9281c64876733e96	holdover-13939-d5021122	idle	\N	1795491300534	1795491300551	completed	\\xffbf58a03fe77452046b07804c6bcc88d4b88b2e8d4b7ca24d273b34429980ca	\\x7b226b696e64223a2265786563757465222c226f7574636f6d65223a7b22726561736f6e223a226d6f64656c5f73746f70227d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d7d
17	2	721946d29a0246c990f1bd2186cc2d6e	holdover-13939-d5021122	idle	\N	1795491300567	1795491300583	completed	\\xffbf58a03fe77452046b07804c6bcc88d4b88b2e8d4b7ca24d273b34429980ca	\\x7b226b696e64223a2265786563757465222c226f7574636f6d65223a7b22726561736f6e223a226d6f64656c5f73746f70227d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d7d
18	1	9954de2bf3774d5baff613b0eed52cd7	holdover-13939-9a571f0e	idle	\N	1795491300589	1795491300602	completed	\\xffbf58a03fe77452046b07804c6bcc88d4b88b2e8d4b7ca24d273b34429980ca	\\x7b226b696e64223a2265786563757465222c226f7574636f6d65223a7b22726561736f6e223a226d6f64656c5f73746f70227d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d7d
18	2	982cbcf346dc48f99b595fcc9d4b348a	holdover-13939-9a571f0e	idle	\N	1795491300616	1795491300649	completed	\\xffbf58a03fe77452046b07804c6bcc88d4b88b2e8d4b7ca24d273b34429980ca	\\x7b226b696e64223a2265786563757465222c226f7574636f6d65223a7b22726561736f6e223a226d6f64656c5f73746f70227d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d7d
18	3	326e34d089b6485083925a7c8e3b4a79	holdover-13939-9a571f0e	idle	\N	1795491300669	1795491300695	completed	\\xffbf58a03fe77452046b07804c6bcc88d4b88b2e8d4b7ca24d273b34429980ca	\\x7b226b696e64223a2265786563757465222c226f7574636f6d65223a7b22726561736f6e223a226d6f64656c5f73746f70227d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d7d
18	4	2c640f57ca8b401cb88eb8b22a79302b	holdover-13939-9a571f0e	idle	\N	1795491300702	1795491300731	released	\\x9a63f534ff8a0678ecae75b61a6756f8387b37b0cf4da3e06e91d0830fd9fe94	\\x7b226b696e64223a22636f6d70616374222c226f7574636f6d65223a6e756c6c2c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d7d
20	1	c3934247a0a34bcc8542abc4cb18391c	holdover-13939-36e03615	idle	\N	1795491300777	1795491300808	suspended_client_tool	\\x9ce34102719ed2ea15cace5c4a21d9330946b150eed297bb41fa610fe0b2e4df	\\xfa000000019fb64b27d3146ec63385294a4f12de568c9727087bb7a4f1d736c24a80439bf3effe8a1630eef1de6f477e5cd632e191288e8c696cf2aae9ebce32c2be8f313e2381a07f2c02493a73512598446389127d494d2b7d50795049ad13d929c0d12b99dc3946e5d52f781c13c85c235f675cc05e0733f528f318f1761c76f95714ff537ea0974958ba1340db688050b297b102ae168be4f34261f3d81ffa0e585991298ec568fa37afc6bbcd8f3f28d921c87cab25aa3c875a28bea316c57a2ee85e75fdd75d2dc9d658e084f97c72
\.


--
-- Data for Name: session; Type: TABLE DATA; Schema: holdover; Owner: -
--

COPY holdover.session (sid, tenant, id, incarnation, created_by, queue, created_at, status, version, epoch, format, lease_worker, lease_ends, lease_granted_ms, last_claim, found, last_commit, last_commit_epoch, last_receipt, run_open, attempts, last_message, last_event, last_item, unread, inbox_seen, unseen_counted, unseen_urgent, wake_on, stream_run, stream_number, stream_last, stream_open, updated_at, alarm, interrupt_id, interrupt_kind, interrupt_reason, interrupt_at, interrupt_incarnation, interrupt_handed_to) FROM stdin;
4	acme	sleeps	\\x11d2d429d5974c0b8b742fd4632a7ef1	559034bc755741d78559201fdf68233f	tester	1795491299554	suspended	5	1	1	\N	\N	\N	8af7f58982ba457088a4b624109f1f5a	idle	c1.3	1	(5,2,1,0,f,1795491299570,1795491299570)	f	0	2	11	1	0	1	0	f	0	1	1	0	f	1795491299570	1795491304564	\N	\N	\N	\N	\N	\N
1	acme	rests	\\x86d13f7d6a3d46748b927564f66d1d5b	85ce63a74999498e8deddc26d542459b	tester	1795491299398	idle	4	1	1	\N	\N	\N	c4abca4ed7824f7d90124b46eaa1d13a	idle	c1.2	1	(4,2,1,0,f,1795491299439,1795491299439)	f	0	2	10	1	0	1	0	f	0	1	1	0	f	1795491299439	\N	\N	\N	\N	\N	\N	\N
2	acme	approval	\\xecefb28351884d59973e860ff95fa04f	4f63081a1b7e46acb63774128856c9aa	tester	1795491299457	suspended	4	1	1	\N	\N	\N	72badca8d70b4c9ba05ee163d246532d	idle	c1.2	1	(4,2,1,0,f,1795491299474,1795491299474)	f	0	2	12	1	0	1	0	f	0	1	1	0	f	1795491299474	\N	\N	\N	\N	\N	\N	\N
3	acme	client	\\x386c479ee02149a795131d51f1f39a55	01857e90f3d14607ad3623bc226c0ecc	tester	1795491299509	suspended	4	1	1	\N	\N	\N	05fa1a7d2fde4c40b06b918caf47aebb	idle	c1.2	1	(4,2,1,0,f,1795491299543,1795491299543)	f	0	2	10	1	0	1	0	f	0	1	1	0	f	1795491299543	\N	\N	\N	\N	\N	\N	\N
5	acme	backs-off	\\xfc24129915504b4fb9f2b4a73ec474d3	2ac36385e1414bd1820f62d2133e5cf7	tester	1795491299582	suspended	4	1	1	\N	\N	\N	9ee10127c72e4591a40cee4b978e952b	idle	c1.2	1	(4,1,1,0,f,1795491299606,1795491299606)	f	0	1	7	1	0	1	0	f	0	0	0	0	f	1795491299606	1795491304583	\N	\N	\N	\N	\N	\N
6	acme	failed	\\xa9fcec7a2e794c75b0be7807d41259cc	aaf57b82d364416c98be7fe38ec81752	tester	1795491299619	failed	4	1	1	\N	\N	\N	9b972c0a47f945bf8cf817256f3508f3	idle	c1.2	1	(4,1,1,0,f,1795491299627,1795491299627)	f	0	1	10	1	0	1	0	f	0	0	0	0	f	1795491299627	\N	\N	\N	\N	\N	\N	\N
7	acme	interrupted	\\x3894786528214cf198f2c7dd9955b148	bf05e613d7a349c5a215d509ec9814cd	tester	1795491299642	interrupted	4	1	1	\N	\N	\N	25004c012c8249fda1aaf19b97a6052f	idle	c1.2	1	(4,1,1,0,f,1795491299917,1795491299917)	f	0	1	9	1	0	1	0	f	0	0	0	0	f	1795491299917	\N	\N	\N	\N	\N	\N	\N
11	acme	staged	\\x0a50b7e454de463489350bbb84155ed1	b8c5a7eff23140dab112b59de358235e	tester	1795491300077	active	4	1	1	holdover-13939-73857560	1795491301077	1000	088b9ba5427c45cf84a92efbc3e922f6	idle	c1.2	1	(4,2,1,0,f,1795491300083,1795491301077)	t	0	2	9	1	0	1	0	f	0	1	1	0	f	1795491300083	1795491301077	\N	\N	\N	\N	\N	\N
8	acme	in-the-middle	\\x09d9218f7b804123a3515ab47f5adf6a	745e959316404d16800215b15b832830	tester	1795491299930	active	6	2	1	holdover-13939-7ff22308	1795491300972	1000	935420e9f0464902a067f46bf4574bcc	suspended	c2.1	2	(6,3,2,0,f,1795491299991,1795491300972)	t	0	3	16	2	0	2	0	f	0	1	1	0	f	1795491299991	1795491300972	\N	\N	\N	\N	\N	\N
9	acme	one-of-two	\\xc9bbcfb0c7224071a5df21290a63aab0	efa520320425434b8eef0d64d57b2683	tester	1795491300007	suspended	4	1	1	\N	\N	\N	a599351b85694e489912e98909f3b494	idle	c1.2	1	(4,2,1,0,f,1795491300022,1795491300022)	f	0	2	10	2	1	1	0	f	0	1	1	0	f	1795491300039	\N	\N	\N	\N	\N	\N	\N
17	acme	edited	\\x8d658801618c4500b59275ad07c26705	3785631cc1a04c8197cd6204d280347a	tester	1795491300534	idle	7	2	1	\N	\N	\N	721946d29a0246c990f1bd2186cc2d6e	idle	c2.2	2	(7,5,2,0,f,1795491300583,1795491300583)	f	0	5	21	2	0	2	0	f	0	2	1	0	f	1795491300583	\N	\N	\N	\N	\N	\N	\N
10	acme	queued	\\x046c849926a74cc4bde0a9099043e53f	1d5ae6a9a15b4c89bae325a0f4c738ab	tester	1795491300042	suspended	4	1	1	\N	\N	\N	833dbb9eebb245068e82396ec44957fe	idle	c1.2	1	(4,2,1,0,f,1795491300055,1795491300055)	f	0	2	12	2	1	1	0	f	0	1	1	0	f	1795491300065	\N	\N	\N	\N	\N	\N	\N
14	acme	aborted	\\x99ee902182234f8685d832791771945d	91ec03b2280c4c4fbb551394ad83a9d8	tester	1795491300452	aborted	6	2	1	\N	\N	\N	736e550fc84247cc8b6c2032ac61c5c8	idle	c2.1	2	(6,2,1,0,f,1795491300492,1795491300492)	f	0	2	12	1	0	1	0	f	0	1	1	0	f	1795491300492	\N	\N	\N	\N	\N	\N	\N
12	acme	mid-answer	\\xaa9b8defb99f46b6ac02b0202f6a5874	a48fd8ab7b4140fca53c19004fbb386d	tester	1795491300095	active	3	1	1	holdover-13939-718d26cc	1795491301096	1000	33d04852c71248dea53af61437ca47e8	idle	c1.1	1	(3,1,1,0,f,1795491300104,1795491301096)	t	0	1	5	1	0	1	0	f	0	1	1	1	t	1795491300104	1795491301096	\N	\N	\N	\N	\N	\N
13	acme	to-abort	\\xdacc73054ccf47c39ef4b6e90edac991	1739f14efbf446e5914288f5c7e986f4	tester	1795491300261	active	3	1	1	holdover-13939-36f6cc49	1795491301262	1000	db524522d78341c588e7744afb62d2d8	idle	c1.1	1	(3,1,1,0,f,1795491300268,1795491301262)	t	0	1	5	1	0	1	0	f	0	1	1	1	t	1795491300435	1795491301262	72361c882b5348c6b3092641223f6e4b	abort	\\x6e65766572206d696e64	1795491300424	\\xdacc73054ccf47c39ef4b6e90edac991	\N
15	acme	forked	\\x7ba49e9ecd19457592aa97afefe11373	044816e3b0294b3694cd2dfa55dce242	tester	1795491300501	idle	4	1	1	\N	\N	\N	99521a289637463a9529bfe8e15bfa37	idle	c1.2	1	(4,2,1,0,f,1795491300515,1795491300515)	f	0	2	10	1	0	1	0	f	0	1	1	0	f	1795491300515	\N	\N	\N	\N	\N	\N	\N
16	acme	fork	\\x5b7054908aa04d4f819391cc0192468d	ebba117f9be34846a2b8957425030c76	tester	1795491300523	idle	5	1	1	\N	\N	\N	\N	idle	\N	\N	\N	f	0	2	12	0	0	0	0	f	0	0	0	0	f	1795491300523	\N	\N	\N	\N	\N	\N	\N
18	acme	shortened	\\xabcc4342cfea4b68ad9f4f3d3b43e4a2	cae680c2a52a45afa8cce86e66e390f1	tester	1795491300589	idle	13	4	1	\N	\N	\N	2c640f57ca8b401cb88eb8b22a79302b	idle	c4.2	4	(13,7,4,0,f,1795491300731,1795491300731)	f	0	7	36	4	0	4	0	f	0	3	1	0	f	1795491300731	\N	\N	\N	\N	\N	\N	\N
20	sealed	sealed	\\x5788177209c54ac5ad611576ee8adad4	c262620832364c2d8fd5952501cf14ff	tester	1795491300776	suspended	4	1	1	\N	\N	\N	c3934247a0a34bcc8542abc4cb18391c	idle	c1.2	1	(4,2,1,0,f,1795491300808,1795491300808)	f	0	2	12	1	0	1	0	f	0	1	1	0	f	1795491300808	\N	\N	\N	\N	\N	\N	\N
\.


--
-- Data for Name: staged; Type: TABLE DATA; Schema: holdover; Owner: -
--

COPY holdover.staged (sid, call, digest, payload) FROM stdin;
2	c1-0	\\x35682afb245a143d5b71fc036d538ad6e67cd00c3133b3cc1495531a4de25423	\\x7b22726f6c65223a22746f6f6c222c2263616c6c223a2263312d30222c22746f6f6c223a226c6f6f6b222c22737461747573223a22646f6e65222c22636f6e74656e74223a227b7d222c226475726174696f6e5f6d73223a307d
8	c1-0	\\x35682afb245a143d5b71fc036d538ad6e67cd00c3133b3cc1495531a4de25423	\\x7b22726f6c65223a22746f6f6c222c2263616c6c223a2263312d30222c22746f6f6c223a226c6f6f6b222c22737461747573223a22646f6e65222c22636f6e74656e74223a227b7d222c226475726174696f6e5f6d73223a307d
10	c1-0	\\x35682afb245a143d5b71fc036d538ad6e67cd00c3133b3cc1495531a4de25423	\\x7b22726f6c65223a22746f6f6c222c2263616c6c223a2263312d30222c22746f6f6c223a226c6f6f6b222c22737461747573223a22646f6e65222c22636f6e74656e74223a227b7d222c226475726174696f6e5f6d73223a307d
11	c1-0	\\xfe7ddd1a192a773197cd65bb6ae0b7ddb03e025b1e8d64b342d466ce8a4a8994	\\x7b22726f6c65223a22746f6f6c222c2263616c6c223a2263312d30222c22746f6f6c223a22626f6f6b222c22737461747573223a22646f6e65222c22636f6e74656e74223a227b5c226e5c223a317d222c226475726174696f6e5f6d73223a307d
20	c1-0	\\x7b16fb88f8337396184807120b873a67e1d7d46f76167f322489c225400a81f6	\\xfa0000000143ab024da762c66bb746d8356109eb6b64ccb789d13bc6cd87cf70a5a3ef60f77ddc7dd30e667f810efe0b2cff0e9f67378b1afd050c1340834b2494c8b457b86ca6708218e778aa60ee3412a6d564a75532552e102788ed997865ed0ec2bf224475fa4d3e
\.


--
-- Data for Name: start_mark; Type: TABLE DATA; Schema: holdover; Owner: -
--

COPY holdover.start_mark (sid, call) FROM stdin;
\.


--
-- Data for Name: state; Type: TABLE DATA; Schema: holdover; Owner: -
--

COPY holdover.state (sid, digest, payload) FROM stdin;
1	\\x8180ff0fd8ddf06982f0b7e97c825900b5b03f8766eda473c008efe432b1488e	\\x7b227374617465223a7b227374617465223a22646f6e65222c22656e64696e67223a7b22726561736f6e223a226d6f64656c5f73746f70227d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a66616c73652c227374657073223a312c22616e737765726564223a747275652c22776f726b65645f6d73223a312c22636c61696d65645f6174223a313739353439313239393430387d2c2273746570223a312c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c2276696577223a7b22746f6b656e73223a327d7d
2	\\xac366172cd8beb22097086df251a2c59d7dc43c4d88b3a144b5cf3e803458b1d	\\x7b227374617465223a7b227374617465223a22636f6e6669726d696e67222c226261746368223a7b2273746570223a312c226d657373616765223a322c2263616c6c73223a5b7b226964223a2263312d30222c22746f6f6c223a226c6f6f6b222c22656666656374223a22726561645f6f6e6c79222c22617267756d656e7473223a322c2270726f66696c65223a7b226b657973223a5b5d7d2c227374617465223a7b226973223a22646f6e65227d7d2c7b226964223a2263312d31222c22746f6f6c223a22706179222c22617267756d656e7473223a322c2270726f66696c65223a7b226b657973223a5b5d7d2c22726f756e64223a312c227374617465223a7b226973223a22626c6f636b65645f6f6e5f75736572222c2270656e64696e67223a2265636566623238333531383834643539393733653836306666393566613034662e63312d312e31227d7d5d7d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a747275652c227374657073223a312c2263616c6c73223a322c22776f726b65645f6d73223a312c22636c61696d65645f6174223a313739353439313239393435387d2c2273746570223a312c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a312c22746f6f6c5f63616c6c73223a317d2c2276696577223a7b22746f6b656e73223a327d7d
3	\\x2fdd9229d6b8a4ffb95f3ff6337e16509e7b79c498dd78d254b1ad17816d7268	\\x7b227374617465223a7b227374617465223a22636f6e6669726d696e67222c226261746368223a7b2273746570223a312c226d657373616765223a322c2263616c6c73223a5b7b226964223a2263312d30222c22746f6f6c223a2261736b222c22656666656374223a226964656d706f74656e74222c2272756e735f6f6e223a22636c69656e74222c22617267756d656e7473223a322c2270726f66696c65223a7b226b657973223a5b5d7d2c22726f756e64223a312c227374617465223a7b226973223a22626c6f636b65645f6f6e5f636c69656e74222c2270656e64696e67223a2233383663343739656530323134396137393531333164353166316633396135352e63312d302e31227d7d5d7d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a747275652c227374657073223a312c2263616c6c73223a312c22636c61696d65645f6174223a313739353439313239393531317d2c2273746570223a312c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c2276696577223a7b22746f6b656e73223a327d7d
4	\\xd1e65598711a1037f49ffb23b28d0f1af4ec7e6053003515e71a6c6612c52923	\\x7b227374617465223a7b227374617465223a22636f6e6669726d696e67222c226261746368223a7b2273746570223a312c226d657373616765223a322c2263616c6c73223a5b7b226964223a2263312d30222c22746f6f6c223a22736c656570222c22656666656374223a226964656d706f74656e74222c22617267756d656e7473223a322c2270726f66696c65223a7b226b657973223a5b5d7d2c227374617465223a7b226973223a2277616974696e67222c22756e74696c223a313739353439313330343536342c226f7574707574223a22736c657074227d7d5d7d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a747275652c227374657073223a312c2263616c6c73223a312c22776f726b65645f6d73223a392c22636c61696d65645f6174223a313739353439313239393536347d2c2273746570223a312c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a312c22746f6f6c5f63616c6c73223a317d2c2276696577223a7b22746f6b656e73223a327d7d
5	\\x3c21d35f40ac9e2ada9aece82ae0f1826eb1ddf5c813e0969d2c2ddaab29478b	\\x7b227374617465223a7b227374617465223a226261636b696e675f6f6666222c2273746570223a312c22617474656d7074223a312c22756e74696c223a313739353439313330343538332c226572726f72223a7b22636f6465223a226d6f64656c2e726174655f6c696d69746564222c2264657461696c223a22736c6f7720646f776e227d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a747275652c22636c61696d65645f6174223a313739353439313239393538337d2c2273746570223a312c227573616765223a7b7d7d
6	\\x9563126d885889fb7884c71ab3a6f1165fb5f0039b5b5dbf879ae8bfc71c1cc7	\\x7b227374617465223a7b227374617465223a22646f6e65222c22656e64696e67223a7b22726561736f6e223a226572726f72222c226572726f72223a7b22636f6465223a226d6f64656c2e61757468222c2264657461696c223a226e6f206b6579227d2c2273746570223a317d2c227573616765223a7b7d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a66616c73652c22636c61696d65645f6174223a313739353439313239393631397d2c2273746570223a312c227573616765223a7b7d7d
7	\\xd581126605e6bf586f0f235f3e7794587e127eb09ba21ce095e8cc5ad7c438ab	\\x7b227374617465223a7b227374617465223a22646f6e65222c22656e64696e67223a7b22726561736f6e223a22757365725f61626f7274222c2273746f70706564223a22736f6674227d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a31327d2c22657374696d617465645f746f6b656e73223a31322c226d6f64656c5f63616c6c73223a317d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a66616c73652c22776f726b65645f6d73223a3237312c22636c61696d65645f6174223a313739353439313239393931337d2c2273746570223a312c227573616765223a7b22746f6b656e73223a7b22696e707574223a31327d2c22657374696d617465645f746f6b656e73223a31322c226d6f64656c5f63616c6c73223a317d7d
9	\\x0cabcd3c0d605a7188e24af07dae76cd03ad7ee887b4472a6c4bf2d0d2be819b	\\x7b227374617465223a7b227374617465223a22636f6e6669726d696e67222c226261746368223a7b2273746570223a312c226d657373616765223a322c2263616c6c73223a5b7b226964223a2263312d30222c22746f6f6c223a226772616e74222c22617267756d656e7473223a322c2270726f66696c65223a7b226b657973223a5b5d7d2c22726f756e64223a312c2270616e656c223a7b227465726d73223a7b22617070726f76657273223a7b226e6565646564223a327d7d2c22646967657374223a2233363333373937343266383062353162646239323036353739616637373534393131353433303739623933393963623366633331356662313939663437366538222c2261736b65645f6174223a313739353439313330303030387d2c227374617465223a7b226973223a22626c6f636b65645f6f6e5f75736572222c2270656e64696e67223a2263396262636662306337323234303731613564663231323930613633616162302e63312d302e31227d7d5d7d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a747275652c227374657073223a312c2263616c6c73223a312c22776f726b65645f6d73223a312c22636c61696d65645f6174223a313739353439313330303030387d2c2273746570223a312c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c2276696577223a7b22746f6b656e73223a327d7d
13	\\x0ba27f882622af267146b55aaf577646634da0c63725443b241113648e4a12b1	\\x7b227374617465223a7b227374617465223a227468696e6b696e67222c2273746570223a317d2c227475726e223a7b226e756d626572223a312c226f70656e223a747275652c22636c61696d65645f6174223a313739353439313330303236327d2c2273746570223a312c227573616765223a7b7d7d
15	\\x7f15b95de8a290c8db38164576b6a3a908c2ba2abc69a57ef057a655af38c042	\\x7b227374617465223a7b227374617465223a22646f6e65222c22656e64696e67223a7b22726561736f6e223a226d6f64656c5f73746f70227d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a66616c73652c227374657073223a312c22616e737765726564223a747275652c22636c61696d65645f6174223a313739353439313330303530317d2c2273746570223a312c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c2276696577223a7b22746f6b656e73223a327d7d
17	\\x3ba469eba67eb05c07f8ec042c9638aeb136f04360fd9360ff79bb287e915848	\\x7b227374617465223a7b227374617465223a22646f6e65222c22656e64696e67223a7b22726561736f6e223a226d6f64656c5f73746f70227d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a322c226f7574707574223a327d2c226d6f64656c5f63616c6c73223a327d7d2c227475726e223a7b226e756d626572223a322c226f70656e223a66616c73652c22757365645f6265666f7265223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c22626567616e223a332c227374657073223a312c22616e737765726564223a747275652c22636c61696d65645f6174223a313739353439313330303537307d2c2273746570223a322c227573616765223a7b22746f6b656e73223a7b22696e707574223a322c226f7574707574223a327d2c226d6f64656c5f63616c6c73223a327d2c2276696577223a7b226166746572223a322c22746f6b656e73223a327d7d
20	\\x93472e287458fc665af0ff57ad09d2f8787b574d0fdc4c89363e6e7b555309fd	\\xfa000000018095aebc3dcfbc34426d05cf100875ca68fe52599b66768fc803b0fe063986aff59bfc8a81bf740cb017a170e88f54f2700f1a8ee1c2da54e2a69cf734e6c9f0c8b8fdfaeb964afa03d557e7690ca185fc38de95ef72a68537aaf6dce3b54f2c98edf4e68a5f375b54ca586e4a4eb6382b170a8acd66272c8cb1d21d1bdf4c1c57c0de1240dabedfa8cb7ad1ed1b703b7ac7d01b0bb9a98c911c797dbb85243369e3c222aaf63f1e3bb3509c46dda3660c87d8486f033bbbb539b46658708ca16e62da5e10ac449e050ef27f2868703a0b7449535a7d05e487e180ed99068cdbb219460bd7190ff449c10dc22d20b07002deb59d54575d86026d3d0c206a9c4719eb2451d7320e7b2586a07e561e3c60f9ded8c7972a3f74118e62a479d12aaee505070ec03a934d07804880da81642659616fe4d8e094a30e57bb2e11865f9b694cc54f512993a108cd8ed773627ce9fbb81c
8	\\xd19feb078263f67a6ebcbd0245e61a0648f3286f4626e3a93e7406a9a08e51a5	\\x7b227374617465223a7b227374617465223a22657865637574696e67222c226261746368223a7b2273746570223a312c226d657373616765223a322c2263616c6c73223a5b7b226964223a2263312d30222c22746f6f6c223a226c6f6f6b222c22656666656374223a22726561645f6f6e6c79222c22617267756d656e7473223a322c2270726f66696c65223a7b226b657973223a5b5d7d2c227374617465223a7b226973223a22646f6e65227d7d2c7b226964223a2263312d31222c22746f6f6c223a22706179222c22617267756d656e7473223a322c2270726f66696c65223a7b226b657973223a5b5d7d2c22726f756e64223a312c22617070726f766564223a2231646434326465393238376331623661393663363137333736633064663662383330343438353738336564306234383033663161616330663131393437316135222c227374617465223a7b226973223a22707265706172696e67227d7d5d7d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a747275652c227374657073223a312c2263616c6c73223a322c22776f726b65645f6d73223a312c22636c61696d65645f6174223a313739353439313239393937357d2c2273746570223a312c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a312c22746f6f6c5f63616c6c73223a317d2c2276696577223a7b22746f6b656e73223a327d7d
10	\\x368b1f1210b81c3b4babe28372be624ed97a4b5e639f1952b1c4ce66963fbe2f	\\x7b227374617465223a7b227374617465223a22636f6e6669726d696e67222c226261746368223a7b2273746570223a312c226d657373616765223a322c2263616c6c73223a5b7b226964223a2263312d30222c22746f6f6c223a226c6f6f6b222c22656666656374223a22726561645f6f6e6c79222c22617267756d656e7473223a322c2270726f66696c65223a7b226b657973223a5b5d7d2c227374617465223a7b226973223a22646f6e65227d7d2c7b226964223a2263312d31222c22746f6f6c223a22706179222c22617267756d656e7473223a322c2270726f66696c65223a7b226b657973223a5b5d7d2c22726f756e64223a312c227374617465223a7b226973223a22626c6f636b65645f6f6e5f75736572222c2270656e64696e67223a2230343663383439393236613734636334626465306139303939303433653533662e63312d312e31227d7d5d7d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a747275652c227374657073223a312c2263616c6c73223a322c22776f726b65645f6d73223a312c22636c61696d65645f6174223a313739353439313330303034347d2c2273746570223a312c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a312c22746f6f6c5f63616c6c73223a317d2c2276696577223a7b22746f6b656e73223a327d7d
11	\\x36af92b0a7c8176010eb77802504c2be106ff27eb125d6d4c4a2816bf5d08acf	\\x7b227374617465223a7b227374617465223a22657865637574696e67222c226261746368223a7b2273746570223a312c226d657373616765223a322c2263616c6c73223a5b7b226964223a2263312d30222c22746f6f6c223a22626f6f6b222c22656666656374223a226964656d706f74656e74222c22617267756d656e7473223a322c2270726f66696c65223a7b226b657973223a5b5d7d2c227374617465223a7b226973223a22707265706172696e67227d7d2c7b226964223a2263312d31222c22746f6f6c223a22686f6c64222c22617267756d656e7473223a322c2270726f66696c65223a7b226b657973223a5b5d7d2c227374617465223a7b226973223a22707265706172696e67227d7d5d7d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a747275652c227374657073223a312c2263616c6c73223a322c22636c61696d65645f6174223a313739353439313330303037377d2c2273746570223a312c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c2276696577223a7b22746f6b656e73223a327d7d
16	\\x7f15b95de8a290c8db38164576b6a3a908c2ba2abc69a57ef057a655af38c042	\\x7b227374617465223a7b227374617465223a22646f6e65222c22656e64696e67223a7b22726561736f6e223a226d6f64656c5f73746f70227d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a66616c73652c227374657073223a312c22616e737765726564223a747275652c22636c61696d65645f6174223a313739353439313330303530317d2c2273746570223a312c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c2276696577223a7b22746f6b656e73223a327d7d
12	\\xcce54ccfea947681d2906637388c04c3299b81e01cac693b3d90ac92d8bd36c0	\\x7b227374617465223a7b227374617465223a227468696e6b696e67222c2273746570223a317d2c227475726e223a7b226e756d626572223a312c226f70656e223a747275652c22636c61696d65645f6174223a313739353439313330303039367d2c2273746570223a312c227573616765223a7b7d7d
14	\\xf790cd066b94da8fa7f9ebeb28c0927a3b313a52823a6f4a6482c01dbbda6d5e	\\x7b227374617465223a7b227374617465223a22646f6e65222c22656e64696e67223a7b22726561736f6e223a22757365725f61626f7274222c2273746f70706564223a2261626f7274227d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d7d2c227475726e223a7b226e756d626572223a312c226f70656e223a66616c73652c227374657073223a312c22616e737765726564223a747275652c22776f726b65645f6d73223a33342c22636c61696d65645f6174223a313739353439313330303438377d2c2273746570223a312c227573616765223a7b22746f6b656e73223a7b22696e707574223a312c226f7574707574223a317d2c226d6f64656c5f63616c6c73223a317d2c2276696577223a7b22746f6b656e73223a327d7d
18	\\x4f63d6a0500421fad9ea55c6864c54f6a8165fc88534f88c16321f0dde71b100	\\x7b227374617465223a7b227374617465223a22646f6e65222c22656e64696e67223a7b22726561736f6e223a226d6f64656c5f73746f70227d2c227573616765223a7b22746f6b656e73223a7b22696e707574223a342c226f7574707574223a347d2c226d6f64656c5f63616c6c73223a347d7d2c227475726e223a7b226e756d626572223a332c226f70656e223a66616c73652c22757365645f6265666f7265223a7b22746f6b656e73223a7b22696e707574223a322c226f7574707574223a327d2c226d6f64656c5f63616c6c73223a327d2c22626567616e223a342c227365656e5f6265666f7265223a7b22746f6b656e73223a327d2c227374657073223a312c22616e737765726564223a747275652c22776f726b65645f6d73223a332c22636c61696d65645f6174223a313739353439313330303637327d2c2273746570223a332c227573616765223a7b22746f6b656e73223a7b22696e707574223a342c226f7574707574223a347d2c226d6f64656c5f63616c6c73223a347d2c2276696577223a7b2273756d6d617279223a372c226b657074223a5b7b2266726f6d223a352c22746f223a367d5d2c226166746572223a372c22746f6b656e73223a317d7d
\.


--
-- Data for Name: tombstone; Type: TABLE DATA; Schema: holdover; Owner: -
--

COPY holdover.tombstone (tid, tenant, id, incarnation, operation, at) FROM stdin;
1	acme	deleted	\\x32bcfa7fbaec4929b0cecffc68dc8335	474fa5ee131f4de493adb9b0cab502a6	1795491300760
\.


--
-- Name: pending_pid_seq; Type: SEQUENCE SET; Schema: holdover; Owner: -
--

SELECT pg_catalog.setval('holdover.pending_pid_seq', 6, true);


--
-- Name: session_sid_seq; Type: SEQUENCE SET; Schema: holdover; Owner: -
--

SELECT pg_catalog.setval('holdover.session_sid_seq', 20, true);


--
-- Name: tombstone_tid_seq; Type: SEQUENCE SET; Schema: holdover; Owner: -
--

SELECT pg_catalog.setval('holdover.tombstone_tid_seq', 1, true);


--
-- Name: checkpoint checkpoint_pkey; Type: CONSTRAINT; Schema: holdover; Owner: -
--

ALTER TABLE ONLY holdover.checkpoint
    ADD CONSTRAINT checkpoint_pkey PRIMARY KEY (sid, id);


--
-- Name: definition definition_pkey; Type: CONSTRAINT; Schema: holdover; Owner: -
--

ALTER TABLE ONLY holdover.definition
    ADD CONSTRAINT definition_pkey PRIMARY KEY (sid);


--
-- Name: delta delta_pkey; Type: CONSTRAINT; Schema: holdover; Owner: -
--

ALTER TABLE ONLY holdover.delta
    ADD CONSTRAINT delta_pkey PRIMARY KEY (sid, place);


--
-- Name: event event_pkey; Type: CONSTRAINT; Schema: holdover; Owner: -
--

ALTER TABLE ONLY holdover.event
    ADD CONSTRAINT event_pkey PRIMARY KEY (sid, seq);


--
-- Name: item item_pkey; Type: CONSTRAINT; Schema: holdover; Owner: -
--

ALTER TABLE ONLY holdover.item
    ADD CONSTRAINT item_pkey PRIMARY KEY (sid, key);


--
-- Name: label label_pkey; Type: CONSTRAINT; Schema: holdover; Owner: -
--

ALTER TABLE ONLY holdover.label
    ADD CONSTRAINT label_pkey PRIMARY KEY (sid, name);


--
-- Name: mark mark_pkey; Type: CONSTRAINT; Schema: holdover; Owner: -
--

ALTER TABLE ONLY holdover.mark
    ADD CONSTRAINT mark_pkey PRIMARY KEY (one);


--
-- Name: message message_pkey; Type: CONSTRAINT; Schema: holdover; Owner: -
--

ALTER TABLE ONLY holdover.message
    ADD CONSTRAINT message_pkey PRIMARY KEY (sid, seq);


--
-- Name: opened opened_pkey; Type: CONSTRAINT; Schema: holdover; Owner: -
--

ALTER TABLE ONLY holdover.opened
    ADD CONSTRAINT opened_pkey PRIMARY KEY (sid, id);


--
-- Name: pending pending_pkey; Type: CONSTRAINT; Schema: holdover; Owner: -
--

ALTER TABLE ONLY holdover.pending
    ADD CONSTRAINT pending_pkey PRIMARY KEY (sid, id);


--
-- Name: program program_pkey; Type: CONSTRAINT; Schema: holdover; Owner: -
--

ALTER TABLE ONLY holdover.program
    ADD CONSTRAINT program_pkey PRIMARY KEY (tag);


--
-- Name: run run_pkey; Type: CONSTRAINT; Schema: holdover; Owner: -
--

ALTER TABLE ONLY holdover.run
    ADD CONSTRAINT run_pkey PRIMARY KEY (sid, epoch);


--
-- Name: session session_key; Type: CONSTRAINT; Schema: holdover; Owner: -
--

ALTER TABLE ONLY holdover.session
    ADD CONSTRAINT session_key UNIQUE (tenant, id);


--
-- Name: session session_pkey; Type: CONSTRAINT; Schema: holdover; Owner: -
--

ALTER TABLE ONLY holdover.session
    ADD CONSTRAINT session_pkey PRIMARY KEY (sid);


--
-- Name: staged staged_pkey; Type: CONSTRAINT; Schema: holdover; Owner: -
--

ALTER TABLE ONLY holdover.staged
    ADD CONSTRAINT staged_pkey PRIMARY KEY (sid, call);


--
-- Name: start_mark start_mark_pkey; Type: CONSTRAINT; Schema: holdover; Owner: -
--

ALTER TABLE ONLY holdover.start_mark
    ADD CONSTRAINT start_mark_pkey PRIMARY KEY (sid, call);


--
-- Name: state state_pkey; Type: CONSTRAINT; Schema: holdover; Owner: -
--

ALTER TABLE ONLY holdover.state
    ADD CONSTRAINT state_pkey PRIMARY KEY (sid);


--
-- Name: tombstone tombstone_pkey; Type: CONSTRAINT; Schema: holdover; Owner: -
--

ALTER TABLE ONLY holdover.tombstone
    ADD CONSTRAINT tombstone_pkey PRIMARY KEY (tid);


--
-- Name: item_unread; Type: INDEX; Schema: holdover; Owner: -
--

CREATE UNIQUE INDEX item_unread ON holdover.item USING btree (sid, seq) WHERE (payload IS NOT NULL);


--
-- Name: pending_soonest; Type: INDEX; Schema: holdover; Owner: -
--

CREATE INDEX pending_soonest ON holdover.pending USING btree (tenant, endless, deadline, session, id);


--
-- Name: session_due; Type: INDEX; Schema: holdover; Owner: -
--

CREATE INDEX session_due ON holdover.session USING btree (queue, alarm, tenant, id) WHERE (alarm IS NOT NULL);


--
-- Name: session_due_interrupted; Type: INDEX; Schema: holdover; Owner: -
--

CREATE INDEX session_due_interrupted ON holdover.session USING btree (alarm, tenant, id) WHERE ((alarm IS NOT NULL) AND (interrupt_id IS NOT NULL));


--
-- Name: session_newest; Type: INDEX; Schema: holdover; Owner: -
--

CREATE INDEX session_newest ON holdover.session USING btree (tenant, created_at, id);


--
-- Name: session_resting; Type: INDEX; Schema: holdover; Owner: -
--

CREATE INDEX session_resting ON holdover.session USING btree (resting_since, tenant, id) WHERE (resting_since IS NOT NULL);


--
-- Name: tombstone_key; Type: INDEX; Schema: holdover; Owner: -
--

CREATE INDEX tombstone_key ON holdover.tombstone USING btree (tenant, id);


--
-- PostgreSQL database dump complete
--


