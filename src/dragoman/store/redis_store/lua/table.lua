-- Of a table: values by address, addresses by last use (of all and of each caller), their sizes and the sum.
local base = KEYS[1]
local used, sizes, total, owned = base .. ':used', base .. ':sizes', base .. ':bytes', base .. ':owned'
local function drop(address)
  redis.call('DEL', base .. ':value:' .. address)
  redis.call('ZREM', used, address)
  redis.call('ZREM', base .. ':caller:' .. string.sub(address, 1, 16), address)
  local size = redis.call('HGET', sizes, address)
  if size then
    redis.call('HDEL', sizes, address)
    redis.call('DECRBY', total, size)
    redis.call('HINCRBY', owned, string.sub(address, 1, 16), -size)
  end
end
