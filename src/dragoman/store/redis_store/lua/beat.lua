local replicas, mark, versions, rests, gone = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local before = tonumber(redis.call('GET', mark) or '-1')
redis.call('SET', mark, ARGV[2], 'EX', 7200)
redis.call('ZADD', replicas, now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', replicas, '-inf', now - tonumber(ARGV[3]))
redis.call('EXPIRE', replicas, 7200)
redis.call('ZREMRANGEBYSCORE', rests, '-inf', now)
redis.call('ZREMRANGEBYSCORE', gone, '-inf', now)
local resting = redis.call('ZRANGE', rests, 0, -1, 'WITHSCORES')
for i = 2, #resting, 2 do resting[i] = tostring(resting[i] - now) end
return {redis.call('ZCARD', replicas), before, redis.call('HGETALL', versions), resting,
        redis.call('ZRANGE', gone, 0, -1)}
