-- Sessions with an alarm, in the order in which they are claimed: of each queue and format soonest first, and tenant by
-- tenant, each soonest first. One with an interrupt waiting is due in every queue and whatever its format, and stands by
-- itself.
DROP INDEX session_due;
DROP INDEX session_due_interrupted;
CREATE INDEX session_due ON session (queue, format, alarm, tenant, id)
    WHERE alarm IS NOT NULL AND interrupt IS NULL;
CREATE INDEX session_turn ON session (queue, format, tenant, alarm, id)
    WHERE alarm IS NOT NULL AND interrupt IS NULL;
CREATE INDEX session_due_interrupted ON session (alarm, tenant, id)
    WHERE alarm IS NOT NULL AND interrupt IS NOT NULL;
CREATE INDEX session_turn_interrupted ON session (tenant, alarm, id)
    WHERE alarm IS NOT NULL AND interrupt IS NOT NULL;

-- The newest interrupt that waits no more: if it is asked for again, it stops nothing.
ALTER TABLE session ADD COLUMN last_interrupt TEXT;

-- The session that lives a life: a pending call names it, and so do those who answer.
CREATE INDEX session_life ON session (tenant, incarnation);
