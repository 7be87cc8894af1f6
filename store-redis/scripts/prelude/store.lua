-- KEYS[1] is the incarnation of the store, in this partition. It ends in ":store"; what comes before is
-- the hash tag that every key of the partition begins with.
local tag = string.sub(KEYS[1], 1, -7)

-- The first argument is the incarnation that the handle has opened. Another one, or none, is a store that was
-- emptied or replaced under it.
do
  local opened = args.text()
  local found = redis.call('GET', KEYS[1])
  if found ~= opened then
    fail('WENTBACK', 'the store was opened as ' .. opened .. ' and is now ' .. (found or 'empty'))
  end
end

local now = clock()
