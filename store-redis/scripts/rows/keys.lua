-- The keys of one life of a session, each named by what it holds, behind the life's number. A life's number
-- is drawn once per creation from the partition's counter, so a session that is created again shares no key
-- with the one before.
--
-- All of them carry the tag of KEYS[1], so they lie in its slot and on its node. Their names depend on the row,
-- which only the script reads, so they are not among KEYS. That is sound in a cluster because every key that a
-- script writes is touched (rows.reach) before its first write: while a slot moves to another node, a key that
-- is not here is refused by that touch, when nothing has been written yet.

-- What each key is, by the command that tells its size.
local SIZE = {
  payloads = 'HLEN', labels = 'HLEN', messages = 'HLEN', events = 'HLEN', deltas = 'HLEN',
  inbox = 'HLEN', unread = 'ZCARD', counted = 'ZCARD', urgent = 'ZCARD', items = 'HLEN',
  pending = 'HLEN', open = 'ZCARD', ever = 'SCARD', staged = 'HLEN', starts = 'SCARD',
  runs = 'HLEN', checkpoints = 'HLEN', restorable = 'ZCARD',
}

function rows.of(life, name)
  return tag .. ':' .. int(life) .. ':' .. name
end

function rows.own(row, name)
  return rows.of(row.life, name)
end

-- Touches keys of a life that the script is about to write: a key of another type, or one that has moved to
-- another node, ends the script here.
function rows.reach_life(life, ...)
  for index = 1, select('#', ...) do
    local name = (select(index, ...))
    redis.call(SIZE[name], rows.of(life, name))
  end
end

-- The same for a row, its indexes, and keys of its life.
function rows.reach(row, ...)
  rows.reach_places(row)
  rows.reach_life(row.life, ...)
end

-- Removes everything of a life. Their memory is freed beside the server's own work, however large they are.
function rows.unlink_life(life)
  for name in pairs(SIZE) do redis.call('UNLINK', rows.of(life, name)) end
end

-- Lets a draft's keys go when nobody works on them any more; zero: they stay for ever.
function rows.expire_life(life, seconds)
  for name in pairs(SIZE) do
    if seconds > 0 then
      redis.call('EXPIRE', rows.of(life, name), seconds)
    else
      redis.call('PERSIST', rows.of(life, name))
    end
  end
end
