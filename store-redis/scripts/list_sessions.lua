-- Lists sessions of a tenant in this partition, newest first after a place. Only those of the range of creation are
-- looked at. Answers up to where it has looked ('' = to the end), places and summaries in turn, and how many it left
-- out that cannot be read.
local tenant, from = args.text(), args.text()
local status, some_status = {}, false
for _, one in ipairs(args.list(args.text)) do status[one], some_status = true, true end
local queue = args.optional()
local labels = args.list(function() return { args.text(), args.text() } end)
local created, changed = args.range(), args.range()
local most, look, bytes = args.number(), args.number(), args.number()

local function is_wanted(row)
  if some_status and not status[row.status] then return false end
  if queue and row.queue ~= queue then return false end
  if not rules.lies_in(changed, row.updated_at) then return false end
  for _, label in ipairs(labels) do
    if redis.call('HGET', rows.own(row, 'labels'), label[1]) ~= label[2] then return false end
  end
  return true
end

local function wanted(place_found)
  local row = rows.load(rows.key(tenant, string.sub(place_found, 18)))
  if row and rows.listed(row) == place_found and is_wanted(row) then return rows.summary(row) end
end

-- Whoever goes on does so at a place within the range.
if from == '' and created.before then from = place(created.before) end
local least = created.since and place(created.since)
local walked = rows.walk_down(tag .. ':sessions:' .. tenant, from, least, look)
local found, left_out, looked = {}, 0, #walked == look and walked[look] or ''
for index, place_found in ipairs(walked) do
  local summary, corrupt = rows.sound(wanted, place_found)
  if corrupt then left_out = left_out + 1 end
  if summary then
    found[#found + 1] = place_found
    found[#found + 1] = summary
    for _, label in ipairs(summary[2]) do bytes = bytes - #label end
    if (#found / 2 >= most or bytes < 0) and index < #walked then
      looked = place_found
      break
    end
  end
end
return { looked, found, left_out }
