local notes, stamps = KEYS[1], KEYS[2]
redis.call('HSET', notes, ARGV[1], ARGV[3])
redis.call('ZADD', stamps, ARGV[2], ARGV[1])
while redis.call('ZCARD', stamps) > tonumber(ARGV[4]) do
  redis.call('HDEL', notes, redis.call('ZPOPMIN', stamps)[1])
end
redis.call('EXPIRE', notes, 7776000)
redis.call('EXPIRE', stamps, 7776000)
redis.call('HINCRBY', KEYS[3], notes, 1)
redis.call('EXPIRE', KEYS[3], 7776000)
return 1
