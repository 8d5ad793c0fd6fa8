local ttl, most_own, most, most_bytes = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local first, swap = ARGV[6] == 'first', ARGV[6] == 'swap'
local own, most_owned = base .. ':caller:' .. ARGV[7], tonumber(ARGV[5])
local keep = math.ceil(ttl * 1100)
for i = 8, swap and 9 or #ARGV, 2 do
  local address, value = ARGV[i], ARGV[i + 1]
  local seen = swap and redis.call('GET', base .. ':value:' .. address)
  if swap and seen ~= ARGV[10] then return seen end
  local there = first and redis.call('ZSCORE', used, address)
  if there and tonumber(there) >= now - ttl then
    local kept = redis.call('GET', base .. ':value:' .. address)
    if kept then return kept end
  end
  local size = #value + 200
  local more = size - (redis.call('HGET', sizes, address) or 0)
  redis.call('INCRBY', total, more)
  redis.call('HINCRBY', owned, ARGV[7], more)
  redis.call('HSET', sizes, address, size)
  redis.call('SET', base .. ':value:' .. address, value, 'PX', keep)
  redis.call('ZADD', used, now, address)
  redis.call('ZADD', own, now, address)
end
for _, address in ipairs(redis.call('ZRANGEBYSCORE', used, '-inf', now - ttl, 'LIMIT', 0, 32)) do drop(address) end
while redis.call('ZCARD', own) > most_own or tonumber(redis.call('HGET', owned, ARGV[7]) or 0) > most_owned do
  local oldest = redis.call('ZRANGE', own, 0, 0)[1]
  if not oldest then redis.call('HDEL', owned, ARGV[7]) break end
  drop(oldest)
end
while redis.call('ZCARD', used) > most or tonumber(redis.call('GET', total)) > most_bytes do
  local oldest = redis.call('ZRANGE', used, 0, 0)[1]
  if not oldest then redis.call('DEL', total, sizes) break end
  drop(oldest)
end
for _, key in ipairs({used, sizes, total, own, owned}) do redis.call('PEXPIRE', key, keep + 86400000) end
return swap and ARGV[9]
