-- store/src/rules/mod.rs

function rules.create(new)
  return {
    tenant = new.tenant, id = new.id,
    incarnation = new.incarnation,
    created_by = new.operation,
    status = 'idle',
    version = 1,
    epoch = 0,
    queue = new.queue,
    format = new.format,
    found = 'idle',
    run_open = false,
    attempts = 0,
    stream_run = 0, stream_number = 0, stream_last = 0, stream_open = false,
    last_message = 0,
    last_event = 0,
    last_item = 0,
    unread = 0,
    inbox_seen = 0,
    unseen_counted = 0, unseen_urgent = false,
    wake_on = 0,
    created_at = now,
    updated_at = now,
    -- Of this store alone: which keys are its, its first run, how many calls it ever opened.
    life = 0,
    runs_from = 0,
    opened = 0,
  }
end

function rules.admits(row, fence)
  return row.incarnation == fence.incarnation
    and row.epoch == fence.epoch
    and row.status == 'active'
    and row.lease_worker ~= nil
end

function rules.was_applied(row, fence, commit)
  if row.incarnation ~= fence.incarnation then return 'unknown' end
  if not row.last_commit_operation then return 'no' end
  if row.last_commit_epoch < fence.epoch then return 'no' end
  if row.last_commit_epoch > fence.epoch then return 'unknown' end
  if row.last_commit_operation == commit.operation then return 'yes' end
  -- Decided on what the newest commit made, it could only have come after it.
  if commit.expected_version and commit.expected_version >= row.last_commit_version then return 'no' end
  return 'unknown'
end

-- Version, last message, last item, unread, whether an interrupt waits, now, end of the lease.
function rules.receipt(row)
  return table.concat({
    int(row.version), int(row.last_message), int(row.last_item), int(row.unread),
    row.interrupt_id and '1' or '0', int(now), int(row.lease_ends or now),
  }, ' ')
end

function rules.ring_at(row, at)
  row.alarm = math.min(row.alarm or at, at)
end

function rules.abort_waits(row)
  return row.interrupt_kind == 'abort'
end

function rules.at_rest(status)
  return status == 'idle' or status == 'interrupted' or status == 'failed' or status == 'aborted'
end
