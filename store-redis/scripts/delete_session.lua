-- Removes a session with everything that belongs to it.
local deletion = { mode = args.text(), incarnation = args.optional() }

local row = rows.load_torn(KEYS[2])
if not row then return { 'not_found' } end
-- A run may hold it.
if deletion.mode == 'unless_active' and not row.status then fail('CORRUPT', 'status: it is no status') end
local refused = rules.delete(row, deletion)
if refused then return refused end

rows.bury(row)
row.alarm = nil
rows.tell(row)
return { 'deleted' }
