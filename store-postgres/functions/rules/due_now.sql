-- At most `p_limit` sessions whose alarm has rung, soonest alarm first, ties by key, after this place: one walk
-- along an index for each queue, and one for those with an interrupt waiting, which are due in every queue.
-- No queues: all there are, found by one step along the index for each.
CREATE FUNCTION holdover.due_now(
    p_queues text[], p_newest_format bigint, p_only_tenant text, p_now bigint,
    p_alarm bigint, p_tenant text, p_id text, p_limit bigint)
RETURNS TABLE (sid bigint, alarm bigint, tenant text, id text) LANGUAGE sql VOLATILE AS $$
    WITH RECURSIVE with_alarms (queue) AS (
        (SELECT s.queue FROM holdover.session s WHERE p_queues IS NULL AND s.alarm IS NOT NULL
            ORDER BY s.queue LIMIT 1)
        UNION ALL
        SELECT (SELECT s.queue FROM holdover.session s WHERE s.alarm IS NOT NULL AND s.queue > w.queue
            ORDER BY s.queue LIMIT 1)
        FROM with_alarms w WHERE w.queue IS NOT NULL
    ), served (queue) AS (
        SELECT w.queue FROM with_alarms w WHERE w.queue IS NOT NULL
        UNION SELECT q.queue COLLATE "C" FROM unnest(p_queues) AS q (queue)
    )
    SELECT d.sid, d.alarm, d.tenant, d.id FROM served q CROSS JOIN LATERAL (
        SELECT s.sid, s.alarm, s.tenant, s.id FROM holdover.session s
        WHERE s.queue = q.queue AND s.alarm IS NOT NULL AND s.alarm <= p_now
            AND (s.alarm, s.tenant, s.id) > (p_alarm, p_tenant, p_id)
            AND s.status <> 'aborted' AND (s.lease_ends IS NULL OR s.lease_ends <= p_now)
            AND s.format <= p_newest_format AND (p_only_tenant IS NULL OR s.tenant = p_only_tenant)
        ORDER BY s.alarm, s.tenant, s.id LIMIT p_limit
    ) d
    UNION
    (SELECT s.sid, s.alarm, s.tenant, s.id FROM holdover.session s
        WHERE s.alarm IS NOT NULL AND s.interrupt_id IS NOT NULL AND s.alarm <= p_now
            AND (s.alarm, s.tenant, s.id) > (p_alarm, p_tenant, p_id)
            AND s.status <> 'aborted' AND (s.lease_ends IS NULL OR s.lease_ends <= p_now)
            AND (p_only_tenant IS NULL OR s.tenant = p_only_tenant)
        ORDER BY s.alarm, s.tenant, s.id LIMIT p_limit)
    ORDER BY 2, 3, 4 LIMIT p_limit
$$;
