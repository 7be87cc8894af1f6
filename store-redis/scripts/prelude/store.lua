-- KEYS[1] is the incarnation of the store, in this partition. It ends in ":store"; what comes before is
-- the hash tag that every key of the partition begins with.
local function tag_of(store)
  return string.sub(store, 1, -7)
end

local tag = tag_of(KEYS[1])

-- The first argument is the incarnation that the handle has opened. Another one, or none, is a store that was
-- emptied or replaced under it.
local opened = text()
local function check_store(store)
  local found = redis.call('GET', store)
  if found ~= opened then
    fail('WENTBACK', 'the store was opened as ' .. opened .. ' and is now ' .. (found or 'empty'))
  end
end

check_store(KEYS[1])
local now = clock()

-- Whether the instant whose text begins there has come. Numbers are compared: the server's locale orders texts.
local function has_come(text, first)
  local digits = tonumber(string.sub(text, first + 1, first + 16))
  if not digits then return false end
  if string.sub(text, first, first) == '0' then digits = digits - 9007199254740992 end
  return digits <= now
end
