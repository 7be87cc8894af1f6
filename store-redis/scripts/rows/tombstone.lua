-- What is left of deleted sessions: a key for the incarnation and one for the operation, each holding when.
-- They end by themselves, later than the rules ask.

-- A minute more than they stand.
local TOMBSTONE_ENDS = TOMBSTONE_STANDS + 60 * 1000

-- Of what is known: an incarnation, an operation.
local function tombstones(row)
  local session, keys = pack(row.tenant, row.id), {}
  if row.incarnation then keys[#keys + 1] = tag .. ':buried:i:' .. session .. row.incarnation end
  if row.operation then keys[#keys + 1] = tag .. ':buried:o:' .. session .. row.operation end
  return keys
end

-- Whether one names the incarnation or the operation (of what has a tenant and an id too).
function rows.is_buried(names)
  for _, key in ipairs(tombstones(names)) do
    local at = tonumber(redis.call('GET', key) or nil)
    if at and not rules.is_old(at) then return true end
  end
  return false
end

-- Where a session stands in the indexes: indexes and members in turn.
local function entries(row)
  local found = {}
  for index, member in pairs(row.places) do
    found[#found + 1], found[#found + 2] = index, member
  end
  if row.created_at then
    found[#found + 1], found[#found + 2] = rows.sessions_index(row), rows.listed(row)
  end
  local open = row.life and rows.sound(redis.call, 'ZRANGE', rows.own(row, 'open'), 0, -1) or {}
  for _, id in ipairs(open) do
    local facts = rows.sound(rows.pending_facts, row, id)
    if facts then
      found[#found + 1], found[#found + 2] = rows.pending_index(row), rows.pending_place(row, facts.deadline, id)
    end
  end
  return found
end

-- Removes a session with everything that belongs to it, and leaves tombstones. What cannot be read of it holds up
-- nothing: a place in an index that it keeps so stands for nothing, and a rebuild takes it out. Where the number of
-- its life cannot be read, the keys of that life stay.
function rows.bury(row)
  local places = entries(row)
  for index = 1, #places, 2 do redis.call('ZCARD', places[index]) end
  local graves = tombstones({
    tenant = row.tenant, id = row.id, incarnation = row.incarnation, operation = row.created_by,
  })
  for _, grave in ipairs(graves) do redis.call('EXISTS', grave) end
  if row.life then
    for name in pairs(SIZE) do redis.call('EXISTS', rows.own(row, name)) end
  end

  redis.call('DEL', row.key)
  for index = 1, #places, 2 do redis.call('ZREM', places[index], places[index + 1]) end
  for _, grave in ipairs(graves) do
    redis.call('SET', grave, int(now), 'PX', int(TOMBSTONE_ENDS))
  end
  if row.life then rows.unlink_life(row.life) end
end
