local ttl, own = tonumber(ARGV[1]), base .. ':caller:' .. ARGV[2]
local found = {}
for i = 3, #ARGV do
  local address = ARGV[i]
  local score = redis.call('ZSCORE', used, address)
  if score and tonumber(score) >= now - ttl then
    found[#found + 1] = redis.call('GET', base .. ':value:' .. address)
    if now - tonumber(score) >= ttl / 16 then
      redis.call('ZADD', used, now, address)
      redis.call('ZADD', own, now, address)
      redis.call('PEXPIRE', base .. ':value:' .. address, math.ceil(ttl * 1100))
    end
  else
    found[#found + 1] = false
  end
end
return found
