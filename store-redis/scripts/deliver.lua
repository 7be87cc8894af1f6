-- Puts an item into the inbox, once per key.
local item = args.item()

local row = rows.load(KEYS[2])
if not row then return { 'not_found' } end
local arrived, _, refusal = rows.accept_all(row, { item })
if not arrived then return refusal end
rows.reach(row)
rows.reach_inbox(row)

rows.arrive(row, arrived)
rows.save(row)
rows.tell(row)
return { 'accepted', int(row.last_item) }
