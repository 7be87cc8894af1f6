-- KEYS[1] holds what is fixed when a store is made. Makes it if it is not there, or changes it if that is asked for and
-- it is the one that was seen; and answers it.
local format, partitions, incarnation, what, seen = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

local found = redis.call('HMGET', KEYS[1], 'format', 'incarnation')
if not found[1] then
  redis.call('HSET', KEYS[1], 'format', format, 'partitions', partitions, 'incarnation', incarnation, 'whole', '0',
    'lives', '1', 'labels', '1')
elseif found[2] ~= seen then
  -- Somebody else has changed it.
elseif what == 'renew' then
  -- Given up is what was lost.
  redis.call('HSET', KEYS[1], 'incarnation', incarnation, 'whole', '0')
elseif what == 'raise' and tonumber(found[1]) < tonumber(format) then
  -- From an older format. From here on no older version opens it. What carries the mark that it had is to be updated.
  redis.call('HSET', KEYS[1], 'format', format, 'incarnation', incarnation, 'whole', '0', 'raised_from', seen)
  if tonumber(found[1]) < 2 then redis.call('HDEL', KEYS[1], 'lives') end
  redis.call('HDEL', KEYS[1], 'labels')
elseif what == 'whole' then
  redis.call('HSET', KEYS[1], 'whole', '1')
  redis.call('HDEL', KEYS[1], 'raised_from')
elseif what == 'indexed' then
  redis.call('HSET', KEYS[1], 'lives', '1', 'labels', '1')
end
return redis.call('HMGET', KEYS[1], 'format', 'partitions', 'incarnation', 'whole', 'raised_from', 'lives',
  'labels')
