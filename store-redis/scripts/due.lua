-- Finds due sessions in several partitions (KEYS: the incarnation of the store in each). Returns the clock and, for
-- each partition, two lists. The first list has two entries for each group in which an alarm has rung: the beginning
-- of its members, and its first members that have rung, at most `most`, soonest first. The second list has the turns
-- of each of these groups if more sessions may be due than are wanted; otherwise it is empty. Groups are found by
-- their first members, so the cost does not grow with the number of members.
--
-- A member begins with a queue, NUL, the ten digits of a format, and NUL. For a session with a waiting interrupt, the
-- queue is ''.
local tenant, newest, most = text(), number(), number()
-- The number of wanted sessions, the tenant that had the last turn, the number of all partitions, and the most
-- tenants to look at over all partitions. Then the least and the most tenants to look at in one group.
local wanted, after, partitions, visits = number(), text(), number(), number()
local visits_least, visits_most = number(), number()

-- The ranges in which groups are looked for: those of the named queues, or everything.
local ranges = {}
for index = 1, number() do
  local queue = text()
  ranges[index] = { '[' .. queue .. '\0', '(' .. queue .. '\1' }
end
if #ranges == 0 then ranges[1] = { '-', '+' } end

-- Returns the first members of a group that have rung, by alarm: of all tenants, or of `tenant`.
local function rung(tag, head)
  local index = ':due'
  if tenant ~= '' then index, head = ':turns', head .. tenant .. '\0' end
  return redis.call('ZRANGEBYLEX', tag .. index, '[' .. head, '(' .. head .. next_instant, 'LIMIT', 0, most)
end

local function look(tag, low, high, found)
  while true do
    local member = redis.call('ZRANGEBYLEX', tag .. ':due', low, high, 'LIMIT', 0, 1)[1]
    if not member then return end
    local cut = string.find(member, '\0', 1, true)
    local format = cut and string.match(string.sub(member, cut + 1, cut + 10), '^%d%d%d%d%d%d%d%d%d%d$')
    if not format then
      -- No store writes such a member.
      low = '(' .. member
    elseif tonumber(format) > newest then
      -- The next groups of this queue have newer formats.
      low = '[' .. string.sub(member, 1, cut - 1) .. '\1'
    else
      local head = string.sub(member, 1, cut + 11)
      -- The first member of a group is the soonest.
      local members = has_come(member, cut + 12) and rung(tag, head) or {}
      if #members > 0 then
        found[#found + 1] = head
        found[#found + 1] = members
      end
      low = '[' .. head .. '\255'
    end
  end
end

local answer, members, heads = { int(now) }, 0, 0
for _, store in ipairs(KEYS) do
  check_store(store)
  local found = {}
  for _, range in ipairs(ranges) do look(tag_of(store), range[1], range[2], found) end
  for index = 2, #found, 2 do members = members + #found[index] end
  heads = heads + #found / 2
  answer[#answer + 1] = { found, {} }
end

-- If this call does not look at all partitions, the others may have more.
if tenant == '' and members > (#KEYS == partitions and wanted or 0) then
  local share = math.floor(visits / (heads * partitions / #KEYS))
  local most_of_each = math.min(math.max(share, visits_least), visits_most)
  local bounds = { enough = wanted, most = most_of_each, each = 1 }
  for at, store in ipairs(KEYS) do
    local found, turns = answer[at + 1][1], answer[at + 1][2]
    for index = 1, #found, 2 do turns[#turns + 1] = turns_of(tag_of(store), found[index], after, bounds) end
  end
end
return answer
