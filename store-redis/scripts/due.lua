-- Finds what is due in several partitions (KEYS: the incarnation of the store in each), and answers the clock and, for
-- each partition, of each group in which an alarm has rung: what its members begin with, and its first members that
-- have rung, at most `most`, soonest first. Groups are found by looking at the first member of each, so it does not
-- matter how many members they have.
--
-- A member begins with a queue, NUL, ten digits of a format, NUL. Of sessions that wait for an interrupt the queue is ''.
local tenant, newest, most = text(), number(), number()

-- Where groups are looked for: of the queues that are named, or of all.
local ranges = {}
for index = 1, number() do
  local queue = text()
  ranges[index] = { '[' .. queue .. '\0', '(' .. queue .. '\1' }
end
if #ranges == 0 then ranges[1] = { '-', '+' } end

local next_instant = place(now + 1)

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

local answer = { int(now) }
for _, store in ipairs(KEYS) do
  check_store(store)
  local found = {}
  for _, range in ipairs(ranges) do look(tag_of(store), range[1], range[2], found) end
  answer[#answer + 1] = found
end
return answer
