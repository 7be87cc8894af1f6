-- Reads a checkpoint of the source, and how many there are up to it.
local incarnation, at = args.text(), args.number()

local row = rows.load(KEYS[2])
if not row or row.incarnation ~= incarnation then return { 'no_source' } end
local checkpoint = redis.call('HGET', rows.own(row, 'checkpoints'), int(at))
if not checkpoint then return { 'no_checkpoint' } end
return { 'found', checkpoint, redis.call('ZCOUNT', rows.own(row, 'restorable'), '-inf', int(at)) }
