-- Returns the server's clock in milliseconds. It is read after any wait, because scripts run one after the other.
local function clock()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end
