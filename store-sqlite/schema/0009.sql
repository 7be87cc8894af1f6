-- Open pending calls by kind, in the order of `pending_soonest`: a list of one kind reads no calls of other kinds.
CREATE INDEX pending_kind ON pending (tenant, kind, endless, deadline, session, id);
