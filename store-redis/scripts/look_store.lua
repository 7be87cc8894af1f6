-- Returns the fixed parameters of a store (KEYS[1]).
return redis.call('HMGET', KEYS[1], 'format', 'partitions', 'incarnation', 'whole', 'raised_from', 'lives',
  'labels', 'kinds')
