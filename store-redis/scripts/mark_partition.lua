-- KEYS[1] holds the incarnation of the store in one partition. Sets it: with `make` if there is none, with `raise` if
-- it is `seen`, with `replace` in any case. Returns the incarnation that is stored then, or ''.
local incarnation, what, seen = ARGV[1], ARGV[2], ARGV[3]

local found = redis.call('GET', KEYS[1])
if what == 'replace' or (what == 'make' and not found) or (what == 'raise' and found == seen) then
  redis.call('SET', KEYS[1], incarnation)
  return incarnation
end
return found or ''
