-- Creates a session with its first items, and its alarm or claim.
local new = {
  tenant = args.text(), id = args.text(), incarnation = args.text(), operation = args.text(),
  queue = args.text(), format = args.number(),
}
local labels = args.list(args.text)
local definition = args.text()
local items = args.list(args.item)
local start, start_at = args.text(), args.optional_number()
local run, worker, lease = args.optional(), args.optional(), args.optional_number()
local page, bytes = args.number(), args.number()

local there = rows.load(KEYS[2])
if rules.was_deleted(new.operation, there, rows.is_buried(new)) then return { 'deleted' } end
if there then
  if there.created_by ~= new.operation then
    return { 'already_exists', there.incarnation, there.status, int(there.version) }
  end
  if start ~= 'claimed' then return { 'created', '1' } end
  if rules.repeated_claim(there, run) ~= 'alive' then return { 'created', '2' } end
  return { 'created', '2', rows.claim(there, rows.news(there, page, bytes)) }
end
local seen = {}
for index, item in ipairs(items) do
  if seen[item.key] then return { 'item_conflict', int(index - 1) } end
  seen[item.key] = true
end

local row = rules.create(new)
row.key = KEYS[2]
local arrived, refused = rows.accept_all(row, items, true)
if not arrived then return { 'item_conflict', refused } end
if start == 'at' then row.alarm = start_at end
row.life = rows.reach_new(row)
rows.reach_inbox(row)
rows.reach_life(row.life, 'labels', 'payloads', 'staged', 'starts', 'open', 'runs', 'deltas')

redis.call('INCR', tag .. ':lives')
rows.found_session(row, labels, definition)
rows.arrive(row, arrived)
if start ~= 'claimed' then
  rows.save(row)
  rows.tell(row)
  return { 'created', int(row.version) }
end
rows.begin_run(row, run, worker, lease)
rows.tell(row)
return { 'created', int(row.version), rows.claim(row, rows.news(row, page, bytes)) }
