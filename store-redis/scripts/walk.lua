-- Walks along indexes of several partitions (KEYS: the incarnation of the store in each). Returns the clock and, for
-- each partition, the members found by each walk and, if wanted, their rows: a member, its fields, its labels. A row
-- that cannot be read is replaced by a text.
local beside, tenant = text(), text()

-- Returns the key of the row that a member names. In an index of one tenant, members name no tenant.
local function row_of(tag, member)
  local owner, id = tenant, string.sub(member, 18)
  if owner == '' then
    local cut = string.find(member, '\0', 18, true)
    if not cut then return nil end
    owner, id = string.sub(member, 18, cut - 1), string.sub(member, cut + 1)
  end
  return tag .. ':s:' .. #owner .. ':' .. owner .. id
end

local function row(tag, member)
  local key = row_of(tag, member)
  local flat = key and redis.pcall('HGETALL', key)
  if not flat or flat.err then return 'torn', {} end
  local labels = {}
  if beside == 'labels' then
    for index = 1, #flat, 2 do
      if flat[index] == 'life' then labels = redis.pcall('HGETALL', tag .. ':' .. flat[index + 1] .. ':labels') end
    end
    if labels.err then return 'torn', {} end
  end
  return flat, labels
end

-- Returns the bounds of a walk among the members that begin with `head`. A digit follows the head.
local function behind(head, low, high)
  low = low == '-' and '[' .. head or string.sub(low, 1, 1) .. head .. string.sub(low, 2)
  high = high == '+' and '(' .. head .. ':' or string.sub(high, 1, 1) .. head .. string.sub(high, 2)
  return low, high
end

-- Returns the head with which the fewest members within the bounds begin.
local function shortest(key, heads, low, high)
  local found, fewest = heads[1] or '', nil
  for _, head in ipairs(#heads > 1 and heads or {}) do
    local count = redis.call('ZLEXCOUNT', key, behind(head, low, high))
    if not fewest or count < fewest then found, fewest = head, count end
  end
  return found
end

local answer = { int(now) }
for _, store in ipairs(KEYS) do
  check_store(store)
  local tag, walks, rows, seen = tag_of(store), {}, {}, {}
  for index = 1, number() do
    local key, low, high, down, most = tag .. ':' .. text(), text(), text(), text() == '1', number()
    local heads = { texts(number()) }
    local head = shortest(key, heads, low, high)
    if #heads > 0 then low, high = behind(head, low, high) end
    if down then
      walks[index] = redis.call('ZREVRANGEBYLEX', key, high, low, 'LIMIT', 0, most)
    else
      walks[index] = redis.call('ZRANGEBYLEX', key, low, high, 'LIMIT', 0, most)
    end
    if #heads > 0 then
      for nth, member in ipairs(walks[index]) do walks[index][nth] = string.sub(member, #head + 1) end
    end
    if beside ~= '' then
      for _, member in ipairs(walks[index]) do
        if not seen[member] then
          seen[member] = true
          rows[#rows + 1] = member
          rows[#rows + 1], rows[#rows + 2] = row(tag, member)
        end
      end
    end
  end
  answer[#answer + 1] = { walks, rows }
end
return answer
