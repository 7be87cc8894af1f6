-- Returns the clock of a test. It is a key of the partition, and changes only if the test changes it.
local function clock()
  return tonumber(redis.call('GET', string.sub(KEYS[1], 1, -7) .. ':clock')) or fail('CORRUPT', 'clock')
end
