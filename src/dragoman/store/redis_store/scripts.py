"""The scripts that run inside Redis, each as one step that nothing comes between.

Time is Redis' own, so that replicas whose clocks differ agree. A test may put another clock in its place.
"""

from __future__ import annotations

import hashlib

from msgspec import Struct

SERVER_TIME = "(function() local t = redis.call('TIME') return t[1] + t[2] / 1000000 end)()"


class ScriptClock(Struct, frozen=True):
    """Lua expressions for the time in seconds."""

    wall: str = SERVER_TIME
    """Dates what is kept."""
    steady: str = SERVER_TIME
    """Measures the windows of limits."""


class LuaScript(Struct, frozen=True):
    """A text of Lua and the name by which Redis knows it."""

    text: str

    @property
    def sha(self) -> bytes:
        return hashlib.sha1(self.text.encode()).hexdigest().encode()  # noqa: S324 - Redis' own name for it


class Scripts:
    """All scripts, with their clock filled in."""

    def __init__(self, clock: ScriptClock) -> None:
        wall, steady = f"local now = {clock.wall}\n", f"local now = {clock.steady}\n"
        self.all = (
            *(LuaScript(wall + _DROP + _PUT), LuaScript(wall + _DROP + _FIND), LuaScript(wall + _TOUCH)),
            *(LuaScript(_DROP + _REMOVE), LuaScript(_DROP + _FORGET), LuaScript(steady + _COUNT), LuaScript(_BOOK)),
            *(
                LuaScript(_RAISE),
                LuaScript(_NOTE),
                LuaScript(_UNNOTE),
                LuaScript(wall + _REST),
                LuaScript(wall + _BEAT),
                LuaScript(steady + _RESTORE),
            ),
        )
        shas = [one.sha for one in self.all]
        self.put, self.find, self.touch, self.remove, self.forget, self.count, self.book = shas[:7]
        self.raise_, self.note, self.unnote, self.rest, self.beat, self.restore = shas[7:]


_DROP = """
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
"""
"""Of a table: values by address, addresses by last use (of all and of each caller), their sizes and the sum."""

_PUT = """
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
"""
_FIND = """
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
"""
_TOUCH = """
local base, ttl, address = KEYS[1], tonumber(ARGV[1]), ARGV[2]
if redis.call('ZSCORE', base .. ':used', address) then
  redis.call('ZADD', base .. ':used', now, address)
  redis.call('ZADD', base .. ':caller:' .. string.sub(address, 1, 16), now, address)
  redis.call('PEXPIRE', base .. ':value:' .. address, math.ceil(ttl * 1100))
end
return 1
"""
_REMOVE = """
for i = 1, #ARGV do drop(ARGV[i]) end
return 1
"""
_FORGET = """
local place, count = ARGV[2], 0
for _, address in ipairs(redis.call('ZRANGE', base .. ':caller:' .. ARGV[1], 0, -1)) do
  if place == '' or string.sub(address, 17, 32) == place then
    drop(address)
    count = count + 1
  end
end
return count
"""
"""All values of a caller, or those of one place."""

_COUNT = """
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
"""
"""The quarter seconds of the last minute, their order, and the sums `r` and `t`. See `rate_windows.py`. `begun` is the
last quarter second that was there when this run of the server began, and `begun_r` and `begun_t` what it held."""

_RESTORE = """
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
"""
"""After data was lost: what a replica last saw of a key. All that replicas saw are states of the same counts, one later
than the other, so of each offer only what comes after `begun` is added, and `begun` moves on."""

_BOOK = """
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
"""
"""Amounts by period. Every booking of a replica has a number: one that was seen before is not booked again. The marks
tell which reservations were booked, for a replica that lost the connection before it knew."""

_RAISE = """
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
"""
"""After data was lost: what was spent before is at least what a replica was told. Replicas may all say so; the most
counts, and what they add afterwards comes on top: `from` is what was there when this run of the server began."""

_NOTE = """
local notes, stamps = KEYS[1], KEYS[2]
redis.call('HSET', notes, ARGV[1], ARGV[3])
redis.call('ZADD', stamps, ARGV[2], ARGV[1])
while redis.call('ZCARD', stamps) > tonumber(ARGV[4]) do
  redis.call('HDEL', notes, redis.call('ZPOPMIN', stamps)[1])
end
redis.call('EXPIRE', notes, 7776000)
redis.call('EXPIRE', stamps, 7776000)
redis.call('HINCRBY', KEYS[3], notes, 1)
redis.call('EXPIRE', KEYS[3], 7776000)
return 1
"""
_UNNOTE = """
local notes, stamps = KEYS[1], KEYS[2]
for i = 1, #ARGV do
  redis.call('HDEL', notes, ARGV[i])
  redis.call('ZREM', stamps, ARGV[i])
end
redis.call('HINCRBY', KEYS[3], notes, 1)
redis.call('EXPIRE', KEYS[3], 7776000)
return 1
"""
_REST = """
local seconds = tonumber(ARGV[2])
if seconds <= 0 then return redis.call('ZREM', KEYS[1], ARGV[1]) end
redis.call('ZADD', KEYS[1], 'GT', now + seconds, ARGV[1])
local more = redis.call('ZCARD', KEYS[1]) - tonumber(ARGV[3])
if more > 0 then redis.call('ZREMRANGEBYRANK', KEYS[1], 0, more - 1) end
return redis.call('EXPIRE', KEYS[1], 7200)
"""
_BEAT = """
local replicas, mark, versions, rests, gone = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local before = tonumber(redis.call('GET', mark) or '-1')
redis.call('SET', mark, ARGV[2], 'EX', 7200)
redis.call('ZADD', replicas, now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', replicas, '-inf', now - tonumber(ARGV[3]))
redis.call('EXPIRE', replicas, 7200)
redis.call('ZREMRANGEBYSCORE', rests, '-inf', now)
redis.call('ZREMRANGEBYSCORE', gone, '-inf', now)
local resting = redis.call('ZRANGE', rests, 0, -1, 'WITHSCORES')
for i = 2, #resting, 2 do resting[i] = tostring(resting[i] - now) end
return {redis.call('ZCARD', replicas), before, redis.call('HGETALL', versions), resting,
        redis.call('ZRANGE', gone, 0, -1)}
"""
