-- Functions for arguments and answers. A text is any bytes; a number is a decimal text of at most 2^53.

local taken = 0

-- Ends the script with an error whose first word is `code`. Must not be called after the first write.
local function fail(code, detail)
  error({ err = code .. ' ' .. detail })
end

-- Returns the exact text of a whole number. Lua's own conversion uses exponents from 1e14 on.
local function int(n)
  return string.format('%.0f', n)
end

-- Returns the next argument.
local function text()
  taken = taken + 1
  return ARGV[taken] or fail('ARGUMENTS', 'there are only ' .. #ARGV)
end

-- Returns the next argument as a number.
local function number()
  local value = text()
  return tonumber(value) or fail('ARGUMENTS', value .. ' is no number')
end

-- Returns the next `count` arguments.
local function texts(count)
  local first = taken + 1
  taken = taken + count
  return unpack(ARGV, first, taken)
end

-- Returns an instant as text that sorts like the instant: a digit for the sign, then 16 digits.
local function place(instant)
  if instant < 0 then return string.format('0%016.0f', 9007199254740992 + instant) end
  return string.format('1%016.0f', instant)
end
