-- Appends to the stream of the run that holds the session.
local fence = args.fence()
local batch = { stream = args.number(), first = args.number(), deltas = args.list(args.text) }

local row = rows.fenced(fence)
if not row then return { 'stale_fence' } end
local streamed, answer = rules.stream(row, fence, batch)
if not streamed then return answer end
rows.reach(row, 'deltas')

local key = rows.own(row, 'deltas')
if streamed.replaces then redis.call('UNLINK', key) end
for index = streamed.skip + 1, #batch.deltas do
  redis.call('HSET', key, int(batch.first + index - 1), batch.deltas[index])
end
rows.save(row)
rows.tell(row)
return { 'appended', rules.receipt(row) }
