-- How arguments come in and answers go out. Texts are bytes; a number is a decimal text below 2^53; an
-- empty text is none, since no id is empty.

local args = { at = 0 }
local rules = {}
local rows = {}

-- Ends the script with an error whose first word says what is wrong. Only before the first write.
local function fail(code, detail)
  error({ err = code .. ' ' .. detail })
end

-- The exact text of a whole number: Lua's own turns to exponents at 1e14.
local function int(n)
  return string.format('%.0f', n)
end

local function text(value)
  if value == nil then return '' end
  if value == true then return '1' end
  if value == false then return '0' end
  if type(value) == 'number' then return int(value) end
  return value
end

function args.text()
  args.at = args.at + 1
  local value = ARGV[args.at]
  if not value then fail('ARGUMENTS', 'there are only ' .. #ARGV) end
  return value
end

function args.optional()
  local value = args.text()
  if value ~= '' then return value end
end

function args.number()
  local value = args.text()
  return tonumber(value) or fail('ARGUMENTS', value .. ' is no number')
end

function args.optional_number()
  local value = args.optional()
  if value then return tonumber(value) or fail('ARGUMENTS', value .. ' is no number') end
end

function args.boolean()
  return args.text() == '1'
end

function args.list(read)
  local list = {}
  for index = 1, args.number() do list[index] = read() end
  return list
end

-- The queues that a worker serves, in their order and by their names; nil, nil: all.
function args.queues()
  if not args.boolean() then return nil, nil end
  local queues, served = args.list(args.text), {}
  for _, queue in ipairs(queues) do served[queue] = true end
  return queues, served
end

-- A range of instants: its first, and the first behind it; nil where it is open.
function args.range()
  return { since = args.optional_number(), before = args.optional_number() }
end

-- Several texts as one: each behind its length.
local function pack(...)
  local packed = {}
  for index = 1, select('#', ...) do
    local field = text((select(index, ...)))
    packed[index] = #field .. ':' .. field
  end
  return table.concat(packed)
end

-- An instant as a text whose order is that of time: a digit for the sign, then 16 digits.
local function place(instant)
  if instant < 0 then return string.format('0%016.0f', 9007199254740992 + instant) end
  return string.format('1%016.0f', instant)
end

-- Whether `a` comes before `b` by their bytes, as in an index: `<` asks the server's locale.
local function is_before(a, b)
  for index = 1, math.min(#a, #b) do
    local byte_a, byte_b = string.byte(a, index), string.byte(b, index)
    if byte_a ~= byte_b then return byte_a < byte_b end
  end
  return #a < #b
end

-- The last instant there is: sums of instants go no further.
local LAST_INSTANT = 9007199254740991

local function after(instant, by)
  return math.min(instant + by, LAST_INSTANT)
end
