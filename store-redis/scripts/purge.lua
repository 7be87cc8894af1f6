-- Removes what a rule says of one session that find_purgeable has found, if the rule still is about it: the session, or
-- its oldest checkpoints. Answers how many sessions, how many checkpoints, and whether there are more of them.
local rule = { tenant = args.optional(), status = {}, unchanged_since = args.number() }
for _, status in ipairs(args.list(args.text)) do rule.status[status] = true end
-- How many checkpoints stay; none: the session is removed.
local keep = args.optional_number()

-- How many go at once: a script holds up everybody. And how many of them by one command.
local AT_ONCE, BY_COMMAND = 4096, 512

local row = rows.load(KEYS[2])
if not row or not rules.purgeable(row, rule) then return { '0', '0', '0' } end
if not keep then
  rows.bury(row)
  rows.tell(row)
  return { '1', '0', '0' }
end
local restorable, checkpoints = rows.own(row, 'restorable'), rows.own(row, 'checkpoints')
rows.reach_life(row.life, 'checkpoints', 'restorable')
local surplus = math.max(redis.call('ZCARD', restorable) - keep, 0)
local oldest = math.min(surplus, AT_ONCE)

for from = 0, oldest - 1, BY_COMMAND do
  local to = math.min(from + BY_COMMAND, oldest) - 1
  redis.call('HDEL', checkpoints, unpack(redis.call('ZRANGE', restorable, from, to)))
end
if oldest > 0 then redis.call('ZREMRANGEBYRANK', restorable, 0, oldest - 1) end
return { '0', int(oldest), text(surplus > oldest) }
