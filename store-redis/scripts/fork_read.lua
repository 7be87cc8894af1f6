-- Reads a part of the rows that a fork copies from an incarnation of its source (KEYS[2]): messages or events upwards
-- after `from`, or checkpoints downwards before it. Returns alternating numbers and records.
local life, what = text(), text()
local from, to = number(), number()
local most, bytes = number(), number()

if redis.call('HGET', KEYS[2], 'life') ~= life then return { 'no_source' } end
local numbers = {}
if what == 'checkpoints' then
  numbers = redis.call('ZREVRANGEBYSCORE', tag .. ':' .. life .. ':restorable', '(' .. int(from), '-inf',
    'LIMIT', 0, most)
else
  for number = from + 1, math.min(to, from + most) do numbers[#numbers + 1] = int(number) end
end
local found = {}
for _, field in ipairs(numbers) do
  local value = redis.call('HGET', tag .. ':' .. life .. ':' .. what, field)
  if value then
    found[#found + 1] = field
    found[#found + 1] = value
    bytes = bytes - #value
    if bytes < 0 then break end
  end
end
return { 'found', found }
