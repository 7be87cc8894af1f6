-- Messages, events, checkpoints and runs: appended under their numbers, never changed.

-- What is stored of a message or an event: when, then its payload.
local function dated(payload)
  return int(now) .. ':' .. payload
end

function rows.append(row, name, last, payloads)
  local key = rows.own(row, name)
  for index, payload in ipairs(payloads) do
    redis.call('HSET', key, int(last + index), dated(payload))
  end
end

-- The session as it stands, with this state.
function rows.append_checkpoint(row, state)
  local record = pack(row.epoch, row.last_message, row.last_event, now, row.format, state)
  redis.call('HSET', rows.own(row, 'checkpoints'), int(row.version), record)
  redis.call('ZADD', rows.own(row, 'restorable'), row.version, int(row.version))
end

-- Moves the row to active, closes a run that was left open, opens the new one. Its keys were reached before.
function rows.begin_run(row, run, worker, lease)
  local lost, parent = rules.claim(row, run, worker, lease)
  rows.save(row)
  redis.call('UNLINK', rows.own(row, 'deltas'))
  if lost then rows.end_run(row, lost, 'lost', '') end
  local record = pack(run, worker, row.found, parent, now)
  redis.call('HSET', rows.own(row, 'runs'), int(row.epoch), record)
end

-- The first end is kept for ever.
function rows.end_run(row, epoch, outcome, detail)
  redis.call('HSETNX', rows.own(row, 'runs'), int(epoch) .. 'e', pack(now, outcome, detail))
end
