-- Lists the runs of a session after one: for each its number, its record, and how it ended or ''.
local after_run, most, bytes = args.number(), args.number(), args.number()

local row = rows.load(KEYS[2])
if not row then return { 'not_found' } end
local runs, more = {}, false
local from = math.max(after_run, row.runs_from) + 1
for _, epoch in ipairs(rows.numbers(from, row.epoch, most + 1)) do
  local found = redis.call('HMGET', rows.own(row, 'runs'), epoch, epoch .. 'e')
  if found[1] then
    runs[#runs + 1] = { epoch, found[1], found[2] or '' }
    bytes = bytes - math.max(#(found[2] or '') - ROW_BYTES, 0)
    if bytes < 0 then
      more = tonumber(epoch) < row.epoch
      break
    end
  end
end
return { 'found', runs, text(more) }
