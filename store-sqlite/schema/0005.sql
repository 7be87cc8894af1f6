-- Every write of a session replaces a random token on its row: whoever decided on an older one is told so. The name of a
-- column changes with it, so that a program that knows no tokens can write nothing any more.
ALTER TABLE session RENAME COLUMN created_by TO operation;
ALTER TABLE session ADD COLUMN token INTEGER NOT NULL DEFAULT 0;
-- Of a key without a session the newest tombstone has the token.
ALTER TABLE tombstone ADD COLUMN token INTEGER NOT NULL DEFAULT 0;
CREATE INDEX tombstone_age ON tombstone (at);
