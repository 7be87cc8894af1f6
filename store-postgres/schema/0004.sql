-- What is due is found along two indexes: by alarm, and by tenant, so that tenants can take turns. Before the alarm come
-- queue and format, so that no worker comes by sessions that it may not claim. A session with an interrupt waiting is due in
-- every queue, whatever its format: those are in indexes of their own.
--
-- Every `sid` is above 0. A query that does not say so cannot use an index by alarm: where it names one tenant, both would
-- have its rows in order, and while there is little in the table they would look the same.
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

-- The newest interrupt that waits no more: if it is asked for again, it stops nothing.
ALTER TABLE holdover.session ADD COLUMN last_interrupt text COLLATE "C";

-- The session that lives a life: a pending call names it, and so do those who answer.
CREATE INDEX session_life ON holdover.session (tenant, incarnation);
