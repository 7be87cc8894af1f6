-- KEYS[1] is the key of the store's incarnation in this partition. It ends in ":store". Before that is the hash tag
-- with which every key of the partition begins.
local function tag_of(store)
  return string.sub(store, 1, -7)
end

local tag = tag_of(KEYS[1])

-- The first argument is the incarnation that the handle has opened. If the partition holds another one or none, the
-- store was emptied or replaced since then.
local opened = text()
local function check_store(store)
  local found = redis.call('GET', store)
  if found ~= opened then
    fail('WENTBACK', 'the store was opened as ' .. opened .. ' and is now ' .. (found or 'empty'))
  end
end

check_store(KEYS[1])
local now = clock()

-- Returns true if the instant whose text begins at `first` has come. Compares numbers, because the server's locale
-- decides the order of texts.
local function has_come(text, first)
  local digits = tonumber(string.sub(text, first + 1, first + 16))
  if not digits then return false end
  if string.sub(text, first, first) == '0' then digits = digits - 9007199254740992 end
  return digits <= now
end
