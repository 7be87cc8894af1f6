-- KEYS[1] holds what is fixed when a store is made. Makes it if it is not there, or gives it another incarnation
-- if that is asked for, or says that every partition is marked; and answers it.
local format, partitions, incarnation, what = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local found = redis.call('HMGET', KEYS[1], 'format', 'partitions', 'incarnation', 'whole')
if not found[1] then
  redis.call('HSET', KEYS[1], 'format', format, 'partitions', partitions, 'incarnation', incarnation, 'whole', '0')
elseif what == 'renew' then
  redis.call('HSET', KEYS[1], 'incarnation', incarnation, 'whole', '0')
elseif what == 'whole' and found[3] == incarnation then
  redis.call('HSET', KEYS[1], 'whole', '1')
end
return redis.call('HMGET', KEYS[1], 'format', 'partitions', 'incarnation', 'whole')
