local seconds = tonumber(ARGV[2])
if seconds <= 0 then return redis.call('ZREM', KEYS[1], ARGV[1]) end
redis.call('ZADD', KEYS[1], 'GT', now + seconds, ARGV[1])
local more = redis.call('ZCARD', KEYS[1]) - tonumber(ARGV[3])
if more > 0 then redis.call('ZREMRANGEBYRANK', KEYS[1], 0, more - 1) end
return redis.call('EXPIRE', KEYS[1], 7200)
