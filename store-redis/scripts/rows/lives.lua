-- Making a session: the number of its life, its row, its place in the list.

-- The newest life of this partition.
function rows.last_life()
  local lives = redis.call('GET', tag .. ':lives') or '0'
  return tonumber(lives) or fail('CORRUPT', 'lives: it is no number')
end

-- Touches what a creation writes. The counter is read here and raised by the first write.
function rows.reach_new(row)
  local last = rows.last_life()
  rows.reach_places(row)
  redis.call('ZCARD', rows.sessions_index(row))
  redis.call('HLEN', row.key)
  return last + 1
end

-- Writes the list entry and what never changes. The row itself is saved by the caller.
function rows.found_session(row, labels, definition)
  redis.call('ZADD', rows.sessions_index(row), 0, rows.listed(row))
  if #labels > 0 then redis.call('HSET', rows.own(row, 'labels'), unpack(labels)) end
  redis.call('HSET', rows.own(row, 'payloads'), 'definition', definition)
end
