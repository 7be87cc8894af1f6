-- The clock of a test: a key of the partition, which stands still until the test moves it.
local function clock()
  return tonumber(redis.call('GET', string.sub(KEYS[1], 1, -7) .. ':clock')) or fail('CORRUPT', 'clock')
end
