-- Lets the lease run on.
local fence, lease = args.fence(), args.number()

local row = rows.fenced(fence)
local receipt = row and rules.renew(row, fence, lease)
if not receipt then return { 'stale_fence' } end
rows.reach(row)

rows.save(row)
return { 'renewed', receipt }
