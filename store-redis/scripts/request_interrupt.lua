-- Asks the session to stop.
local interrupt = {
  id = args.text(), kind = args.text(), at = args.number(), incarnation = args.optional(),
}
local reason = args.text()

local row = rows.load(KEYS[2])
if not row then return { 'not_found' } end
local answer = rules.request_interrupt(row, interrupt)
if answer[1] ~= 'requested' then return answer end
rows.reach(row, 'payloads')

redis.call('HSET', rows.own(row, 'payloads'), 'reason', reason)
rows.save(row)
rows.tell(row)
return answer
