-- Claims one named session.
local run, worker, lease = args.text(), args.text(), args.number()
local expected = args.optional_number()
local items = args.list(args.item)
local page, bytes = args.number(), args.number()

local row = rows.load(KEYS[2])
if not row then return { 'not_found' } end
local repeated = rules.repeated_claim(row, run)
if repeated == 'alive' then return { 'claimed', rows.claim(row, rows.news(row, page, bytes)) } end
if repeated then return { 'lease_ended' } end
local refused = rules.claimable(row, expected)
if refused then return refused end
local arrived, index, refusal = rows.accept_all(row, items)
if not arrived then return { 'item_refused', index, refusal } end
rows.reach(row, 'runs', 'deltas')
rows.reach_inbox(row)
local news = rows.news(row, page, bytes)

rows.arrive(row, arrived)
-- With what has arrived: it is read from keys that were read before.
if #arrived > 0 then news = rows.news(row, page, bytes) end
rows.begin_run(row, run, worker, lease)
rows.tell(row)
return { 'claimed', rows.claim(row, news) }
