-- One round between a replica and what all replicas share: everything it has to say, everything it
-- must know. Atomic, by this server's clock alone, and everything it writes ends by itself.
--
-- KEYS[1]: the prefix of all keys. ARGV[1]: the replica's words as JSON (`Round` in shared.rs).
-- Answers { salt } alone where the replica goes by another salt: this server has forgotten everything. So it does to
-- a round that comes after a later one, whose answer nobody waits for.

local prefix = KEYS[1]
local said = cjson.decode(ARGV[1])
local time = redis.call('TIME')
local second = tonumber(time[1])
local now = second * 1000 + math.floor(tonumber(time[2]) / 1000)

local DAY_MS = 24 * 60 * 60 * 1000
-- A replica that was silent for this long is not one of those who share what is handed out.
local SILENT_MS = 10 * 1000
-- What was started counts for a minute, and the second under way.
local SPAN_S = 61
-- What a replica holds counts for as long as it may start it (`rate::KEEP`) and the span more, however long it is
-- silent; so does its part of a budget.
local KEPT_MS = (65 + SPAN_S + 4) * 1000
-- Where everything was forgotten, or nobody was heard, nothing is handed out before every replica has told what it knows.
local SETTLING_MS = 3 * 1000
-- After somebody could not have what it needs, nobody holds anything ahead for this long.
local TIGHT_MS = 2 * 1000
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

-- A round that was given up may still come, after later ones: what it says is no longer so.
local numbered = prefix .. ':round:' .. said.replica
if said.number <= tonumber(redis.call('GET', numbered) or '0') then
  return { salt }
end
redis.call('SET', numbered, said.number, 'PX', KEPT_MS)

local alive = prefix .. ':replicas'
local newest = redis.call('ZREVRANGE', alive, 0, 0, 'WITHSCORES')
if redis.call('ZSCORE', alive, said.replica) and tonumber(newest[2]) < now - SILENT_MS then
  -- Nobody was heard: each may have gone on with what it held, and longer than that is kept.
  redis.call('SET', prefix .. ':settling', '1', 'PX', SETTLING_MS)
end
local settling = redis.call('EXISTS', prefix .. ':settling')
if said.leaving then
  redis.call('ZREM', alive, said.replica)
else
  redis.call('ZADD', alive, now, said.replica)
end
if settling == 0 then
  redis.call('ZREMRANGEBYSCORE', alive, '-inf', now - KEPT_MS)
end
redis.call('PEXPIRE', alive, DAY_MS)
local replicas = math.max(redis.call('ZCOUNT', alive, now - SILENT_MS, '+inf'), 1)

-- What one may hold ahead of what is free: an equal part, so that there is something to go on with should this
-- server be away, and something left for who is in need.
local function ahead(free)
  return math.floor(math.max(free, 0) / math.max(replicas, 2))
end

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

