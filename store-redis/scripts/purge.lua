-- Removes what a rule says of one session that find_purgeable has found, if the rule still is about it.
local rule = { tenant = args.optional(), status = {}, unchanged_since = args.number() }
for _, status in ipairs(args.list(args.text)) do rule.status[status] = true end
-- How many checkpoints stay; none: the session is removed.
local keep = args.optional_number()

local row = rows.load(KEYS[2])
if not row or not rules.purgeable(row, rule) then return { '0', '0' } end
if not keep then
  rows.bury(row)
  rows.tell(row)
  return { '1', '0' }
end
local restorable = rows.own(row, 'restorable')
rows.reach_life(row.life, 'checkpoints', 'restorable')
local surplus = redis.call('ZRANGE', restorable, 0, -(keep + 1))

for _, id in ipairs(surplus) do
  redis.call('HDEL', rows.own(row, 'checkpoints'), id)
  redis.call('ZREM', restorable, id)
end
return { '0', int(#surplus) }
