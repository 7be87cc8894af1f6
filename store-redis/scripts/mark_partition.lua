-- KEYS[1] holds the incarnation of the store in one partition. Sets it if it is not there, or if it is one that is to
-- be replaced, or whatever it is; and answers it.
local incarnation, what, seen = ARGV[1], ARGV[2], ARGV[3]

local found = redis.call('GET', KEYS[1])
if what == 'replace' or (what == 'make' and not found) or (what == 'raise' and found == seen) then
  redis.call('SET', KEYS[1], incarnation)
  return incarnation
end
return found or ''
