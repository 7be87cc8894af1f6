-- Due sessions are found along two indexes: by alarm, and by tenant, so that tenants can take turns. Queue and format
-- come before the alarm, so that a worker does not read sessions that it may not claim. A session with a waiting
-- interrupt is due in every queue, whatever its format. Such sessions have indexes of their own.
--
-- Every `sid` is above 0. A query without this condition cannot use an index by alarm. If it names one tenant, both
-- indexes would have its rows in order, and would cost the same while the table is small.
DROP INDEX holdover.session_due;
DROP INDEX holdover.session_due_interrupted;
CREATE INDEX session_turn ON holdover.session (queue, format, tenant, alarm, id)
    WHERE alarm IS NOT NULL AND interrupt_id IS NULL;
CREATE INDEX session_alarm ON holdover.session (queue, format, alarm, tenant, id)
    WHERE alarm IS NOT NULL AND interrupt_id IS NULL AND sid > 0;
CREATE INDEX session_turn_interrupted ON holdover.session (tenant, alarm, id)
    WHERE alarm IS NOT NULL AND interrupt_id IS NOT NULL;
CREATE INDEX session_alarm_interrupted ON holdover.session (alarm, tenant, id)
    WHERE alarm IS NOT NULL AND interrupt_id IS NOT NULL AND sid > 0;

-- The newest interrupt that no longer waits. If it is requested again, it stops nothing.
ALTER TABLE holdover.session ADD COLUMN last_interrupt text COLLATE "C";

-- Finds a session by its incarnation, which a pending call names, and also those who answer it.
CREATE INDEX session_life ON holdover.session (tenant, incarnation);
