-- Reads as much as possible of a session (KEYS[2]), to mend or remove it. Returns the clock, the type of the row's
-- key, the fields of the row, the ids and facts of the open pending calls, and the labels. A part that cannot be read
-- is replaced by a text.
local kind = redis.call('TYPE', KEYS[2]).ok
if kind ~= 'hash' then return { int(now), kind } end
local flat, life = redis.call('HGETALL', KEYS[2]), nil
for index = 1, #flat, 2 do
  if flat[index] == 'life' then life = flat[index + 1] end
end
local labels = redis.pcall('HGETALL', tag .. ':' .. (life or '') .. ':labels')
if labels.err then labels = 'torn' end
local open = redis.pcall('ZRANGE', tag .. ':' .. (life or '') .. ':open', 0, -1)
if open.err then return { int(now), kind, flat, 'torn', labels } end
local pending = {}
for _, id in ipairs(open) do
  local facts = redis.pcall('HGET', tag .. ':' .. life .. ':pending', 'f' .. id)
  pending[#pending + 1] = id
  pending[#pending + 1] = type(facts) == 'string' and facts or ''
end
return { int(now), kind, flat, pending, labels }
