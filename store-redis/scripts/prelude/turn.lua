-- Looks at tenants by name.

-- Behind all that have rung.
local next_instant = place(now + 1)

-- Looks at tenants of one group in a range, and adds each with its first members that have rung. Answers whether there may
-- be more. `bounds`: so many tenants of which something has rung are enough; so many are looked at at most; so many members of each.
local function look_at_tenants(turns, head, low, high, bounds, group)
  while true do
    local member = redis.call('ZRANGEBYLEX', turns, low, high, 'LIMIT', 0, 1)[1]
    if not member then return false end
    if group.looked >= bounds.most or group.rung >= bounds.enough then return true end
    local cut = string.find(member, '\0', #head + 1, true)
    if cut then
      -- The first of a tenant is its soonest.
      local members = has_come(member, cut + 1) and { member } or {}
      if bounds.each > 1 and #members > 0 then
        local own = string.sub(member, 1, cut)
        members = redis.call('ZRANGEBYLEX', turns, '[' .. own, '(' .. own .. next_instant, 'LIMIT', 0, bounds.each)
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

-- Whose turn it is in one group of a partition: whether there are more tenants, and tenants with an alarm, each with its first
-- members that have rung, soonest first. Tenants come by the bytes of their names, from behind `after` and after the last
-- from the first up to `after`. Names are never compared here: the server's locale would do it.
local function turns_of(tag, head, after, bounds)
  local turns, ends = tag .. ':turns', '(' .. head .. '\255'
  local group = { looked = 0, rung = 0, found = {} }
  local more
  if after == '' then
    more = look_at_tenants(turns, head, '[' .. head, ends, bounds, group)
  else
    local behind = head .. after .. '\1'
    more = look_at_tenants(turns, head, '[' .. behind, ends, bounds, group)
      or look_at_tenants(turns, head, '[' .. head, '(' .. behind, bounds, group)
  end
  return { more and 1 or 0, group.found }
end
