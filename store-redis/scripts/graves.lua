-- Reads keys that versions before tokens left of deleted sessions. Returns the instant of each deletion, or '' if
-- there is no such key.
local found = {}
for index = 1, number() do found[index] = redis.call('GET', text()) or '' end
return found
