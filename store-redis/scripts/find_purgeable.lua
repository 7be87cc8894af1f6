-- Looks for sessions of this partition that a rule is about, longest unchanged first after a place. Answers
-- their places, and up to where it has looked ('' = to the end). One that cannot be read is about no rule.
local from = args.text()
local rule = { tenant = args.optional(), status = {}, unchanged_since = args.number() }
for _, status in ipairs(args.list(args.text)) do rule.status[status] = true end
local most = args.number()

local walked = rows.walk(tag .. ':resting', from, place(rule.unchanged_since), most)
local found = {}
for _, place_found in ipairs(walked) do
  local tenant, id = rows.named(place_found)
  local row = id and rows.load_sound(rows.key(tenant, id))
  if row and rules.purgeable(row, rule) then found[#found + 1] = place_found end
end
return { #walked == most and walked[most] or '', found }
