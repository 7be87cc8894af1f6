-- Hands the waiting interrupt to the run that asks.
local fence = args.fence()

local row = rows.fenced(fence)
if not row or not rules.admits(row, fence) then return { 'stale_fence' } end
if not row.interrupt_id then return { 'clear' } end
local reason = redis.call('HGET', rows.own(row, 'payloads'), 'reason') or ''
rows.reach(row)

if row.interrupt_handed_to ~= row.epoch then
  row.interrupt_handed_to = row.epoch
  rows.save(row)
end
return { 'waiting', rows.flat(row), reason }
