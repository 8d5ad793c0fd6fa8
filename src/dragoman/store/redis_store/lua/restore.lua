-- After data was lost: what a replica last saw of a key. All that replicas saw are states of the same counts, one later
-- than the other, so of each offer only what comes after `begun` is added, and `begun` moves on.
local counts, order, run = KEYS[1], KEYS[2], ARGV[1]
local oldest = math.floor((now - 60) / 0.25) + 1
local numbers, there = redis.call('LRANGE', order, 0, -1), {}
for i, one in ipairs(numbers) do
  numbers[i] = tonumber(one)
  there[numbers[i]] = true
end
local mark = redis.call('HMGET', counts, 'run', 'begun', 'begun_r', 'begun_t')
if mark[1] ~= run then
  local last = string.format('%.0f', numbers[#numbers] or -1)
  local had = redis.call('HMGET', counts, last .. 'r', last .. 't')
  mark = {run, last, had[1], had[2]}
end
local begun, begun_r, begun_t = tonumber(mark[2]), tonumber(mark[3] or '0'), tonumber(mark[4] or '0')
local new_begun, new_r, new_t = begun, begun_r, begun_t
for i = 2, #ARGV, 3 do
  local number, r, t = tonumber(ARGV[i]), tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  if number >= begun then
    new_begun, new_r, new_t = number, r, t
    if number == begun then
      new_r, new_t = math.max(r, begun_r), math.max(t, begun_t)
      r, t = new_r - begun_r, new_t - begun_t
    end
    if number >= oldest then
      local name = string.format('%.0f', number)
      if not there[number] then
        there[number] = true
        numbers[#numbers + 1] = number
      end
      redis.call('HINCRBY', counts, name .. 'r', r)
      redis.call('HINCRBY', counts, name .. 't', t)
      redis.call('HINCRBY', counts, 'r', r)
      redis.call('HINCRBY', counts, 't', t)
    end
  end
end
if #numbers == 0 then return 0 end
redis.call('HSET', counts, 'run', run, 'begun', string.format('%.0f', new_begun), 'begun_r', new_r, 'begun_t', new_t)
table.sort(numbers)
redis.call('DEL', order)
for _, number in ipairs(numbers) do redis.call('RPUSH', order, string.format('%.0f', number)) end
redis.call('PEXPIRE', counts, 61000)
redis.call('PEXPIRE', order, 61000)
return 1
