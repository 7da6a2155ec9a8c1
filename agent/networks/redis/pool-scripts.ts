// The Lua scripts of the pools. Each runs as one step of Redis, uses only the keys that it is given,
// and takes at most `scriptDigestsMax` digests: some milliseconds. Digests come last, each followed
// by the number of its shard among the keys: two keys for a shard, finish_URL and task_URL.

import { createHash } from 'node:crypto';

export interface Script {
  readonly name: string;
  readonly source: string;
  readonly sha1: string;
}

/** Redis answers nobody else while a script runs; more digests take several executions. */
export const scriptDigestsMax = 1000;

export function script(name: string, source: string): Script {
  return { name, source, sha1: createHash('sha1').update(source).digest('hex') };
}

/**
 * KEYS: server KEYS_OF_THE_RUN. ARGV: run ttl. If another server process was used meanwhile, what
 * this one had kept before is old.
 */
export const enter = script(
  'enter',
  `if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then
  for k = 2, #KEYS do redis.call('UNLINK', KEYS[k]) end
  redis.call('SET', KEYS[1], ARGV[1])
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`,
);

/** KEYS: URL_pool inbox. ARGV: their maximum counts. Removes the entries of the inbox. */
export const take = script(
  'take',
  `local submitted = {}
if ARGV[1] ~= '0' then
  submitted = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', ARGV[1])
end
local inbox = redis.call('XRANGE', KEYS[2], '-', '+', 'COUNT', ARGV[2])
for _, entry in ipairs(inbox) do redis.call('XDEL', KEYS[2], entry[1]) end
return {submitted, inbox}`,
);

/**
 * KEYS: centre local_reduce_pool dist_reduce_pool mark URL_pool submitted SHARDS. It ends the rest,
 * and removes the entry. ARGV: token ttl number frame isFirst isLast marks id DIGESTS. `marks` are those of the
 * parts before; until the last part local_reduce_pool has the marks so far, which a repetition finds.
 * The frame's JSON ends with empty marks, to which those of all parts are added.
 */
export const claim = script(
  'claim',
  `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return false end
if ARGV[5] == '1' then
  local kept = redis.call('HGET', KEYS[3], ARGV[3])
  if kept then
    redis.call('XDEL', KEYS[5], ARGV[8])
    redis.call('HDEL', KEYS[6], ARGV[3])
    return kept
  end
end
if string.sub(redis.call('GET', KEYS[4]) or '', 1, 4) == 'rest' then
  redis.call('SET', KEYS[4], 'work ' .. ARGV[3], 'PX', ARGV[2])
end
local count = (#ARGV - 8) / 2
local known = redis.call('HGET', KEYS[2], ARGV[3]) or ''
local found = string.sub(known, #ARGV[7] + 1, #ARGV[7] + count)
if #found < count then
  local marks = {}
  for i = 9, #ARGV, 2 do
    local finish = KEYS[7 + 2 * ARGV[i + 1]]
    local task = KEYS[8 + 2 * ARGV[i + 1]]
    if redis.call('SISMEMBER', finish, ARGV[i]) == 1 then
      marks[#marks + 1] = 'f'
    elseif redis.call('SADD', task, ARGV[i]) == 1 then
      marks[#marks + 1] = '0'
    else
      marks[#marks + 1] = 'q'
    end
  end
  found = table.concat(marks)
  for k = 7, #KEYS do redis.call('PEXPIRE', KEYS[k], ARGV[2]) end
  if ARGV[6] ~= '1' then
    redis.call('HSET', KEYS[2], ARGV[3], ARGV[7] .. found)
    redis.call('PEXPIRE', KEYS[2], ARGV[2])
  end
end
if ARGV[6] == '1' then
  redis.call('HDEL', KEYS[2], ARGV[3])
  redis.call('HSET', KEYS[3], ARGV[3], string.sub(ARGV[4], 1, -3) .. ARGV[7] .. found .. '"}')
  redis.call('PEXPIRE', KEYS[3], ARGV[2])
  redis.call('XDEL', KEYS[5], ARGV[8])
  redis.call('HDEL', KEYS[6], ARGV[3])
end
return found`,
);

/** KEYS: SHARDS. ARGV: ttl DIGESTS. Finished ones are not claimed again. */
export const hold = script(
  'hold',
  `for i = 2, #ARGV, 2 do
  local k = 1 + 2 * ARGV[i + 1]
  if redis.call('SISMEMBER', KEYS[k], ARGV[i]) == 0 then
    redis.call('SADD', KEYS[k + 1], ARGV[i])
  end
end
for k = 1, #KEYS do redis.call('PEXPIRE', KEYS[k], ARGV[1]) end
return 1`,
);

