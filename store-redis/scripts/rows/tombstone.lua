-- What is left of deleted sessions: a key for the incarnation and one for the operation, each holding when.
-- They end by themselves, later than the rules ask.

-- A minute more than they stand.
local TOMBSTONE_ENDS = TOMBSTONE_STANDS + 60 * 1000

local function tombstones(row)
  local session = pack(row.tenant, row.id)
  return { tag .. ':buried:i:' .. session .. row.incarnation, tag .. ':buried:o:' .. session .. row.operation }
end

-- Whether one names the incarnation or the operation (of what has a tenant and an id too).
function rows.is_buried(names)
  for _, key in ipairs(tombstones(names)) do
    local at = tonumber(redis.call('GET', key) or nil)
    if at and not rules.is_old(at) then return true end
  end
  return false
end

-- Removes a session with everything that belongs to it, and leaves tombstones.
function rows.bury(row)
  local open = redis.call('ZRANGE', rows.own(row, 'open'), 0, -1)
  local pending = {}
  for index, id in ipairs(open) do
    local facts = rows.pending_facts(row, id)
    pending[index] = rows.pending_place(row, facts and facts.deadline, id)
  end
  rows.reach_places(row)
  redis.call('ZCARD', rows.sessions_index(row))
  redis.call('ZCARD', rows.pending_index(row))
  local graves = tombstones({
    tenant = row.tenant, id = row.id, incarnation = row.incarnation, operation = row.created_by,
  })
  redis.call('EXISTS', graves[1])
  redis.call('EXISTS', graves[2])
  for name in pairs(SIZE) do redis.call('EXISTS', rows.own(row, name)) end

  redis.call('DEL', row.key)
  rows.move(row.places, {})
  redis.call('ZREM', rows.sessions_index(row), rows.listed(row))
  for _, found in ipairs(pending) do redis.call('ZREM', rows.pending_index(row), found) end
  for _, grave in ipairs(graves) do
    redis.call('SET', grave, int(now), 'PX', int(TOMBSTONE_ENDS))
  end
  rows.unlink_life(row.life)
end
