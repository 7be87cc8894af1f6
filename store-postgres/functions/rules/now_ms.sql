-- The store's clock. Read after waits: it goes on within a transaction.
CREATE FUNCTION holdover.now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
$$;
