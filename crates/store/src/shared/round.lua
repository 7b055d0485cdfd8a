-- One round between a replica and what all replicas share: everything it has to say, everything it
-- must know. Atomic, by this server's clock alone, and everything it writes ends by itself.
--
-- KEYS[1]: the prefix of all keys. ARGV[1]: the replica's words as JSON (`Round` in shared.rs).
-- Answers { salt } alone where the replica goes by another salt: this server has forgotten everything.

local prefix = KEYS[1]
local said = cjson.decode(ARGV[1])
local time = redis.call('TIME')
local second = tonumber(time[1])
local now = second * 1000 + math.floor(tonumber(time[2]) / 1000)

local DAY_MS = 24 * 60 * 60 * 1000
-- A replica that was silent for this long is gone.
local SILENT_MS = 10 * 1000
-- A minute, the second a slice may be held for, the second under way, and one for those given back.
local SPAN_S = 63
-- Where everything was forgotten, nothing is handed out before every replica has told what it knows.
local SETTLING_MS = 3 * 1000
local FACTS_MAX = 8192
local PARTS_MAX = 128

local salt = redis.call('GET', prefix .. ':salt')
if not salt then
  salt = said.proposal
  redis.call('SET', prefix .. ':salt', salt)
  if said.salt ~= '' then
    redis.call('SET', prefix .. ':settling', '1', 'PX', SETTLING_MS)
  end
end
redis.call('PEXPIRE', prefix .. ':salt', 30 * DAY_MS)
if salt ~= said.salt then
  return { salt }
end

local alive = prefix .. ':replicas'
if said.leaving then
  redis.call('ZREM', alive, said.replica)
else
  redis.call('ZADD', alive, now, said.replica)
end
redis.call('ZREMRANGEBYSCORE', alive, '-inf', now - SILENT_MS)
redis.call('PEXPIRE', alive, 6 * SILENT_MS)
local replicas = math.max(redis.call('ZCARD', alive), 1)

-- Facts: `version until replica words`, by field. A replica is told those that are newer than what it knows.
local function facts()
  local key, counter = prefix .. ':facts', prefix .. ':version'
  for _, fact in ipairs(said.facts) do
    local version = redis.call('INCR', counter)
    local value = string.format('%.0f %.0f %s %s', version, now + fact.left_ms, said.replica, fact.words)
    redis.call('HSET', key, fact.field, value)
  end
  if redis.call('HLEN', key) > FACTS_MAX then
    redis.call('DEL', key)
  end
  redis.call('PEXPIRE', key, DAY_MS)
  redis.call('PEXPIRE', counter, 30 * DAY_MS)
  local version = tonumber(redis.call('GET', counter) or '0')
  local news = {}
  if version > said.seen then
    local all = redis.call('HGETALL', key)
    for i = 1, #all, 2 do
      local at, ends, by, words = string.match(all[i + 1], '^(%d+) (%d+) (%S+) (.*)$')
      if not at or tonumber(ends) <= now then
        redis.call('HDEL', key, all[i])
      elseif tonumber(at) > said.seen and by ~= said.replica then
        news[#news + 1] = all[i]
        news[#news + 1] = string.format('%.0f', tonumber(ends) - now)
        news[#news + 1] = words
      end
    end
  end
  return version, news
end

-- A rate limit: what was handed out, by second.
local function rate(ask, answer)
  local key = prefix .. ':rate:' .. ask.key
  local counts, newest_first, total = {}, {}, 0
  local all = redis.call('HGETALL', key)
  for i = 1, #all, 2 do
    local at = tonumber(all[i])
    if at <= second - SPAN_S then
      redis.call('HDEL', key, all[i])
    else
      counts[at] = tonumber(all[i + 1])
      newest_first[#newest_first + 1] = at
      total = total + counts[at]
    end
  end
  table.sort(newest_first, function(one, other) return one > other end)
  local back = ask.given_back
  for _, at in ipairs(newest_first) do
    local part = math.min(back, counts[at])
    counts[at], back, total = counts[at] - part, back - part, total - part
    if part > 0 then
      redis.call('HSET', key, at, counts[at])
    end
  end
  total = total + ask.used
  local free = math.max(ask.limit - total, 0)
  local granted = math.min(ask.short, free)
  granted = granted + math.min(ask.ahead, math.floor((free - granted) / (2 * replicas)))
  if granted + ask.used > 0 then
    counts[second] = redis.call('HINCRBY', key, second, granted + ask.used)
    if newest_first[1] ~= second then
      table.insert(newest_first, 1, second)
    end
  end
  redis.call('EXPIRE', key, SPAN_S + 1)
  local oldest, newest
  for _, at in ipairs(newest_first) do
    if counts[at] > 0 then
      newest, oldest = newest or at, at
    end
  end
  local ends = function(at) return at and math.max((at + SPAN_S) * 1000 - now, 0) or 0 end
  local left = free - granted
  answer[#answer + 1] = granted
  answer[#answer + 1] = left
  answer[#answer + 1] = left > 0 and 0 or ends(oldest)
  answer[#answer + 1] = ends(newest)
end

-- A budget: what each replica may commit (`a:`) and has committed (`c:`). Of one that is gone, what it
-- has committed stays.
local function spend(ask, answer)
  local key = prefix .. ':spend:' .. ask.key
  local all = redis.call('HGETALL', key)
  local fold = #all / 2 > PARTS_MAX
  local parts, others, mine = {}, 0, 0
  for i = 1, #all, 2 do
    parts[all[i]] = tonumber(all[i + 1])
  end
  for field, amount in pairs(parts) do
    local who = string.match(field, '^a:(.*)$')
    if who == said.replica then
      mine = amount
    elseif who then
      if who ~= '-' and not redis.call('ZSCORE', alive, who) then
        local committed = parts['c:' .. who] or amount
        if committed < amount then
          redis.call('HSET', key, field, committed)
          amount = committed
        end
        if fold then
          redis.call('HDEL', key, field, 'c:' .. who)
          redis.call('HINCRBY', key, 'a:-', amount)
        end
      end
      others = others + amount
    end
  end
  local free = math.max(ask.limit - others, 0)
  local part = math.max(math.min(mine, ask.wanted), ask.committed)
  if ask.wanted > mine then
    part = math.max(mine, ask.committed)
    part = math.max(part, math.min(ask.needed, free))
    local room = math.floor(math.max(free - part, 0) / (2 * replicas))
    part = part + math.min(math.max(ask.wanted - part, 0), room)
  end
  if said.leaving then
    part = ask.committed
  end
  redis.call('HSET', key, 'a:' .. said.replica, string.format('%.0f', part), 'c:' .. said.replica,
    string.format('%.0f', ask.committed))
  redis.call('PEXPIRE', key, 2 * DAY_MS)
  answer[#answer + 1] = part
  answer[#answer + 1] = others + part
end

local settling = redis.call('EXISTS', prefix .. ':settling')
if settling == 1 then
  for _, ask in ipairs(said.rates) do
    ask.short, ask.ahead = 0, 0
  end
  for _, ask in ipairs(said.spends) do
    -- What it holds already is its own; others must not be handed it.
    ask.needed = ask.wanted
  end
end
local version, news = facts()
local rates, spends = {}, {}
for _, ask in ipairs(said.rates) do
  rate(ask, rates)
end
for _, ask in ipairs(said.spends) do
  spend(ask, spends)
end
return { salt, replicas, settling, version, news, rates, spends }
