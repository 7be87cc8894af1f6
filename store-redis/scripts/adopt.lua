-- Gives the first token to a row that a version before tokens wrote. Such a version can then no longer write the
-- session: it finds no field `version`, and reports that the row is corrupt.
local token = text()

if redis.call('HEXISTS', KEYS[2], 'token') == 1 then return { 'adopted' } end
local version = redis.call('HGET', KEYS[2], 'version')
if version then
  redis.call('HSET', KEYS[2], 'token', token, 'session_version', version)
  redis.call('HDEL', KEYS[2], 'version')
end
return { 'adopted' }
