-- The fence that a write of a run carries, and what the handle knows of it: the run that it was granted to, the
-- newest version that was acknowledged under it, and when by the store's clock. A store that went back in time may
-- have granted the same epoch anew, or lost a commit, or the whole session: the fence alone would not tell.

function args.fence()
  return {
    incarnation = args.text(),
    epoch = args.number(),
    run = args.optional(),
    version = args.optional_number(),
    at = args.optional_number(),
  }
end

-- Ends the script if the life that the fence names was neither deleted nor is there. Its tombstone stands for a day,
-- so what was last heard of longer ago may have been deleted since.
local function missing(fence)
  if rules.is_old(fence.at) then return end
  local tenant, id = rows.names(KEYS[2])
  local life = { tenant = tenant, id = id, incarnation = fence.incarnation, operation = '' }
  if not rows.is_buried(life) then
    fail('WENTBACK', 'run ' .. int(fence.epoch) .. ' was granted, and its session is not there')
  end
end

-- The row that the fence names, or nil.
function rows.fenced(fence)
  local row = rows.load(KEYS[2])
  if not fence.run then return row end
  if not row or row.incarnation ~= fence.incarnation then
    missing(fence)
    return row
  end
  if row.epoch < fence.epoch then
    fail('WENTBACK', 'run ' .. int(fence.epoch) .. ' was granted, ' .. int(row.epoch) .. ' is the newest')
  end
  if row.epoch == fence.epoch and row.last_claim ~= fence.run then
    fail('WENTBACK', 'run ' .. int(fence.epoch) .. ' was granted to another')
  end
  if fence.version and row.version < fence.version then
    fail('WENTBACK', 'version ' .. int(fence.version) .. ' was acknowledged, ' .. int(row.version) .. ' is the newest')
  end
  return row
end
