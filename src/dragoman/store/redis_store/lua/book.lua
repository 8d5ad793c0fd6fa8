-- Amounts by period. Every booking of a replica has a number: one that was seen before is not booked again. The marks
-- tell which reservations were booked, for a replica that lost the connection before it knew.
local marks, seen = KEYS[1], KEYS[2]
local mode, number, amount, about = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local last, known = tonumber(redis.call('GET', seen) or '0'), #KEYS - 2
local run = ARGV[6 + 2 * known]
local function spent()
  local sums = {}
  for i = 1, known do
    local one = redis.call('HMGET', KEYS[i + 2], 'added', 'base')
    sums[i] = (one[1] or 0) + (one[2] or 0)
  end
  return sums
end
local function amounts(first, sums)
  local shown = {first}
  for i = 1, known do shown[i + 1] = string.format('%.17g', sums[i]) end
  return shown
end
local function add(more)
  for i = 1, known do
    local there = redis.call('HMGET', KEYS[i + 2], 'run', 'added')
    if there[1] ~= run then redis.call('HSET', KEYS[i + 2], 'run', run, 'from', there[2] or '0') end
    redis.call('HINCRBYFLOAT', KEYS[i + 2], 'added', more)
    local ttl = tonumber(ARGV[4 + 2 * i])
    if ttl > 0 then redis.call('EXPIRE', KEYS[i + 2], ttl) end
  end
  return amounts(0, spent())
end
if number <= last then return amounts(-1, spent()) end
redis.call('SET', seen, string.format('%.0f', number), 'EX', 7200)
if mode == 'add' then return add(amount) end
if mode == 'resolve' then
  local booked, admitted = redis.call('GETBIT', marks, about % 8192) == 1, ARGV[5 + 2 * known] == '1'
  if admitted and not booked then return add(amount) end
  if booked and not admitted then return add(string.format('%.17g', 0 - amount)) end
  return amounts(0, spent())
end
local sums, full = spent(), 0
for i = 1, known do
  local limit = tonumber(ARGV[3 + 2 * i])
  if full == 0 and limit and (sums[i] >= limit or sums[i] + amount > limit) then full = i end
end
redis.call('SETBIT', marks, number % 8192, full == 0 and 1 or 0)
redis.call('SETBIT', marks, (number + 4096) % 8192, 0)
redis.call('EXPIRE', marks, 7200)
if full > 0 then return amounts(full, sums) end
return add(amount)
