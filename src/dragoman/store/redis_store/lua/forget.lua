-- All values of a caller, or those of one place.
local place, count = ARGV[2], 0
for _, address in ipairs(redis.call('ZRANGE', base .. ':caller:' .. ARGV[1], 0, -1)) do
  if place == '' or string.sub(address, 17, 32) == place then
    drop(address)
    count = count + 1
  end
end
return count
