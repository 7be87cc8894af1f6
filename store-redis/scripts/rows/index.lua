-- The indexes of a partition. Each is a sorted set whose members all have score 0: their bytes are their order,
-- so a walk goes on at any of them at once.

local function member(at, row)
  return place(at) .. row.tenant .. '\0' .. row.id
end

-- Where a row stands in the indexes that follow it: index -> member.
function rows.places(row)
  local places = {}
  if row.alarm then
    local alarm = member(row.alarm, row)
    places[tag .. ':alarms'] = alarm
    places[tag .. ':alarms:' .. row.queue] = alarm
    -- Due in every queue.
    if row.interrupt_id then places[tag .. ':interrupted'] = alarm end
  end
  if rules.rests(row) then places[tag .. ':resting'] = member(row.updated_at, row) end
  return places
end

function rows.move(from, to)
  for index, old in pairs(from) do
    if to[index] ~= old then redis.call('ZREM', index, old) end
  end
  for index, new in pairs(to) do
    if from[index] ~= new then redis.call('ZADD', index, 0, new) end
  end
end

function rows.sessions_index(row)
  return tag .. ':sessions:' .. row.tenant
end

-- In the list of a tenant's sessions.
function rows.listed(row)
  return place(row.created_at) .. row.id
end

function rows.pending_index(row)
  return tag .. ':pending:' .. row.tenant
end

-- In the list of a tenant's pending calls: those without a deadline come last.
function rows.pending_place(row, deadline, id)
  return (deadline and place(deadline) or '2') .. '\0' .. row.id .. '\0' .. id
end

function rows.reach_places(row)
  redis.call('ZCARD', tag .. ':alarms')
  redis.call('ZCARD', tag .. ':alarms:' .. row.queue)
  redis.call('ZCARD', tag .. ':interrupted')
  redis.call('ZCARD', tag .. ':resting')
end

-- At most `most` members of an index after `from` ('' = from the start) and before `before` (nil = to the end),
-- upwards; or downwards, no further than to `least`.
function rows.walk(index, from, before, most)
  local low = from == '' and '-' or '(' .. from
  return redis.call('ZRANGEBYLEX', index, low, before and '(' .. before or '+', 'LIMIT', 0, most)
end

function rows.walk_down(index, from, least, most)
  local high = from == '' and '+' or '(' .. from
  return redis.call('ZREVRANGEBYLEX', index, high, least and '[' .. least or '-', 'LIMIT', 0, most)
end

-- Tenant and id of a member of an index of all tenants; nothing if it names no session.
function rows.named(found)
  local cut = string.find(found, '\0', 18, true)
  if not cut then return nil end
  return string.sub(found, 18, cut - 1), string.sub(found, cut + 1)
end

-- The key of a session's row.
function rows.key(tenant, id)
  return tag .. ':s:' .. #tenant .. ':' .. tenant .. id
end

-- Tenant and id in the key of a session's row.
function rows.names(key)
  local length, names = string.match(string.sub(key, #tag + 1), '^:s:(%d+):(.*)$')
  return string.sub(names, 1, tonumber(length)), string.sub(names, tonumber(length) + 1)
end
