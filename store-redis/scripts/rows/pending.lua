-- Open pending calls. Of each: its facts, which answers change, and its record, which nothing does.

local function facts_text(facts)
  local deadline = facts.deadline and int(facts.deadline) or '-'
  return table.concat({
    int(facts.needed), int(facts.answered), deadline, int(facts.last_answer), facts.kind,
  }, ' ')
end

local function facts_of(id, found)
  local needed, answered, deadline, last_answer, kind =
    string.match(found, '^(%d+) (%d+) (%-?%d*) (%d+) ([%a_]+)$')
  if not needed then fail('CORRUPT', 'pending ' .. id) end
  return {
    needed = tonumber(needed), answered = tonumber(answered), deadline = tonumber(deadline),
    last_answer = tonumber(last_answer), kind = kind,
  }
end

-- Needed, answered, deadline, newest answer and kind of an open pending call, or nil.
function rows.pending_facts(row, id)
  local found = redis.call('HGET', rows.own(row, 'pending'), 'f' .. id)
  if found then return facts_of(id, found) end
end

function rows.set_pending_facts(row, id, facts)
  redis.call('HSET', rows.own(row, 'pending'), 'f' .. id, facts_text(facts))
end

function rows.open_pending(row, new)
  row.opened = row.opened + 1
  local facts = {
    needed = new.needed, answered = 0, deadline = new.deadline, last_answer = 0, kind = new.kind,
  }
  rows.set_pending_facts(row, new.id, facts)
  local record = pack(new.call, now, new.body)
  redis.call('HSET', rows.own(row, 'pending'), 'r' .. new.id, record)
  redis.call('ZADD', rows.own(row, 'open'), row.opened, new.id)
  redis.call('SADD', rows.own(row, 'ever'), new.id)
  redis.call('ZADD', rows.pending_index(row), 0, rows.pending_place(row, new.deadline, new.id))
end

function rows.close_pending(row, id, facts)
  redis.call('HDEL', rows.own(row, 'pending'), 'f' .. id, 'r' .. id)
  redis.call('ZREM', rows.own(row, 'open'), id)
  redis.call('ZREM', rows.pending_index(row), rows.pending_place(row, facts.deadline, id))
end

-- An open pending call as its reader gets it.
function rows.pending(row, id)
  local found = redis.call('HMGET', rows.own(row, 'pending'), 'f' .. id, 'r' .. id)
  if not found[1] or not found[2] then fail('CORRUPT', 'pending ' .. id) end
  facts_of(id, found[1])
  return { id, found[1], found[2] }
end
