-- Open pending calls by kind, in the order of `pending_soonest`: a list of one kind reads no calls of other kinds. Programs of
-- version 5 go on: the server keeps the index for their writes, too.
CREATE INDEX pending_kind ON holdover.pending (tenant, kind, endless, deadline, session, id);
