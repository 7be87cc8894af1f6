-- Reads a session with what is staged.
local row = rows.load(KEYS[2])
if not row then return { 'not_found' } end
return { 'found', rows.session(row) }
