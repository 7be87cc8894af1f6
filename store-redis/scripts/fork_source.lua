-- Reads which life of the source (KEYS[2]) is there, and how many checkpoints it has up to one, if it has that one.
local last = number()

local row = redis.call('HMGET', KEYS[2], 'incarnation', 'life')
if not row[1] or not row[2] then return { 'no_source' } end
local restorable = tag .. ':' .. row[2] .. ':restorable'
if not redis.call('ZSCORE', restorable, int(last)) then return { 'no_source' } end
local count = redis.call('ZCOUNT', restorable, '-inf', int(last))
return { 'found', row[1], row[2], int(count) }
