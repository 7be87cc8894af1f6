-- A step of a walk over one index (KEYS[2]): takes out what no row stands behind. Answers how many, and up to
-- where it has walked ('' = to the end). What stands behind a row that cannot be read nobody knows: it stays.
local kind, tenant, from = args.text(), args.text(), args.text()
local most = args.number()

local function stands(found)
  if kind == 'sessions' then
    local row = rows.load(rows.key(tenant, string.sub(found, 18)))
    return row and rows.listed(row) == found
  elseif kind == 'pending' then
    local id, pending = string.match(found, '^%d+%z(%Z+)%z(%Z+)$')
    local row = id and rows.load(rows.key(tenant, id))
    local facts = row and rows.pending_facts(row, pending)
    return facts and rows.pending_place(row, facts.deadline, pending) == found
  end
  local owner, id = rows.named(found)
  local row = id and rows.load(rows.key(owner, id))
  return row and row.places[KEYS[2]] == found
end

local walked = rows.walk(KEYS[2], from, nil, most)
local stale = {}
for _, found in ipairs(walked) do
  local standing, corrupt = rows.sound(stands, found)
  if not standing and not corrupt then stale[#stale + 1] = found end
end
for _, found in ipairs(stale) do redis.call('ZREM', KEYS[2], found) end
return { int(#stale), #walked == most and walked[most] or '' }
