-- Stages results and start marks, wholly or not at all.
local fence = args.fence()
local results = args.list(function() return { call = args.text(), payload = args.text() } end)
local starts = args.list(args.text)

local row = rows.fenced(fence)
if not row or not rules.admits(row, fence) then return { 'stale_fence' } end
local staged = rows.own(row, 'staged')
local first = {}
for _, result in ipairs(results) do
  local there = first[result.call] or redis.call('HGET', staged, result.call) or result.payload
  if there ~= result.payload then return { 'conflict', result.call } end
  first[result.call] = there
end
rows.reach_life(row.life, 'staged', 'starts')

for _, result in ipairs(results) do redis.call('HSETNX', staged, result.call, result.payload) end
for _, call in ipairs(starts) do redis.call('SADD', rows.own(row, 'starts'), call) end
rows.tell(row)
return { 'staged', rules.receipt(row) }
