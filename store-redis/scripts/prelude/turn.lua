-- Looks at tenants in the order of their names.

-- The text after the alarms that have rung.
local next_instant = place(now + 1)

-- Looks at tenants of one group in a range, and adds each with its first members that have rung. Returns true if
-- there may be more tenants. `bounds` has three limits: `enough` tenants with a member that has rung, `most` tenants
-- looked at, and `each` members of a tenant.
local function look_at_tenants(turns, head, low, high, bounds, group)
  while true do
    local member = redis.call('ZRANGEBYLEX', turns, low, high, 'LIMIT', 0, 1)[1]
    if not member then return false end
    if group.looked >= bounds.most or group.rung >= bounds.enough then return true end
    local cut = string.find(member, '\0', #head + 1, true)
    if cut then
      -- The first member of a tenant is its soonest.
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
      -- No store writes such a member.
      low = '(' .. member
    end
  end
end

-- Returns the turns in one group of a partition: whether there may be more tenants, and the tenants with an alarm,
-- each with its first members that have rung, soonest first. Tenants come in the order of the bytes of their names:
-- first those after `after`, then those up to `after`. Names are never compared here, because the server's locale
-- would decide their order.
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
