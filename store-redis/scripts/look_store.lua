-- KEYS[1] holds what is fixed when a store is made: answers it.
return redis.call('HMGET', KEYS[1], 'format', 'partitions', 'incarnation', 'whole', 'raised_from', 'lives',
  'labels')
