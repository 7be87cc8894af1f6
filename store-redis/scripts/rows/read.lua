-- What a reader gets, at one instant.

-- What a row may take in a reply beside its payload.
local ROW_BYTES = 1024

-- What lies beside a row: its labels, its payloads and what is staged.
local function beside(row)
  return {
    redis.call('HGETALL', rows.own(row, 'labels')),
    redis.call('HGETALL', rows.own(row, 'payloads')),
    redis.call('HGETALL', rows.own(row, 'staged')),
    redis.call('SMEMBERS', rows.own(row, 'starts')),
  }
end

local function whole(row, found)
  return { rows.flat(row), unpack(found) }
end

-- The session with its payloads, its labels and what is staged.
function rows.session(row)
  return whole(row, beside(row))
end

-- A session in a list.
function rows.summary(row)
  return { rows.flat(row), redis.call('HGETALL', rows.own(row, 'labels')) }
end

-- Fields of a hash in the order of `fields`, until `bytes` of them are read: names and values in turn, and
-- whether all were. The first is always read.
function rows.fields(key, fields, bytes)
  local read = {}
  for _, field in ipairs(fields) do
    local value = redis.call('HGET', key, field)
    if value then
      read[#read + 1] = field
      read[#read + 1] = value
      bytes = bytes - math.max(#value - ROW_BYTES, 0)
      if bytes < 0 then return read, false end
    end
  end
  return read, true
end

-- Numbers from .. to as texts, at most `most`.
function rows.numbers(from, to, most)
  local numbers = {}
  for number = from, math.min(to, from + most - 1) do numbers[#numbers + 1] = int(number) end
  return numbers
end

-- Items after `after` that are not consumed: places and records in turn, and whether there may be more.
function rows.inbox_page(row, after_seq, most, bytes)
  local seqs = redis.call(
    'ZRANGEBYSCORE', rows.own(row, 'unread'), '(' .. int(after_seq), '+inf', 'LIMIT', 0, most + 1)
  local read = rows.fields(rows.own(row, 'inbox'), seqs, bytes)
  return { read, int(#seqs) }
end

-- All that a claim hands out beside the row. Read before the first write of a claim: what cannot be read ends the
-- script while nothing is claimed.
function rows.news(row, inbox_page, bytes)
  local open = {}
  for index, id in ipairs(redis.call('ZRANGE', rows.own(row, 'open'), 0, -1)) do
    open[index] = rows.pending(row, id)
  end
  return { beside = beside(row), open = open, inbox = rows.inbox_page(row, 0, inbox_page, bytes) }
end

-- The claim that the row stands for, with all its news.
function rows.claim(row, news)
  return { int(now), whole(row, news.beside), news.open, news.inbox }
end
