-- Returns the incarnation of the store that one partition holds (KEYS[1]), or ''.
return redis.call('GET', KEYS[1]) or ''
