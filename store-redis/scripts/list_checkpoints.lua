-- Lists the checkpoints of a session before one, newest first: numbers and records in turn.
local before, only = args.optional_number(), args.optional_number()
local most, bytes = args.number(), args.number()

local row = rows.load(KEYS[2])
if not row then return { 'not_found' } end
local high = before and '(' .. int(before) or '+inf'
local ids = redis.call('ZREVRANGEBYSCORE', rows.own(row, 'restorable'), high, '-inf', 'LIMIT', 0, most + 1)
if only then
  ids = {}
  if not before or only < before then ids = { int(only) } end
end
local read, all = rows.fields(rows.own(row, 'checkpoints'), ids, bytes)
return { 'found', row.incarnation, read, text(all) }
