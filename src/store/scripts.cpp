#include "scripts.hpp"

#include <array>
#include <deque>

#include <openssl/sha.h>

#include "weir/base/hash.hpp"

namespace weir::store {

namespace {

// What the scripts of a key begin with. A key record or a counter that no Weir has written is none: a script that failed on
// it would fail for ever, and with it whatever must be told before anything is believed.
constexpr std::string_view reading = R"lua(
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local function is_whole(value) return type(value) == 'number' and value >= 0 and value < 9e15 end
local function counter(name)
  local value = redis.pcall('GET', name)
  value = type(value) == 'string' and tonumber(value)
  return is_whole(value) and value or 0
end
local function read(name)
  local raw = redis.pcall('GET', name)
  if type(raw) ~= 'string' then return {}, false end
  local ok, key = pcall(cjson.decode, raw)
  if not ok or type(key) ~= 'table' then return {}, true end
  if not (is_whole(key.n) and is_whole(key.m) and is_whole(key.u)) then key.n, key.m, key.u = nil, nil, nil end
  if not is_whole(key.h) then key.h = nil end
  if type(key.v) ~= 'table' then key.v = nil end
  for variant, of in pairs(key.v or {}) do
    local good = type(variant) == 'string' and type(of) == 'table' and is_whole(of.u) and is_whole(of.s)
    if not good or type(of.f) ~= 'string' then key.v[variant] = nil end
  end
  return key, true
end
)lua";

// Lives as long as the scripts.
std::string_view with_reading(std::string_view lua) {
  static std::deque<std::string> texts;
  return texts.emplace_back(reading).append(lua);
}

}  // namespace

Script::Script(std::string_view lua) : text(lua) {
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
  SHA1(reinterpret_cast<unsigned char const*>(lua.data()), lua.size(), digest.data());
  sha1 = base::to_hex({reinterpret_cast<char const*>(digest.data()), digest.size()});
}

// The number and the time in a record's first bytes are those of store/record.cpp.
Script const put_script{with_reading(R"lua(
local number, began, life, variant, names = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[4]), ARGV[5], ARGV[6]
local key, known = read(KEYS[1])
-- What is purged later must have a higher number than what is stored now.
if is_whole(number) and counter(KEYS[3]) < number then redis.call('SET', KEYS[3], string.format('%.0f', number)) end
if key.n and key.u > now and key.n > number then return -1 end
if KEYS[4] then
  local url, stands = read(KEYS[4])
  if url.n and url.n > number then return -1 end
  if not stands then
    redis.call('SET', KEYS[4], '{}', 'PX', life)
  elseif redis.call('PTTL', KEYS[4]) < life then
    redis.call('PEXPIRE', KEYS[4], life)
  end
end
local head = redis.call('GETRANGE', KEYS[2], 0, 39)
if #head == 40 and string.sub(head, 1, 2) == 'WR' then
  local n, b = struct.unpack('<I8I8', string.sub(head, 9, 24))
  local damaged = not (is_whole(n) and is_whole(b))
  if not damaged and (n > number or (n == number and b >= began)) then return 0 end
end
redis.call('SET', KEYS[2], ARGV[3], 'PX', life)
if not known and names == '' then return 1 end
key.h = nil
local until_ = now
if key.n and key.u > now then until_ = key.u else key.n = nil end
if key.v or names ~= '' then
  key.v = key.v or {}
  if variant ~= '-' and not key.v['-'] then
    local left = redis.call('PTTL', KEYS[1] .. '/-')
    if left > 0 then key.v['-'] = {u = now + left, s = 0, f = ''} end
  end
  key.v[variant] = {u = now + life, s = now, f = names}
  local count = 0
  for name, of in pairs(key.v) do
    if of.u <= now then key.v[name] = nil else count = count + 1 end
  end
  while count > tonumber(ARGV[7]) do
    local oldest
    for name, of in pairs(key.v) do
      if name ~= variant and (not oldest or of.s < key.v[oldest].s) then oldest = name end
    end
    if not oldest then break end
    redis.call('DEL', KEYS[1] .. '/' .. oldest)
    key.v[oldest] = nil
    count = count - 1
  end
  for _, of in pairs(key.v) do until_ = math.max(until_, of.u) end
end
if until_ > now then
  redis.call('SET', KEYS[1], cjson.encode(key), 'PX', until_ - now)
else
  redis.call('DEL', KEYS[1])
end
return 1
)lua")};

