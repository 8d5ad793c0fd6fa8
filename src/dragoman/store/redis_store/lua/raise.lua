-- After data was lost: what was spent before is at least what a replica was told. Replicas may all say so; the most
-- counts, and what they add afterwards comes on top: `from` is what was there when this run of the server began.
for i = 1, #KEYS do
  local known, ttl = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
  local there = redis.call('HMGET', KEYS[i], 'run', 'added', 'from', 'base')
  local from, base = tonumber(there[3] or '0'), tonumber(there[4] or '0')
  if there[1] ~= ARGV[1] then
    from = tonumber(there[2] or '0')
    redis.call('HSET', KEYS[i], 'run', ARGV[1], 'from', there[2] or '0')
  end
  if known - from > base then redis.call('HSET', KEYS[i], 'base', string.format('%.17g', known - from)) end
  if ttl > 0 then redis.call('EXPIRE', KEYS[i], ttl) end
end
return 1
