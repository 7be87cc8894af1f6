-- Writes a part of a copy into an incarnation that is not visible yet. Its keys expire unless the fork is finished in
-- time.
local life, ends, what = text(), number(), text()
local count = number()
local hash, restorable = tag .. ':' .. life .. ':' .. what, tag .. ':' .. life .. ':restorable'

redis.call('HLEN', hash)
redis.call('ZCARD', restorable)

for _ = 1, count do
  local field, value = text(), text()
  redis.call('HSET', hash, field, value)
  if what == 'checkpoints' then redis.call('ZADD', restorable, field, field) end
end
redis.call('EXPIRE', hash, ends)
if what == 'checkpoints' then redis.call('EXPIRE', restorable, ends) end
return { 'written' }
