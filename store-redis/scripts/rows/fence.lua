-- The fence that a write of a run carries, and what the handle knows of it: the run that it was granted to, and
-- the newest version that was acknowledged under it. A store that went back in time may have granted the same
-- epoch anew, or lost a commit: the fence alone would not tell.

function args.fence()
  return {
    incarnation = args.text(),
    epoch = args.number(),
    run = args.optional(),
    version = args.optional_number(),
  }
end

-- The row that the fence names, or nil.
function rows.fenced(fence)
  local row = rows.load(KEYS[2])
  if not row or row.incarnation ~= fence.incarnation or not fence.run then return row end
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
