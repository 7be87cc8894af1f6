-- Removes what belongs to the program: views, functions, and the types that no table has.
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
