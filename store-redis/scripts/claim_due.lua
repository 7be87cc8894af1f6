-- Claims one session that find_due has found, if it still is due.
local run, worker, lease = args.text(), args.text(), args.number()
local _, served = args.queues()
local newest, tenant = args.number(), args.optional()
local page, bytes = args.number(), args.number()

local row = rows.load(KEYS[2])
if not row or not rules.is_due(row, served, newest, tenant) then return { 'not_due' } end
rows.reach(row, 'runs', 'deltas')
local news = rows.news(row, page, bytes)

rows.begin_run(row, run, worker, lease)
rows.tell(row)
return { 'claimed', rows.claim(row, news) }
