-- Begins a fork, or goes on with it: answers the number of the life that is being made. A draft, and what is
-- copied for it, ends by itself when nobody works on it for as long as a tombstone stands.
local new = { tenant = args.text(), id = args.text(), incarnation = args.text(), operation = args.text() }
local ends = args.number()

local there = rows.load(KEYS[2])
if rules.was_deleted(new.operation, there, rows.is_buried(new)) then return { 'deleted' } end
if there then return rules.forked_before(there, new.operation) end
local draft = tag .. ':draft:' .. pack(new.tenant, new.id, new.operation)
local life = redis.call('GET', draft)
if life and not tonumber(life) then fail('CORRUPT', 'draft: it is no number') end
local lives = redis.call('GET', tag .. ':lives')
if lives and not tonumber(lives) then fail('CORRUPT', 'lives: it is no number') end

if not life then life = int(redis.call('INCR', tag .. ':lives')) end
redis.call('SET', draft, life, 'EX', ends)
return { 'draft', life }