-- A rate limit: what was started, by second; what each replica holds (`held at heard used`: when it said so, and
-- which of its rounds it had been answered before it said how much it used); until when nobody holds anything ahead.
local function rate(ask, answer)
  local key = prefix .. ':rate:' .. ask.key
  local total, others, tight, known = 0, 0, 0, 0
  local oldest, newest
  local all = redis.call('HGETALL', key)
  for i = 1, #all, 2 do
    local field, value = all[i], all[i + 1]
    local at = tonumber(field)
    local held, when, heard, used = string.match(value, '^(%d+) (%d+) (%d+) (%d+)$')
    if field == 'tight' then
      tight = tonumber(value)
    elseif field == 'r:' .. said.replica then
      -- What was said before and not known to be heard is said again.
      known = tonumber(heard) == said.heard and tonumber(used) or 0
    elseif held then
      if tonumber(when) > now - KEPT_MS then
        others = others + tonumber(held)
      else
        redis.call('HDEL', key, field)
      end
    elseif at > second - SPAN_S then
      total = total + tonumber(value)
      oldest, newest = math.min(oldest or at, at), math.max(newest or at, at)
    else
      redis.call('HDEL', key, field)
    end
  end
  local started = math.max(ask.used - known, 0)
  if started > 0 then
    redis.call('HINCRBY', key, second, started)
    total = total + started
    oldest, newest = oldest or second, second
  end
  local free = math.max(ask.limit - total - others, 0)
  local held = ask.held
  if said.leaving then
    held = 0
  elseif settling == 0 then
    held = math.min(ask.short, free)
    if ask.short > free then
      tight = now + TIGHT_MS
      redis.call('HSET', key, 'tight', string.format('%.0f', tight))
    end
    if tight <= now and not ask.idle then
      held = held + ahead(free - held)
    end
    -- Never more than all may start when nobody can be asked.
    held = math.min(held, math.max(math.floor(ask.limit / replicas), 1))
  end
  -- Until it has heard that it holds less, it may start what it held.
  local counted = said.leaving and 0 or math.max(held, ask.held)
  if counted + ask.used > 0 then
    redis.call('HSET', key, 'r:' .. said.replica, string.format('%.0f %.0f %.0f %.0f', counted, now, said.heard,
      math.max(ask.used, known)))
  else
    redis.call('HDEL', key, 'r:' .. said.replica)
  end
  redis.call('PEXPIRE', key, KEPT_MS)
  local ends = function(at) return at and math.max((at + SPAN_S) * 1000 - now, 0) or 0 end
  local wait = 0
  if held == 0 and free == 0 then
    wait = total < ask.limit and 1000 or ends(oldest)
  end
  answer[#answer + 1] = held
  answer[#answer + 1] = math.max(ask.limit - total - held, 0)
  answer[#answer + 1] = wait
  answer[#answer + 1] = ends(newest)
end

-- A budget: what each replica may commit (`a:`) and has committed (`c:`), and until when nobody holds anything ahead.
-- Of one that is gone, what it has committed stays.
local function spend(ask, answer)
  local key = prefix .. ':spend:' .. ask.key
  local all = redis.call('HGETALL', key)
  local fold = #all / 2 > PARTS_MAX
  local parts, others, spent = {}, 0, 0
  for i = 1, #all, 2 do
    parts[all[i]] = tonumber(all[i + 1])
  end
  for field, amount in pairs(parts) do
    local who = string.match(field, '^a:(.*)$')
    if who and who ~= said.replica then
      local committed = parts['c:' .. who] or amount
      if who ~= '-' and settling == 0 and not redis.call('ZSCORE', alive, who) then
        amount = math.min(amount, committed)
        redis.call('HSET', key, field, string.format('%.0f', amount))
        if fold then
          redis.call('HDEL', key, field, 'c:' .. who)
          redis.call('HINCRBY', key, 'a:-', string.format('%.0f', amount))
        end
      end
      others, spent = others + amount, spent + committed
    end
  end
  local part = ask.allotted
  if said.leaving then
    part = ask.committed
  elseif settling == 0 then
    local free = math.max(ask.limit - others - ask.committed, 0)
    local short = math.max(ask.needed - ask.committed, 0)
    local tight = parts.tight or 0
    if short > free then
      tight = now + TIGHT_MS
      redis.call('HSET', key, 'tight', string.format('%.0f', tight))
    end
    part = ask.committed + math.min(short, free)
    if tight <= now and not ask.idle then
      part = part + ahead(free - short)
    end
  end
  -- Until it has heard that it has less, it may commit what it had.
  local counted = said.leaving and part or math.max(part, ask.allotted)
  redis.call('HSET', key, 'a:' .. said.replica, string.format('%.0f', counted), 'c:' .. said.replica,
    string.format('%.0f', ask.committed))
  redis.call('PEXPIRE', key, 2 * DAY_MS)
  answer[#answer + 1] = part
  answer[#answer + 1] = spent
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
