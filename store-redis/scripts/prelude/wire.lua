-- How arguments come in and answers go out. Texts are bytes; a number is a decimal text below 2^53.

local taken = 0

-- Ends the script with an error whose first word says what is wrong. Only before the first write.
local function fail(code, detail)
  error({ err = code .. ' ' .. detail })
end

-- The exact text of a whole number: Lua's own turns to exponents at 1e14.
local function int(n)
  return string.format('%.0f', n)
end

-- The next argument.
local function text()
  taken = taken + 1
  return ARGV[taken] or fail('ARGUMENTS', 'there are only ' .. #ARGV)
end

-- The next argument, which is a number.
local function number()
  local value = text()
  return tonumber(value) or fail('ARGUMENTS', value .. ' is no number')
end

-- The next arguments, so many of them.
local function texts(count)
  local first = taken + 1
  taken = taken + count
  return unpack(ARGV, first, taken)
end

-- An instant as a text whose order is that of time: a digit for the sign, then 16 digits.
local function place(instant)
  if instant < 0 then return string.format('0%016.0f', 9007199254740992 + instant) end
  return string.format('1%016.0f', instant)
end
