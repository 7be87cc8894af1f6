-- Whether a fence may write: its incarnation, the newest epoch, not released. Whether the lease still runs does
-- not matter.
CREATE FUNCTION holdover.admits(session holdover.session, p_incarnation bytea, p_epoch bigint)
RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT session.incarnation = p_incarnation AND session.epoch = p_epoch AND session.status = 'active'
        AND session.lease_ends IS NOT NULL
$$;
