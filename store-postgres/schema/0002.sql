-- The names of each program's functions contain a tag of that program, so that the functions of several versions
-- exist side by side. The functions of version 1 have no tag, and are removed.
DO $$
DECLARE
    old record;
    own oid := (SELECT c.relnamespace FROM pg_class c WHERE c.oid = 'holdover.session'::regclass);
BEGIN
    FOR old IN SELECT c.oid::regclass AS name FROM pg_class c WHERE c.relnamespace = own AND c.relkind = 'v' LOOP
        EXECUTE format('DROP VIEW IF EXISTS %s CASCADE', old.name);
    END LOOP;
    FOR old IN SELECT p.oid::regprocedure AS name FROM pg_proc p WHERE p.pronamespace = own LOOP
        EXECUTE format('DROP FUNCTION IF EXISTS %s CASCADE', old.name);
    END LOOP;
    FOR old IN SELECT t.oid::regtype AS name FROM pg_type t JOIN pg_class c ON c.oid = t.typrelid
        WHERE t.typnamespace = own AND c.relkind = 'c' AND t.typname <> 'receipt' LOOP
        EXECUTE format('DROP TYPE IF EXISTS %s CASCADE', old.name);
    END LOOP;
END $$;

ALTER TABLE holdover.mark DROP COLUMN IF EXISTS functions;

-- The programs whose functions exist here, by their tags, and the day on which each last opened the store.
CREATE TABLE holdover.program (
    tag       text COLLATE "C" PRIMARY KEY,
    opened_at timestamptz NOT NULL
);

-- Removes the functions and types whose names end with this tag.
CREATE FUNCTION holdover.remove_program(p_tag text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    old record;
    own oid := (SELECT c.relnamespace FROM pg_class c WHERE c.oid = 'holdover.program'::regclass);
BEGIN
    FOR old IN SELECT p.oid::regprocedure AS name FROM pg_proc p
        WHERE p.pronamespace = own AND p.proname ~ ('_' || p_tag || '$') LOOP
        EXECUTE format('DROP FUNCTION IF EXISTS %s CASCADE', old.name);
    END LOOP;
    FOR old IN SELECT t.oid::regtype AS name FROM pg_type t JOIN pg_class c ON c.oid = t.typrelid
        WHERE t.typnamespace = own AND c.relkind = 'c' AND t.typname ~ ('_' || p_tag || '$') LOOP
        EXECUTE format('DROP TYPE IF EXISTS %s CASCADE', old.name);
    END LOOP;
    DELETE FROM holdover.program p WHERE p.tag = p_tag;
END $$;
