-- KEYS[1] is in no store: a write to it that the server allows changes nothing.
redis.call('SET', KEYS[1], '', 'XX')
return 'allowed'
