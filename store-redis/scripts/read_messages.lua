-- Reads messages by ranges: places and records in turn, at most `most` of them.
local ranges = args.list(function() return { from = args.number(), to = args.number() } end)
local most, bytes = args.number(), args.number()

local row = rows.load(KEYS[2])
if not row then return { 'not_found' } end
local places, whole = {}, true
for _, range in ipairs(ranges) do
  local from, to = math.max(range.from, 1), math.min(range.to, row.last_message)
  for _, seq in ipairs(rows.numbers(from, to, most - #places)) do places[#places + 1] = seq end
  if to - from + 1 > 0 and #places >= most then
    whole = false
    break
  end
end
local read, all = rows.fields(rows.own(row, 'messages'), places, bytes)
return { 'found', int(row.last_message), read, text(whole and all) }
