-- Puts the session of one row into every index in which it belongs. Answers how many entries were missing, and
-- whether it could not be read wholly.
local row, torn = rows.load_sound(KEYS[2])
if not row then return { '0', text(torn or false) } end
rows.reach_places(row)
redis.call('ZCARD', rows.sessions_index(row))
redis.call('ZCARD', rows.pending_index(row))
local pending, open = {}, nil
open, torn = rows.sound(redis.call, 'ZRANGE', rows.own(row, 'open'), 0, -1)
for _, id in ipairs(open or {}) do
  local facts = rows.sound(rows.pending_facts, row, id)
  if facts then pending[#pending + 1] = rows.pending_place(row, facts.deadline, id) else torn = true end
end

local added = redis.call('ZADD', rows.sessions_index(row), 0, rows.listed(row))
for index, found in pairs(rows.places(row)) do added = added + redis.call('ZADD', index, 0, found) end
for _, found in ipairs(pending) do added = added + redis.call('ZADD', rows.pending_index(row), 0, found) end
return { int(added), text(torn or false) }