/** KEYS: a set. ARGV: member ttl. */
export const addTo = script(
  'addTo',
  `redis.call('SADD', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`,
);

/**
 * KEYS: centre dist_reduce_pool task_pool SHARDS. ARGV: token ttl number verdict lengthMax DIGESTS.
 * With an empty verdict, claims are removed only.
 */
export const settle = script(
  'settle',
  `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if redis.call('HEXISTS', KEYS[2], ARGV[3]) == 0 then return 1 end
for i = 6, #ARGV, 2 do redis.call('SREM', KEYS[5 + 2 * ARGV[i + 1]], ARGV[i]) end
if ARGV[4] ~= '' then
  redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[5], '*', 'v', ARGV[4])
  redis.call('PEXPIRE', KEYS[3], ARGV[2])
  redis.call('HDEL', KEYS[2], ARGV[3])
end
return 1`,
);

/** KEYS: filled mark SHARDS. ARGV: DIGESTS. At rest, nothing is claimed. */
export const marks = script(
  'marks',
  `if redis.call('EXISTS', KEYS[1]) == 0 then return false end
local rests = string.sub(redis.call('GET', KEYS[2]) or '', 1, 4) == 'rest'
local marks = {}
for i = 1, #ARGV, 2 do
  local k = 3 + 2 * ARGV[i + 1]
  if redis.call('SISMEMBER', KEYS[k], ARGV[i]) == 1 then
    marks[#marks + 1] = 'f'
  elseif not rests and redis.call('SISMEMBER', KEYS[k + 1], ARGV[i]) == 1 then
    marks[#marks + 1] = 'q'
  else
    marks[#marks + 1] = '0'
  end
end
return table.concat(marks)`,
);

/** KEYS: SHARDS. ARGV: ttl DIGESTS. */
export const finish = script(
  'finish',
  `for i = 2, #ARGV, 2 do
  local k = 1 + 2 * ARGV[i + 1]
  redis.call('SADD', KEYS[k], ARGV[i])
  redis.call('SREM', KEYS[k + 1], ARGV[i])
end
for k = 1, #KEYS do redis.call('PEXPIRE', KEYS[k], ARGV[1]) end
return 1`,
);

/** KEYS: doubted. ARGV: ttl countMax IDENTITIES. Those that make room are doubted again. */
export const doubt = script(
  'doubt',
  `for i = 3, #ARGV do
  redis.call('SADD', KEYS[1], ARGV[i])
  if redis.call('SCARD', KEYS[1]) > tonumber(ARGV[2]) then redis.call('SPOP', KEYS[1]) end
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1`,
);

/** KEYS: SHARDS. ARGV: DIGESTS. */
export const release = script(
  'release',
  `for i = 1, #ARGV, 2 do redis.call('SREM', KEYS[2 + 2 * ARGV[i + 1]], ARGV[i]) end
return 1`,
);

/** KEYS: centre lapses SHARDS. ARGV: ttl DIGESTS. Changes nothing, and returns 0, if there is a centre. */
export const lapse = script(
  'lapse',
  `if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
if #ARGV > 1 then
  for i = 2, #ARGV, 2 do redis.call('SREM', KEYS[4 + 2 * ARGV[i + 1]], ARGV[i]) end
  redis.call('SET', KEYS[2], (tonumber(redis.call('GET', KEYS[2]) or '0') or 0) + 1, 'PX', ARGV[1])
end
return 1`,
);

/**
 * KEYS: URL_pool submitted. ARGV: ttl lengthMax number frame. A frame that is sent again while it
 * waits is not added again. One that is claimed is: a centre whose claim was executed late may not
 * know of it.
 */
export const submit = script(
  'submit',
  `local id = redis.call('HGET', KEYS[2], ARGV[3])
if id and #redis.pcall('XRANGE', KEYS[1], id, id) > 0 then return 0 end
id = redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], '*', 'f', ARGV[4])
redis.call('HSET', KEYS[2], ARGV[3], id)
for k = 1, 2 do redis.call('PEXPIRE', KEYS[k], ARGV[1]) end
return 1`,
);

/** Reads the last id of a stream. */
const lastId = `local function lastId(stream)
  local info = redis.call('XINFO', 'STREAM', stream)
  for i = 1, #info, 2 do if info[i] == 'last-generated-id' then return info[i + 1] end end
end
`;

/** KEYS: any. ARGV: the type of each. Deletes those of another type, and streams without a next id. */
export const repair = script(
  'repair',
  `${lastId}for k = 1, #KEYS do
  local found = redis.call('TYPE', KEYS[k]).ok
  local isWrong = found ~= 'none' and found ~= ARGV[k]
  local id = found == 'stream' and lastId(KEYS[k])
  if isWrong or id == '18446744073709551615-18446744073709551615' then
    redis.call('UNLINK', KEYS[k])
  end
end
return 1`,
);

