-- Writes a part of what is copied into the life that is being made. The draft must still be there.
local new = { tenant = args.text(), id = args.text(), operation = args.text() }
local life, ends = args.number(), args.number()
local what = args.text()
local fields = args.list(args.text)

local draft = tag .. ':draft:' .. pack(new.tenant, new.id, new.operation)
if redis.call('GET', draft) ~= int(life) then return { 'no_draft' } end
rows.reach_life(life, what, 'restorable')

redis.call('EXPIRE', draft, ends)
for index = 1, #fields, 2 do
  redis.call('HSET', rows.of(life, what), fields[index], fields[index + 1])
  if what == 'checkpoints' then redis.call('ZADD', rows.of(life, 'restorable'), fields[index], fields[index]) end
end
redis.call('EXPIRE', rows.of(life, what), ends)
if what == 'checkpoints' then redis.call('EXPIRE', rows.of(life, 'restorable'), ends) end
return { 'written' }
