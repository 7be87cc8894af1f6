-- Reads a part of what is copied: messages or events upwards after `from`, checkpoints downwards before it.
local incarnation, what = args.text(), args.text()
local from, to = args.number(), args.number()
local most, bytes = args.number(), args.number()

local row = rows.load(KEYS[2])
if not row or row.incarnation ~= incarnation then return { 'no_source' } end
local places
if what == 'checkpoints' then
  places = redis.call(
    'ZREVRANGEBYSCORE', rows.own(row, 'restorable'), '(' .. int(from), '-inf', 'LIMIT', 0, most)
else
  places = rows.numbers(from + 1, to, most)
end
return { 'found', (rows.fields(rows.own(row, what), places, bytes)) }
