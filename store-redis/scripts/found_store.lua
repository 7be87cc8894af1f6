-- KEYS[1] holds the fixed parameters of a store. Creates them if there are none, or makes the given change if the
-- store still has the incarnation that was seen. Returns the parameters.
local format, partitions, incarnation, what, seen = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

local found = redis.call('HMGET', KEYS[1], 'format', 'incarnation')
if not found[1] then
  redis.call('HSET', KEYS[1], 'format', format, 'partitions', partitions, 'incarnation', incarnation, 'whole', '0',
    'lives', '1', 'labels', '1', 'kinds', '1')
elseif found[2] ~= seen then
  -- Another process has changed the parameters.
elseif what == 'renew' then
  -- The lost data is given up.
  redis.call('HSET', KEYS[1], 'incarnation', incarnation, 'whole', '0')
elseif what == 'lost' then
  -- What is left may be of an earlier format. No index counts as complete until a rebuild.
  redis.call('HDEL', KEYS[1], 'lives', 'labels', 'kinds')
elseif what == 'raise' and tonumber(found[1]) < tonumber(format) then
  -- The store has an older format. From now on, no older version opens it. Partitions that carry its previous mark
  -- are to be updated.
  redis.call('HSET', KEYS[1], 'format', format, 'incarnation', incarnation, 'whole', '0', 'raised_from', seen)
  if tonumber(found[1]) < 2 then redis.call('HDEL', KEYS[1], 'lives') end
  if tonumber(found[1]) < 3 then redis.call('HDEL', KEYS[1], 'labels') end
  redis.call('HDEL', KEYS[1], 'kinds')
elseif what == 'whole' then
  redis.call('HSET', KEYS[1], 'whole', '1')
  redis.call('HDEL', KEYS[1], 'raised_from')
elseif what == 'indexed' then
  redis.call('HSET', KEYS[1], 'lives', '1', 'labels', '1', 'kinds', '1')
end
return redis.call('HMGET', KEYS[1], 'format', 'partitions', 'incarnation', 'whole', 'raised_from', 'lives',
  'labels', 'kinds')
