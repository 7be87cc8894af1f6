-- Finds the tenants whose turn is next in groups of several partitions (KEYS: the incarnation of the store in each).
-- Returns the clock and, for each partition, the turns of each of its groups.
local after = text()
local bounds = { enough = number(), most = number(), each = number() }

local answer = { int(now) }
for _, store in ipairs(KEYS) do
  check_store(store)
  local groups = {}
  for index = 1, number() do groups[index] = turns_of(tag_of(store), text(), after, bounds) end
  answer[#answer + 1] = groups
end
return answer
