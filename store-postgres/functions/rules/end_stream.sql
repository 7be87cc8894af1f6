-- Ends the stream of this run and number, and any before it. A later one runs on.
CREATE FUNCTION holdover.end_stream(session holdover.session, p_run bigint, p_number bigint)
RETURNS holdover.session LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF (session.stream_run, session.stream_number) < (p_run, p_number) THEN
        session.stream_run := p_run;
        session.stream_number := p_number;
        session.stream_last := 0;
        session.stream_open := false;
    ELSIF (session.stream_run, session.stream_number) = (p_run, p_number) THEN
        session.stream_open := false;
    END IF;
    RETURN session;
END $$;
