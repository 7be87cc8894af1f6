-- KEYS[1] holds the incarnation of the store in one partition. Sets it if it is not there, or if it is to be
-- replaced; and answers it.
local incarnation, what = ARGV[1], ARGV[2]

local found = redis.call('GET', KEYS[1])
if not found or what == 'replace' then
  redis.call('SET', KEYS[1], incarnation)
  return incarnation
end
return found
