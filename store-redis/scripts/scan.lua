-- A step of a walk over every key of this partition, wherever the server keeps it: the next cursor, and keys.
local cursor, count = text(), number()
local pattern = string.gsub(tag, '[%[%]%*%?\\]', '\\%0') .. ':*'
return redis.call('SCAN', cursor, 'MATCH', pattern, 'COUNT', count)
