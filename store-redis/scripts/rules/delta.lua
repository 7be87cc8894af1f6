-- store/src/rules/delta.rs

-- -1, 0 or 1: how the stream compares with the one that is kept.
function rules.stream_order(row, run, number)
  if run ~= row.stream_run then return run < row.stream_run and -1 or 1 end
  if number ~= row.stream_number then return number < row.stream_number and -1 or 1 end
  return 0
end

-- Ends the stream, and any before it. A later one runs on.
function rules.stream_end(row, run, number)
  local order = rules.stream_order(row, run, number)
  if order > 0 then
    row.stream_run, row.stream_number, row.stream_last, row.stream_open = run, number, 0, false
  elseif order == 0 then
    row.stream_open = false
  end
end

-- Decides a batch of `count` deltas: whether it replaces those that are there, and how many of it are there
-- already; or nil and the answer.
function rules.stream(row, fence, batch)
  if not rules.admits(row, fence) then return nil, { 'stale_fence' } end
  local order = rules.stream_order(row, fence.epoch, batch.stream)
  if order < 0 or (order == 0 and not row.stream_open) then return nil, { 'ended' } end
  local last = order == 0 and row.stream_last or 0
  if batch.first == 0 or batch.first > last + 1 then return nil, { 'gap', int(last + 1) } end
  local skip = math.min(last + 1 - batch.first, #batch.deltas)
  row.stream_run, row.stream_number, row.stream_open = fence.epoch, batch.stream, true
  row.stream_last = last + #batch.deltas - skip
  return { replaces = order ~= 0, skip = skip }
end
