-- Makes the fork visible: its row, what is its own, and what has been copied for it.
local new = {
  tenant = args.text(), id = args.text(), incarnation = args.text(), operation = args.text(),
  queue = args.text(), format = args.number(), status = args.text(),
}
local labels = args.list(args.text)
local definition, state = args.text(), args.text()
new.messages = args.list(args.text)
new.events = args.list(args.text)
local at = {
  id = args.number(), epoch = args.number(), last_message = args.number(), last_event = args.number(),
}
local life, checkpoints = args.number(), args.number()

-- What was copied for a fork that is there already ends by itself.
local there = rows.load(KEYS[2])
if rules.was_deleted(new.operation, there, rows.is_buried(new)) then return { 'deleted' } end
if there then return rules.forked_before(there, new.operation) end
if redis.call('HLEN', rows.of(life, 'messages')) ~= at.last_message
  or redis.call('HLEN', rows.of(life, 'events')) ~= at.last_event
  or redis.call('HLEN', rows.of(life, 'checkpoints')) ~= checkpoints
  or redis.call('ZCARD', rows.of(life, 'restorable')) ~= checkpoints then
  return { 'incomplete' }
end
local row = rules.fork(at, new)
row.key, row.life = KEYS[2], life
rows.reach_new(row)
rows.reach_life(life, 'labels', 'payloads')
for name in pairs(SIZE) do redis.call('EXISTS', rows.of(life, name)) end

rows.expire_life(life, 0)
rows.found_session(row, labels, definition)
redis.call('HSET', rows.own(row, 'payloads'), 'state', state)
rows.append(row, 'messages', at.last_message, new.messages)
rows.append(row, 'events', at.last_event, new.events)
rows.append_checkpoint(row, state)
rows.save(row)
rows.tell(row)
return { 'forked' }
