-- The inbox: items by their places, the places of those that are not consumed, and among them those that
-- count and those that are urgent.

function args.item()
  return {
    key = args.text(),
    kind = args.text(),
    wake = args.text(),
    pending = args.optional(),
    settles = args.boolean(),
    incarnation = args.optional(),
    digest = args.text(),
    payload = args.text(),
  }
end

-- The place and digest of the item that was ever accepted under `key`.
function rows.known(row, key)
  local found = redis.call('HGET', rows.own(row, 'items'), key)
  if not found then return nil end
  local cut = string.find(found, ':', 1, true)
  local seq = cut and tonumber(string.sub(found, 1, cut - 1))
  if not seq then fail('CORRUPT', 'items ' .. key) end
  return { seq = seq, digest = string.sub(found, cut + 1) }
end

-- Accepts all of `items` or none: what arrived; or nil, the place of the first that was refused, and why.
-- Nothing is written. `fresh`: a session that is only being made, so there is nothing to know yet.
function rows.accept_all(row, items, fresh)
  local arrived, earlier = {}, {}
  for index, item in ipairs(items) do
    local known = earlier[item.key]
    if not known and not fresh then known = rows.known(row, item.key) end
    local pending = item.pending and not fresh and rows.pending_facts(row, item.pending) or nil
    local arrival, refusal = rules.accept(row, item, known, pending)
    if not arrival then return nil, int(index - 1), refusal end
    arrival.item, arrival.pending = item, pending
    earlier[item.key] = { seq = arrival.seq, digest = item.digest }
    arrived[index] = arrival
  end
  return arrived
end

-- The keys that arrivals are written to.
function rows.reach_inbox(row)
  rows.reach_life(row.life, 'inbox', 'unread', 'counted', 'urgent', 'items', 'pending')
end

-- Writes what arrived.
function rows.arrive(row, arrived)
  for _, arrival in ipairs(arrived) do
    local item, seq = arrival.item, int(arrival.seq)
    local record = pack(item.key, item.kind, item.wake, item.pending, item.settles, now, item.payload)
    redis.call('HSET', rows.own(row, 'inbox'), seq, record)
    redis.call('ZADD', rows.own(row, 'unread'), seq, seq)
    if arrival.wake == 'count' then redis.call('ZADD', rows.own(row, 'counted'), seq, seq) end
    if arrival.wake == 'now' then redis.call('ZADD', rows.own(row, 'urgent'), seq, seq) end
    redis.call('HSET', rows.own(row, 'items'), item.key, seq .. ':' .. item.digest)
    if arrival.answered then
      arrival.pending.answered, arrival.pending.last_answer = arrival.answered, arrival.seq
      rows.set_pending_facts(row, item.pending, arrival.pending)
    end
  end
end

-- Takes a consumed item out.
function rows.consume(row, seq)
  seq = int(seq)
  redis.call('ZREM', rows.own(row, 'unread'), seq)
  redis.call('ZREM', rows.own(row, 'counted'), seq)
  redis.call('ZREM', rows.own(row, 'urgent'), seq)
  redis.call('HDEL', rows.own(row, 'inbox'), seq)
end
