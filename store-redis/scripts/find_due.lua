-- Looks for sessions of this partition that a worker may claim now, after a place in due order.
-- Answers their places in any order, and up to where it has looked ('' = to the end). One that cannot be read holds up nobody.
local from = args.text()
local queues, served = args.queues()
local newest, tenant = args.number(), args.optional()
local most = args.number()

local before = place(now + 1)
local indexes = { tag .. ':alarms' }
if queues then
  indexes = { tag .. ':interrupted' }
  for _, queue in ipairs(queues) do indexes[#indexes + 1] = tag .. ':alarms:' .. queue end
end
local found, looked = {}, nil
for _, index in ipairs(indexes) do
  local walked = rows.walk(index, from, before, most)
  for _, place_found in ipairs(walked) do found[place_found] = true end
  if #walked == most and (not looked or is_before(walked[most], looked)) then looked = walked[most] end
end
local due = {}
for place_found in pairs(found) do
  if not looked or not is_before(looked, place_found) then due[#due + 1] = place_found end
end
local answer = {}
for _, place_found in ipairs(due) do
  local tenant_found, id = rows.named(place_found)
  local row = id and rows.load_sound(rows.key(tenant_found, id))
  if row and rules.is_due(row, served, newest, tenant) then answer[#answer + 1] = place_found end
end
return { looked or '', answer }
