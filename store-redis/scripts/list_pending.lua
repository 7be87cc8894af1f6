-- Lists open pending calls of a tenant in this partition, soonest deadline first after a place. Answers up to where
-- it has looked ('' = to the end), places and calls in turn, and how many it left out that cannot be read.
local tenant, from = args.text(), args.text()
local session, kind = args.optional(), args.optional()
local most, look, bytes = args.number(), args.number(), args.number()

local function wanted(place_found)
  local id, pending = string.match(place_found, '^%d+%z(%Z+)%z(%Z+)$')
  local row = id and (not session or session == id) and rows.load(rows.key(tenant, id))
  local facts = row and rows.pending_facts(row, pending)
  if facts and rows.pending_place(row, facts.deadline, pending) == place_found
    and (not kind or facts.kind == kind) then
    return { id, row.incarnation, rows.pending(row, pending) }
  end
end

local walked = rows.walk(tag .. ':pending:' .. tenant, from, nil, look)
local found, left_out, looked = {}, 0, #walked == look and walked[look] or ''
for index, place_found in ipairs(walked) do
  local pending, corrupt = rows.sound(wanted, place_found)
  if corrupt then left_out = left_out + 1 end
  if pending then
    found[#found + 1] = place_found
    found[#found + 1] = pending
    bytes = bytes - #pending[3][3]
    if (#found / 2 >= most or bytes < 0) and index < #walked then
      looked = place_found
      break
    end
  end
end
return { looked, found, left_out }