/** KEYS: a stream. ARGV: ttl lengthMax frame. */
export const append = script(
  'append',
  `redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], '*', 'f', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1`,
);

/**
 * KEYS: task_pool. ARGV: after max. Ids come from the clock of Redis: if it was set back while the
 * stream did not exist, `after` is above all of its ids, and says nothing about this stream.
 */
export const verdicts = script(
  'verdicts',
  `${lastId}if ARGV[1] ~= '' and redis.call('EXISTS', KEYS[1]) == 1 then
  local function parts(id)
    local ms, seq = string.match(id, '^(%d+)-(%d+)$')
    return tonumber(ms), tonumber(seq)
  end
  local lastMs, lastSeq = parts(lastId(KEYS[1]))
  local ms, seq = parts(ARGV[1])
  if ms < lastMs or (ms == lastMs and seq <= lastSeq) then
    redis.call('XTRIM', KEYS[1], 'MINID', '=', ARGV[1])
    redis.call('XDEL', KEYS[1], ARGV[1])
  end
end
return redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', ARGV[2])`,
);

/** KEYS: centre settings home. Returns the token of the centre, its PTTL, the settings and the home. */
export const role = script(
  'role',
  `return {
  redis.call('GET', KEYS[1]) or '', redis.call('PTTL', KEYS[1]),
  redis.call('GET', KEYS[2]) or '', redis.call('GET', KEYS[3]) or ''
}`,
);

/**
 * KEYS: centre settings announcers. ARGV: settings ttl announcer dead. Changes nothing, and returns
 * the settings, if there is a centre with others. `dead`: the token of a centre that does not count.
 */
export const announce = script(
  'announce',
  `redis.call('TIME')
local holder = redis.call('GET', KEYS[1])
local found = redis.call('GET', KEYS[2])
if found ~= ARGV[1] then
  if found and holder and holder ~= ARGV[4] then return found end
  redis.call('DEL', KEYS[3])
end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
redis.call('SADD', KEYS[3], ARGV[3])
redis.call('PEXPIRE', KEYS[3], ARGV[2])
return ''`,
);

/**
 * KEYS: centre settings announcers. ARGV: settings announcer dead. The settings stay if there is a
 * centre, or another announcer.
 */
export const withdraw = script(
  'withdraw',
  `redis.call('SREM', KEYS[3], ARGV[2])
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[3] then return 0 end
if redis.call('EXISTS', KEYS[3]) == 1 or redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[2])`,
);

/**
 * KEYS: centre settings home. ARGV: token leaseMs settings home. A clock that was set back does not
 * prolong the role, and no other program can give one without end. Settings and home are told while
 * there is a centre.
 */
export const lead = script(
  'lead',
  `local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then
  local left = redis.call('PTTL', KEYS[1])
  if left < 0 or left > tonumber(ARGV[2]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
  return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('SET', KEYS[2], ARGV[3], 'PX', 2 * ARGV[2])
redis.call('SET', KEYS[3], ARGV[4], 'PX', 2 * ARGV[2])
return 1`,
);

/** KEYS: centre settings home. ARGV: token. */
export const resign = script(
  'resign',
  `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', unpack(KEYS)) end
return 1`,
);

/** KEYS: mark gifts. ARGV: before after ttl. While gifts wait, it is not set to rest. */
export const mark = script(
  'mark',
  `local found = redis.call('GET', KEYS[1]) or ''
if found ~= ARGV[1] then return found end
if string.sub(ARGV[2], 1, 4) == 'rest' and redis.call('XLEN', KEYS[2]) > 0 then return found end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return ARGV[2]`,
);

/** KEYS: mark gifts. ARGV: mark ttl lengthMax gift. */
export const give = script(
  'give',
  `redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[3], '*', 'g', ARGV[4])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`,
);

/** KEYS: mark gifts. ARGV: mark ttl IDS. */
export const received = script(
  'received',
  `for i = 3, #ARGV do redis.call('XDEL', KEYS[2], ARGV[i]) end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`,
);

/**
 * KEYS: filled server SHARDS. ARGV: filledTtl ttl. `filled` ends first: while it exists, no shard
 * has expired.
 */
export const touch = script(
  'touch',
  `redis.call('PEXPIRE', KEYS[1], ARGV[1])
for k = 2, #KEYS do redis.call('PEXPIRE', KEYS[k], ARGV[2]) end
return 1`,
);
