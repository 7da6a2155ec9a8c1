// The Lua scripts of host leases. Time is that of Redis alone, so the clocks of the networks do not
// matter. If that clock is set back, no lease and no delay becomes longer than it was. For each host
// there are two keys, the lease and the queue of networks that wait.

import { script } from './pool-scripts.ts';

/** Hosts of one execution. */
export const scriptHostsMax = 500;

/**
 * Reads the time and a lease: its holder, its end, the time of the next request, its delay. If the
 * clock was set back, a time is at most the duration stored with it from now. A lease that another
 * program wrote ends after `leaseMax` ms, and its delays after `delayMax`. A value that is not a
 * number, or is NaN, counts as 0.
 */
const opening = `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function read(lease, leaseMax, delayMax)
  local r = redis.call('HMGET', lease, 'holder', 'until', 'next', 'wait', 'ms', 'delay')
  local function at(k)
    local value = tonumber(r[k] or 0) or 0
    return value == value and value or 0
  end
  local function below(k, most) return math.min(at(k), tonumber(most)) end
  return r[1], math.min(at(2), now + below(5, leaseMax)), math.min(at(3), now + below(4, delayMax)),
    below(6, delayMax)
end
`;

/**
 * KEYS: lease and queue of each host. ARGV: network leaseMs ttl grant DELAYS. Returns for each host
 * the wait in ms, or the network that has the lease or gets it first. A network whose last
 * request is older than `leaseMs` loses its place in the queue. After a lease that was not released, requests may have
 * ended as late as the lease.
 */
export const acquire = script(
  'acquire',
  `${opening}local network, leaseMs, ttl, grant = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local waits = {}
for k = 1, #KEYS, 2 do
  local lease, queue = KEYS[k], KEYS[k + 1]
  local holder, ends, next, before = read(lease, leaseMs, ttl)
  local delay = tonumber(ARGV[5 + (k - 1) / 2])
  local isHeld = holder and ends > now
  local wait = holder
  if holder and not isHeld then
    next = math.max(next, ends + math.max(before, delay))
    redis.call('HDEL', lease, 'holder', 'until')
  elseif isHeld then
    redis.call('HSET', lease, 'until', ends)
  end
  local isFirst = true
  if not isHeld then
    for _, other in ipairs(redis.call('LRANGE', queue, 0, -1)) do
      if other == network then break end
      local asked = tonumber(redis.call('HGET', lease, 'asked:' .. other) or 0) or 0
      if asked <= now and now - asked <= leaseMs then
        isFirst, wait = false, other
        break
      end
      redis.call('LREM', queue, 0, other)
      redis.call('HDEL', lease, 'asked:' .. other)
    end
  end
  if (isHeld and holder == network) or (not isHeld and isFirst) then
    redis.call('LREM', queue, 0, network)
    redis.call('HDEL', lease, 'asked:' .. network)
    redis.call('HSET', lease, 'holder', network, 'until', now + leaseMs, 'ms', leaseMs,
      'delay', delay, 'grant', grant)
    wait = math.max(0, next - now)
  else
    redis.call('HSET', lease, 'asked:' .. network, now)
    if not redis.call('LPOS', queue, network) then redis.call('RPUSH', queue, network) end
    redis.call('PEXPIRE', queue, ttl)
  end
  redis.call('HSET', lease, 'next', next, 'wait', math.max(0, next - now))
  redis.call('PEXPIRE', lease, ttl)
  waits[#waits + 1] = wait
end
return waits`,
);

/** KEYS: lease and queue of each host. ARGV: network ttl, then delay (ms) and grant of each. */
export const releaseHosts = script(
  'releaseHosts',
  `${opening}local network = ARGV[1]
for k = 1, #KEYS, 2 do
  local lease, queue = KEYS[k], KEYS[k + 1]
  local delay = tonumber(ARGV[2 + k])
  local holder, ends, next = read(lease, ARGV[2], ARGV[2])
  local isGranted = redis.call('HGET', lease, 'grant') == ARGV[3 + k]
  if holder == network and isGranted then
    redis.call('LREM', queue, 0, network)
    redis.call('HDEL', lease, 'holder', 'until', 'asked:' .. network)
    next = math.max(next, now + delay)
    redis.call('HSET', lease, 'next', next, 'wait', next - now)
    redis.call('PEXPIRE', lease, ARGV[2])
  end
end
return 1`,
);
