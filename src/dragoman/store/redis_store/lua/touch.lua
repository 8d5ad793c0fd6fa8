local base, ttl, address = KEYS[1], tonumber(ARGV[1]), ARGV[2]
if redis.call('ZSCORE', base .. ':used', address) then
  redis.call('ZADD', base .. ':used', now, address)
  redis.call('ZADD', base .. ':caller:' .. string.sub(address, 1, 16), now, address)
  redis.call('PEXPIRE', base .. ':value:' .. address, math.ceil(ttl * 1100))
end
return 1
