-- Open pending calls by kind, in the order of `pending_soonest`: a list of one kind reads no calls of other kinds. Programs of
-- version 5 go on: the server keeps the index for their writes, too.
-- Kind and tenant are one column, so that no other index serves a statement that names both. Names of kinds contain no space.
CREATE INDEX pending_kind ON holdover.pending ((kind || ' ' || tenant), endless, deadline, session, id);
