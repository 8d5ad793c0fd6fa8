-- The quarter seconds of the last minute, their order, and the sums `r` and `t`. See `rate_windows.py`. `begun` is the
-- last quarter second that was there when this run of the server began, and `begun_r` and `begun_t` what it held.
local counts, order = KEYS[1], KEYS[2]
local rpm, tpm = tonumber(ARGV[1]), tonumber(ARGV[2])
local requests, tokens, age, asks = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6] == '1'
local run, since = ARGV[7], tonumber(ARGV[8])
local slice, oldest = math.floor(now / 0.25), math.floor((now - 60) / 0.25) + 1
local last = tonumber(redis.call('LINDEX', order, -1) or '-1')
if last > slice + 8 then
  redis.call('DEL', counts, order)
  last = -1
end
local first = redis.call('LINDEX', order, 0)
while first and tonumber(first) < oldest do
  redis.call('LPOP', order)
  local gone = redis.call('HMGET', counts, first .. 'r', first .. 't')
  redis.call('HINCRBY', counts, 'r', 0 - (gone[1] or 0))
  redis.call('HINCRBY', counts, 't', 0 - (gone[2] or 0))
  redis.call('HDEL', counts, first .. 'r', first .. 't')
  first = redis.call('LINDEX', order, 0)
end
if not first then
  redis.call('DEL', counts)
  last = -1
end
local sums = redis.call('HMGET', counts, 'r', 't', 'run')
local r, t = tonumber(sums[1] or '0'), tonumber(sums[2] or '0')
local function wait(column, excess)
  for _, one in ipairs(redis.call('LRANGE', order, 0, -1)) do
    excess = excess - (redis.call('HGET', counts, one .. column) or 0)
    if excess <= 0 then return tostring(math.max(0.25, one * 0.25 + 60 - now)) end
  end
  return '60'
end
local function answer(counted, what, seconds)
  local told = {counted, what, seconds, string.format('%.6f', now), r, t, since}
  for _, one in ipairs(redis.call('LRANGE', order, since > 0 and math.min(since - slice - 2, -1) or 0, -1)) do
    if tonumber(one) >= since then
      local each = redis.call('HMGET', counts, one .. 'r', one .. 't')
      told[#told + 1] = tonumber(one)
      told[#told + 1] = tonumber(each[1] or '0')
      told[#told + 1] = tonumber(each[2] or '0')
    end
  end
  return told
end
if asks then
  if rpm and r + requests > rpm then return answer(0, 'requests', wait('r', r - rpm + requests)) end
  local wanted = math.max(tokens, 1)
  if tpm and t > 0 and t + wanted > tpm then return answer(0, 'tokens', wait('t', math.min(t, t + wanted - tpm))) end
end
local at = math.floor((now - age) / 0.25)
if at < oldest or (requests == 0 and tokens == 0) then return answer(1, '', '0') end
if sums[3] ~= run then
  local name = string.format('%.0f', last)
  local had = redis.call('HMGET', counts, name .. 'r', name .. 't')
  redis.call('HSET', counts, 'run', run, 'begun', name, 'begun_r', had[1] or '0', 'begun_t', had[2] or '0')
end
if at > last then
  redis.call('RPUSH', order, string.format('%.0f', at))
elseif at < last then
  for _, one in ipairs(redis.call('LRANGE', order, 0, -1)) do
    if tonumber(one) >= at then
      at = tonumber(one)
      break
    end
  end
end
at = string.format('%.0f', at)
r = redis.call('HINCRBY', counts, 'r', requests)
t = redis.call('HINCRBY', counts, 't', tokens)
redis.call('HINCRBY', counts, at .. 'r', requests)
redis.call('HINCRBY', counts, at .. 't', tokens)
redis.call('PEXPIRE', counts, 61000)
redis.call('PEXPIRE', order, 61000)
return answer(1, '', '0')
