-- Writes a part of what is copied into a life that nobody sees yet. It ends by itself when nobody works on it.
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
