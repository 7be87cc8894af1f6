-- Makes one step of a walk over all keys of the server. Returns the next cursor, and keys of this partition.
local cursor, count = text(), number()
local pattern = string.gsub(tag, '[%[%]%*%?\\]', '\\%0') .. ':*'
return redis.call('SCAN', cursor, 'MATCH', pattern, 'COUNT', count)
