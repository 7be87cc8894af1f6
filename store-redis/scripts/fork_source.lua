-- Reads the incarnation of a fork's source (KEYS[2]) and the number of its checkpoints up to a given one, if that
-- checkpoint exists.
local last = number()

local row = redis.call('HMGET', KEYS[2], 'incarnation', 'life')
if not row[1] or not row[2] then return { 'no_source' } end
local restorable = tag .. ':' .. row[2] .. ':restorable'
if not redis.call('ZSCORE', restorable, int(last)) then return { 'no_source' } end
local count = redis.call('ZCOUNT', restorable, '-inf', int(last))
return { 'found', row[1], row[2], int(count) }
