-- Reads events after a place and, at the end of the log, the deltas of the stream that runs.
local after_event = args.number()
local run, number, delta = args.optional_number(), args.optional_number(), args.optional_number()
local most, bytes = args.number(), args.number()

local row = rows.load(KEYS[2])
if not row then return { 'not_found' } end
local events, all = rows.fields(
  rows.own(row, 'events'), rows.numbers(after_event + 1, row.last_event, most), bytes)
local deltas = {}
if row.stream_open and all and after_event + #events / 2 >= row.last_event then
  local read = 0
  if run and rules.stream_order(row, run, number) == 0 then read = delta end
  deltas = rows.fields(rows.own(row, 'deltas'), rows.numbers(read + 1, row.stream_last, most), bytes)
end
return { 'found', rows.flat(row), events, deltas }
