-- No store creates KEYS[1], so the write changes nothing, even if the server allows it.
redis.call('SET', KEYS[1], '', 'XX')
return 'allowed'
