-- Begins a fork: answers the number of the life that is being made. Nobody sees it before fork_session; every try has
-- one of its own, and what is copied into it ends by itself when nobody works on it.
local new = { tenant = args.text(), id = args.text(), incarnation = args.text(), operation = args.text() }

local there = rows.load(KEYS[2])
if rules.was_deleted(new.operation, there, rows.is_buried(new)) then return { 'deleted' } end
if there then return rules.forked_before(there, new.operation) end
rows.last_life()

return { 'life', int(redis.call('INCR', tag .. ':lives')) }
