-- Finds what is due in several partitions (KEYS: the incarnation of the store in each), and answers the clock and, for
-- each partition, two lists. The first has of each group in which an alarm has rung: what its members begin with, and its
-- first members that have rung, at most `most`, soonest first. The second has the turns of each of these groups, if more
-- may be due than are wanted; else it is empty. Groups are found by looking at the first member of each, so it does
-- not matter how many members they have.
--
-- A member begins with a queue, NUL, ten digits of a format, NUL. Of sessions that wait for an interrupt the queue is ''.
local tenant, newest, most = text(), number(), number()
-- So many are wanted, whose turn it was last, how many partitions there are, and so many tenants are looked at at most.
local wanted, after, partitions, visits = number(), text(), number(), number()
local visits_least, visits_most = number(), number()

-- Where groups are looked for: of the queues that are named, or of all.
local ranges = {}
for index = 1, number() do
  local queue = text()
  ranges[index] = { '[' .. queue .. '\0', '(' .. queue .. '\1' }
end
if #ranges == 0 then ranges[1] = { '-', '+' } end

-- Members of a group that have rung: of all tenants by alarm, or of one.
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
      -- None that a store makes.
      low = '(' .. member
    elseif tonumber(format) > newest then
      -- Those of this queue that come next are newer.
      low = '[' .. string.sub(member, 1, cut - 1) .. '\1'
    else
      local head = string.sub(member, 1, cut + 11)
      -- The first of a group is its soonest.
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

-- Where not all partitions are looked at, others may have more.
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
