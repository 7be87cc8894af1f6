-- Reads what is not consumed after a place.
local after_seq, most, bytes = args.number(), args.number(), args.number()

local row = rows.load(KEYS[2])
if not row then return { 'not_found' } end
return { 'found', rows.inbox_page(row, after_seq, most, bytes) }
