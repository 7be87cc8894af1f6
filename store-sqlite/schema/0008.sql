-- Sessions that were removed, and of which rows are left: their row in `session` is gone, so nobody finds these.
CREATE TABLE holdover_removed (
    sid INTEGER PRIMARY KEY
) STRICT;
