-- Applies one write of a session (KEYS[2]) if the row still has the token on which the write was decided. The script
-- decides nothing: the commands are arguments.
--
-- Nothing may fail after the first command that writes, because a script is not rolled back. So every key that will
-- be written is touched before. A key of another type, or one that has moved to another node, ends the script there.
-- The keys of an incarnation and of indexes are not among KEYS. They carry the tag of KEYS[1], so they lie in its
-- slot.

-- The token that the row must have. '' = there must be no row, '-' = a row without a token, '!' = a key that is no
-- hash.
local expected, from, till = text(), number(), number()

local token = redis.pcall('HGET', KEYS[2], 'token')
if type(token) == 'table' then
  if not string.find(token.err, '^WRONGTYPE') then error(token) end
  token = '!'
  if expected ~= token then fail('CORRUPT', 'the row is no hash') end
elseif not token then
  token = redis.call('EXISTS', KEYS[2]) == 1 and '-' or ''
end
if token ~= expected or now < from or now >= till then return { 'lost', int(now) } end

-- Rows of the session that must not exist.
for index = 1, number() do
  local found = redis.call(texts(3))
  if found and found ~= 0 then return { 'taken', int(now), int(index - 1), found } end
end

-- Keys that versions before tokens left of deleted sessions. They must not exist.
for index = 1, number() do
  local found = redis.call('GET', text())
  if found then return { 'buried', int(now), int(index - 1), found } end
end

-- The sizes that keys of a copied prefix must have.
for _ = 1, number() do
  if redis.call(texts(2)) ~= number() then return { 'incomplete', int(now) } end
end

for _ = 1, number() do redis.call(texts(2)) end

-- From here on, no command fails.
local changed = 0

-- Removes an open pending call from the lists of its tenant: of all calls, and of its kind. Only the facts of the call
-- give its places there.
local function unlist(key, id, index, kinds, names)
  local facts = redis.call('HGET', key, 'f' .. id)
  local deadline, kind = string.match(facts or '', '^%d+ %d+ (%-?%d*) %d* ?(.*)$')
  if deadline then
    local at = tonumber(deadline)
    local member = (at and place(at) or '2') .. names
    redis.call('ZREM', index, member)
    redis.call('ZREM', kinds, #kind .. ':' .. kind .. member)
  end
end

-- Removes a session from the index by label. Only the stored labels give its places there.
local function unlabel(key, index, at)
  local labels = redis.pcall('HGETALL', key)
  for first = 1, labels.err and 0 or #labels, 2 do
    local name, value = labels[first], labels[first + 1]
    redis.call('ZREM', index, #name .. ':' .. name .. #value .. ':' .. value .. at)
  end
end

-- Removes the rows up to a number. A sorted set holds their numbers.
local function remove_up_to(numbers, hash, last)
  local found = redis.call('ZRANGEBYSCORE', numbers, '-inf', last)
  for first = 1, #found, 512 do
    redis.call('HDEL', hash, unpack(found, first, math.min(first + 511, #found)))
  end
  redis.call('ZREMRANGEBYSCORE', numbers, '-inf', last)
end

for _ = 1, number() do
  local count = text()
  if count == 'unlist' then
    unlist(texts(5))
  elseif count == 'unlabel' then
    unlabel(texts(3))
  elseif count == 'up_to' then
    remove_up_to(texts(3))
  else
    local answer = redis.call(texts(tonumber(count)))
    if type(answer) == 'number' then changed = changed + answer end
  end
end

-- Publishes the change to listeners. It is only a hint, so an error is ignored.
local hint = text()
if hint ~= '' then redis.pcall('SPUBLISH', tag .. ':hints', hint) end
return { 'applied', int(now), int(changed) }
