-- KEYS[1] holds the incarnation of the store in one partition: answers it.
return redis.call('GET', KEYS[1]) or ''
