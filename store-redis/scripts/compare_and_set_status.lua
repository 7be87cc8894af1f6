-- Moves the status, with the items that come along.
local cas = { incarnation = args.optional(), expected_version = args.number(), to = args.text() }
local items = args.list(args.item)

local row = rows.load(KEYS[2])
if not row then return { 'not_found' } end
local was = {}
for field, value in pairs(row) do was[field] = value end
local answer = rules.compare_and_set(was, cas)
if answer[1] ~= 'moved' then return answer end
local arrived, index, refusal = rows.accept_all(row, items)
if not arrived then return { 'item_refused', index, refusal } end
answer = rules.compare_and_set(row, cas)
rows.reach(row)
rows.reach_inbox(row)

rows.arrive(row, arrived)
rows.save(row)
rows.tell(row)
return answer
