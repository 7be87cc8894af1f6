-- store/src/rules/ownership.rs

-- 'alive', 'ended', or nil if it is no repeat.
function rules.repeated_claim(row, run)
  if row.last_claim ~= run then return nil end
  if row.status == 'active' and row.lease_worker and row.lease_ends > now then return 'alive' end
  return 'ended'
end

-- nil, or the answer.
function rules.claimable(row, expected)
  if row.status == 'aborted' then return { 'aborted' } end
  if row.lease_worker and row.lease_ends > now then
    return { 'held', row.lease_worker, int(row.epoch), int(row.version), int(row.lease_ends) }
  end
  if expected and expected ~= row.version then
    return { 'version_conflict', int(row.version), row.status }
  end
end

-- Moves the row to active. Answers which run is closed as lost and which one is the parent.
function rules.claim(row, run, worker, lease)
  local takeover = row.status == 'active'
  -- A fork has none of its source's runs.
  local continues = row.status ~= 'idle' and row.last_claim ~= nil
  local close_lost = row.run_open and row.epoch or nil
  local parent = continues and row.epoch or nil
  if takeover then row.attempts = row.attempts + 1 end
  row.found = row.status
  row.status = 'active'
  row.epoch = row.epoch + 1
  row.version = row.version + 1
  row.last_claim = run
  row.run_open = true
  row.stream_open = false
  rules.grant(row, worker, lease)
  row.updated_at = now
  return close_lost, parent
end

-- Whether a worker that serves `queues` (nil: all) and reads formats up to `newest` may claim the row now.
function rules.is_due(row, queues, newest, tenant)
  return row.alarm ~= nil and row.alarm <= now
    and (tenant == nil or tenant == row.tenant)
    and rules.claimable(row, nil) == nil
    and (row.interrupt_id ~= nil
      or ((queues == nil or queues[row.queue] == true) and row.format <= newest))
end

-- The receipt, or nil if the fence is stale.
function rules.renew(row, fence, lease)
  if not rules.admits(row, fence) then return nil end
  local ends = after(now, lease)
  if row.lease_ends < ends then
    row.lease_ends = ends
    row.lease_granted_ms = lease
    row.alarm = ends
    row.updated_at = now
  end
  return rules.receipt(row)
end

-- Extends the lease by what it was granted for, if less than half of that is left.
function rules.keep_lease(row)
  if not row.lease_worker then return end
  if math.max(row.lease_ends - now, 0) * 2 < row.lease_granted_ms then
    row.lease_ends = after(now, row.lease_granted_ms)
    row.alarm = row.lease_ends
  end
end

function rules.compare_and_set(row, cas)
  if cas.incarnation and cas.incarnation ~= row.incarnation then return { 'not_found' } end
  if cas.expected_version ~= row.version then
    return { 'version_conflict', int(row.version), row.status }
  end
  if (row.status == 'failed' or row.status == 'interrupted') and cas.to == 'suspended' then
    row.status = 'suspended'
    row.version = row.version + 1
    row.alarm = now
    row.updated_at = now
    return { 'moved', int(row.version) }
  end
  return { 'not_allowed', row.status }
end

function rules.grant(row, worker, lease)
  row.lease_worker = worker
  row.lease_ends = after(now, lease)
  row.lease_granted_ms = lease
  row.alarm = row.lease_ends
end

function rules.drop_lease(row)
  row.lease_worker = nil
  row.lease_ends = nil
  row.lease_granted_ms = nil
end