Script const mark_script{with_reading(R"lua(
local key = read(KEYS[1])
key.h = tonumber(ARGV[1])
redis.call('SET', KEYS[1], cjson.encode(key), 'PX', math.max(redis.call('PTTL', KEYS[1]), key.h - now, 1))
return 1
)lua")};

Script const invalidate_script{with_reading(R"lua(
local number = math.max(counter(KEYS[1]), tonumber(ARGV[1])) + 1
redis.call('SET', KEYS[1], string.format('%.0f', number))
local key = read(KEYS[2])
local mode = tonumber(ARGV[2])
-- It is remembered for as long as what it overrules is stored.
local life = math.max(tonumber(ARGV[3]), redis.call('PTTL', KEYS[2]), redis.call('PTTL', KEYS[2] .. '/-'))
if key.n and key.u > now then mode = math.min(mode, key.m) end
key.n, key.m, key.u, key.h = number, mode, now + life, nil
redis.call('SET', KEYS[2], cjson.encode(key), 'PX', life)
return number
)lua")};

Script const purge_script{with_reading(R"lua(
local at = t[1] .. string.format('%06d', t[2])
local number = math.max(counter(KEYS[1]), tonumber(ARGV[1])) + 1
local text = string.format('%.0f', number)
redis.call('SET', KEYS[1], text)
redis.call('SET', KEYS[2], text)
for i = 5, #ARGV do
  local member = ARGV[2] .. ARGV[i]
  redis.call('ZADD', KEYS[3], text, member)
  redis.call('HSET', KEYS[5], member, at)
end
local over = redis.call('ZCARD', KEYS[3]) - tonumber(ARGV[3])
if over > 0 then
  local old = redis.call('ZPOPMIN', KEYS[3], over)
  for i = 1, #old, 2 do
    local mode = string.sub(old[i], 1, 1)
    local floor = tonumber(redis.call('HGET', KEYS[4], mode) or '0')
    if floor < tonumber(old[i + 1]) then redis.call('HSET', KEYS[4], mode, old[i + 1]) end
    redis.call('HDEL', KEYS[5], old[i])
  end
end
redis.call('PUBLISH', ARGV[4], 'purge ' .. text)
return number
)lua")};

Script const epochs_script{R"lua(
local out = {redis.call('GET', KEYS[2]) or '0'}
for mode = 0, 2 do out[#out + 1] = redis.call('HGET', KEYS[4], tostring(mode)) or '0' end
local found = redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. ARGV[1], '+inf', 'WITHSCORES', 'LIMIT', 0, tonumber(ARGV[2]))
for i = 1, #found, 2 do
  out[#out + 1] = found[i]
  out[#out + 1] = found[i + 1]
  out[#out + 1] = redis.call('HGET', KEYS[5], found[i]) or '0'
end
return out
)lua"};

Script const renew_script{R"lua(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1
)lua"};

Script const release_script{R"lua(
local owned = redis.call('GET', KEYS[1]) == ARGV[1]
if owned then redis.call('DEL', KEYS[1]) end
if owned or not string.find(ARGV[3], ' released ', 1, true) then redis.call('PUBLISH', ARGV[2], ARGV[3]) end
return owned and 1 or 0
)lua"};

std::span<Script const* const> scripts() {
  static std::array<Script const*, 7> const all = {&put_script,    &mark_script,  &invalidate_script, &purge_script,
                                                   &epochs_script, &renew_script, &release_script};
  return all;
}

}  // namespace weir::store
