-- Reads what a version before this one left of deleted sessions: when each was deleted, or ''.
local found = {}
for index = 1, number() do found[index] = redis.call('GET', text()) or '' end
return found
