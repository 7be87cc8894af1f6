-- Messages by ranges, in the order of the ranges, as far as they go into one page: at most 1000 and 8 MiB, but at
-- least one if there is one. No row: there is no such session. `cut_range` and `cut_seq` say before which message
-- of which range (from 0) the page ended.
CREATE FUNCTION holdover.read_messages(p_tenant text, p_id text, p_from bigint[], p_to bigint[])
RETURNS TABLE (
    seq bigint[], at bigint[], digest bytea[], payload bytea[], cut_range bigint, cut_seq bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    owner bigint;
    message record;
    places bigint[] := '{}';
    ranges bigint[] := '{}';
    total bigint := 0;
BEGIN
    SELECT s.sid INTO owner FROM holdover.session s WHERE s.tenant = p_tenant AND s.id = p_id;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    <<pages>>
    FOR nth IN 1 .. cardinality(p_from) LOOP
        FOR message IN
            SELECT m.seq, octet_length(m.payload) AS bytes FROM holdover.message m
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
        JOIN holdover.message m ON m.sid = owner AND m.seq = p.seq;
    RETURN NEXT;
END $$;
