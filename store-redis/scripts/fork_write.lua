-- Writes a part of what is copied into the life that is being made.
local life, ends = args.number(), args.number()
local what = args.text()
local fields = args.list(args.text)

rows.reach_life(life, what, 'restorable')

for index = 1, #fields, 2 do
  redis.call('HSET', rows.of(life, what), fields[index], fields[index + 1])
  if what == 'checkpoints' then redis.call('ZADD', rows.of(life, 'restorable'), fields[index], fields[index]) end
end
redis.call('EXPIRE', rows.of(life, what), ends)
if what == 'checkpoints' then redis.call('EXPIRE', rows.of(life, 'restorable'), ends) end
return { 'written' }
