-- Finds whose turn it is in groups of several partitions (KEYS: the incarnation of the store in each), and answers the
-- clock and, for each partition, for each of its groups: whether there are more tenants, and tenants with an alarm, each
-- with its first members that have rung, soonest first. Tenants come by the bytes of their names, from behind `after`
-- and after the last from the first up to `after`. Names are never compared here: the server's locale would do it.
local after = text()
-- So many tenants of which something has rung are enough; so many are looked at at most; so many members of each.
local enough, most, each = number(), number(), number()

local next_instant = place(now + 1)

-- Looks at tenants of one group in a range. Answers whether there may be more.
local function look(turns, head, low, high, group)
  while true do
    local member = redis.call('ZRANGEBYLEX', turns, low, high, 'LIMIT', 0, 1)[1]
    if not member then return false end
    if group.looked >= most or group.rung >= enough then return true end
    local cut = string.find(member, '\0', #head + 1, true)
    if cut then
      -- The first of a tenant is its soonest.
      local members = has_come(member, cut + 1) and { member } or {}
      if each > 1 and #members > 0 then
        local own = string.sub(member, 1, cut)
        members = redis.call('ZRANGEBYLEX', turns, '[' .. own, '(' .. own .. next_instant, 'LIMIT', 0, each)
      end
      group.looked = group.looked + 1
      if #members > 0 then group.rung = group.rung + 1 end
      group.found[#group.found + 1] = string.sub(member, #head + 1, cut - 1)
      group.found[#group.found + 1] = members
      low = '[' .. string.sub(member, 1, cut - 1) .. '\1'
    else
      -- None that a store makes.
      low = '(' .. member
    end
  end
end

local answer = { int(now) }
for _, store in ipairs(KEYS) do
  check_store(store)
  local turns, groups = tag_of(store) .. ':turns', {}
  for index = 1, number() do
    local head = text()
    local group = { looked = 0, rung = 0, found = {} }
    local ends = '(' .. head .. '\255'
    local more
    if after == '' then
      more = look(turns, head, '[' .. head, ends, group)
    else
      local behind = head .. after .. '\1'
      more = look(turns, head, '[' .. behind, ends, group) or look(turns, head, '[' .. head, '(' .. behind, group)
    end
    groups[index] = { more and 1 or 0, group.found }
  end
  answer[#answer + 1] = groups
end
return answer
