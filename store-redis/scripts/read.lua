-- Reads the row of a session (KEYS[2]) and other data of the session, all at one instant. Returns the clock, the
-- fields of the row, the reason of an interrupt if a version before tokens wrote it, and the data for each want.
local flat = redis.call('HGETALL', KEYS[2])
local row = {}
for index = 1, #flat, 2 do row[flat[index]] = flat[index + 1] end
-- There is no row, or only the remains of earlier incarnations.
if #flat == 0 or (row.lives and not row.incarnation and not row.life) then return { int(now), flat } end

local function whole_number(field)
  local value = row[field]
  if not value then fail('CORRUPT', field .. ': it is missing') end
  if not string.find(value, '^%d+$') then fail('CORRUPT', field .. ': it is no number') end
  return tonumber(value)
end

whole_number('life')

local function own(name)
  return tag .. ':' .. row.life .. ':' .. name
end

-- The numbers of bytes and rows of each kind that were read.
local bytes_of, rows_of = {}, {}

-- Returns alternating numbers and values of a hash, until the limits of bytes and rows are reached. `head` is the
-- most bytes that a value has besides its payload. `cut` is the number of bytes of each value to return; 0 = all.
local function by_numbers(hash, numbers, kind, bytes_max, rows_max, head, cut)
  local found = {}
  for _, field in ipairs(numbers) do
    if (bytes_of[kind] or 0) >= bytes_max or (rows_of[kind] or 0) >= rows_max then break end
    local value = redis.call('HGET', hash, field)
    if value then
      bytes_of[kind] = (bytes_of[kind] or 0) + math.max(#value - head, 0)
      rows_of[kind] = (rows_of[kind] or 0) + 1
      found[#found + 1] = field
      found[#found + 1] = cut > 0 and string.sub(value, 1, cut) or value
    end
  end
  return found
end

-- Returns the whole numbers of a range as texts, at most `most`. `low` and `high` are the fields of the row that
-- bound it; `low` may be ''.
local function range(low, high, from, to, down, most)
  if low ~= '' then from = math.max(from, (row[low] and whole_number(low) or 0) + 1) end
  to = math.min(to, whole_number(high))
  local numbers = {}
  if down then
    for number = to, math.max(from, to - most + 1), -1 do numbers[#numbers + 1] = int(number) end
  else
    for number = from, math.min(to, from + most - 1) do numbers[#numbers + 1] = int(number) end
  end
  return numbers
end

local read = {}

function read.hash()
  return redis.call('HGETALL', own(text()))
end

function read.set()
  return redis.call('SMEMBERS', own(text()))
end

function read.fields()
  local key = own(text())
  return redis.call('HMGET', key, texts(number()))
end

function read.members()
  local key = own(text())
  return redis.call('SMISMEMBER', key, texts(number()))
end

function read.numbers()
  local hash, low, high = own(text()), text(), text()
  local from, to, down, most = number(), number(), text() == '1', number()
  local kind, bytes_max, rows_max, head, cut = text(), number(), number(), number(), number()
  local numbers = range(low, high, from, to, down, most)
  return by_numbers(hash, numbers, kind, bytes_max, rows_max, head, cut)
end

function read.scored()
  local hash, set = own(text()), own(text())
  local from, to, down, most = text(), text(), text() == '1', number()
  local kind, bytes_max, rows_max, head, cut = text(), number(), number(), number(), number()
  local numbers
  if down then
    numbers = redis.call('ZREVRANGEBYSCORE', set, to, from, 'LIMIT', 0, most)
  else
    numbers = redis.call('ZRANGEBYSCORE', set, from, to, 'LIMIT', 0, most)
  end
  return by_numbers(hash, numbers, kind, bytes_max, rows_max, head, cut)
end

-- Returns for each run its number, its record, and the record of its end or ''.
function read.runs()
  local from, to, down, most = number(), number(), text() == '1', number()
  local hash, found = own('runs'), {}
  -- Fails if the key has another type: a claim will write there, even if no run exists yet.
  redis.call('HLEN', hash)
  for _, epoch in ipairs(range('runs_from', 'epoch', from, to, down, most)) do
    local run = redis.call('HMGET', hash, epoch, epoch .. 'e')
    if run[1] then
      found[#found + 1] = epoch
      found[#found + 1] = run[1]
      found[#found + 1] = run[2] or ''
    end
  end
  return found
end

-- Adds the id, the order, the facts and the record of a pending call.
local function pending(found, id, order, cut)
  local parts = redis.call('HMGET', own('pending'), 'f' .. id, 'r' .. id)
  if not parts[1] or not parts[2] then fail('CORRUPT', 'pending ' .. id) end
  found[#found + 1] = id
  found[#found + 1] = order
  found[#found + 1] = parts[1]
  found[#found + 1] = cut > 0 and string.sub(parts[2], 1, cut) or parts[2]
end

function read.pending()
  local cut, found = number(), {}
  redis.call('HLEN', own('pending'))
  local open = redis.call('ZRANGE', own('open'), 0, -1, 'WITHSCORES')
  for index = 1, #open, 2 do pending(found, open[index], open[index + 1], cut) end
  return found
end

function read.named_pending()
  local cut, found = number(), {}
  for _ = 1, number() do
    local id = text()
    local order = redis.call('ZSCORE', own('open'), id)
    if order then pending(found, id, order, cut) end
  end
  return found
end

local reason = ''
if row.interrupt_id and not row.interrupt_reason then
  reason = redis.call('HGET', own('payloads'), 'reason') or ''
end
local answer = { int(now), flat, reason }
for _ = 1, number() do answer[#answer + 1] = read[text()]() end
return answer
