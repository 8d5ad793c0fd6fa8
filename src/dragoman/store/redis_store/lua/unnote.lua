local notes, stamps = KEYS[1], KEYS[2]
for i = 1, #ARGV do
  redis.call('HDEL', notes, ARGV[i])
  redis.call('ZREM', stamps, ARGV[i])
end
redis.call('HINCRBY', KEYS[3], notes, 1)
redis.call('EXPIRE', KEYS[3], 7776000)
return 1
