-- Puts the session of one row into every index in which it belongs.
local row = rows.load(KEYS[2])
if not row then return { '0' } end
rows.reach_places(row)
redis.call('ZCARD', rows.sessions_index(row))
redis.call('ZCARD', rows.pending_index(row))
local pending = {}
for index, id in ipairs(redis.call('ZRANGE', rows.own(row, 'open'), 0, -1)) do
  local facts = rows.pending_facts(row, id) or fail('CORRUPT', 'pending ' .. id)
  pending[index] = rows.pending_place(row, facts.deadline, id)
end

local added = redis.call('ZADD', rows.sessions_index(row), 0, rows.listed(row))
for index, found in pairs(rows.places(row)) do added = added + redis.call('ZADD', index, 0, found) end
for _, found in ipairs(pending) do added = added + redis.call('ZADD', rows.pending_index(row), 0, found) end
return { int(added) }
