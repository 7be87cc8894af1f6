-- store/src/rules/commit.rs

function rules.unseen_add(row, wake)
  if wake == 'now' then
    row.unseen_urgent = true
  elseif wake == 'count' then
    row.unseen_counted = row.unseen_counted + 1
  end
end

function rules.unseen_reaches(row)
  return row.unseen_urgent or (row.wake_on > 0 and row.unseen_counted >= row.wake_on)
end

function rules.unseen_any(row)
  return row.unseen_urgent or row.unseen_counted > 0
end

-- The first look at a commit, on the row alone: the answer that ends it, or nil.
function rules.admit(row, fence, commit)
  if row.last_commit_operation == commit.operation and row.last_commit_epoch == fence.epoch
    and row.epoch == fence.epoch and row.incarnation == fence.incarnation then
    return { 'committed', row.last_commit_receipt }
  end
  if not rules.admits(row, fence) then
    return { 'stale_fence', rules.was_applied(row, fence, commit) }
  end
  if commit.expected_version and commit.expected_version ~= row.version then
    return { 'version_conflict', int(row.version) }
  end
end

-- Up to where the commit has seen. Nobody has seen what is not there yet: an item that comes later must count.
function rules.seen(row, commit)
  return math.max(math.min(commit.inbox_seen or 0, row.last_item), row.inbox_seen)
end

-- The answer that refuses the commit, or nil. `facts` holds what is stored of what the commit names.
function rules.check_facts(row, commit, facts, seen)
  local staged = {}
  for call, payload in pairs(facts.staged) do staged[call] = payload end
  for _, result in ipairs(commit.stage) do
    local first = staged[result.call]
    if first and first ~= result.payload then return { 'stage_conflict', result.call } end
    staged[result.call] = first or result.payload
  end
  local promoted = {}
  for _, message in ipairs(commit.messages) do
    if message.promote then
      if promoted[message.promote] or not staged[message.promote] then
        return { 'not_staged', message.promote }
      end
      promoted[message.promote] = true
    end
  end
  for _, id in ipairs(commit.close) do
    local open = facts.open[id]
    if not open then return { 'pending_conflict', id } end
    if open.last_answer > seen then return { 'answer_waiting', id } end
  end
  local opened = {}
  for _, new in ipairs(commit.open) do
    if facts.ever[new.id] or opened[new.id] then return { 'pending_conflict', new.id } end
    opened[new.id] = true
  end
  local consumed = {}
  for index, seq in ipairs(commit.consumed) do
    if seq > seen or consumed[seq] or not facts.consumable[seq] then
      return { 'not_in_inbox', int(index - 1) }
    end
    consumed[seq] = true
  end
end

-- Decides an admitted commit: changes the row and answers the receipt, or nil and the refusal.
function rules.apply(row, commit, facts)
  local seen = rules.seen(row, commit)
  local refused = rules.check_facts(row, commit, facts, seen)
  if refused then return nil, refused end
  row.version = row.version + 1
  row.attempts = 0
  row.updated_at = now
  if commit.state then row.format = commit.format end
  row.last_message = row.last_message + #commit.messages
  row.last_event = row.last_event + #commit.events
  row.unread = math.max(row.unread - #commit.consumed, 0)
  row.inbox_seen = seen
  row.unseen_counted = facts.unseen_counted
  row.unseen_urgent = facts.unseen_urgent
  if commit.interrupt_confirmed and row.interrupt_id == commit.interrupt_confirmed then
    rules.clear_interrupt(row)
  end
  if commit.run then row.run_open = false end
  if commit.streamed then rules.stream_end(row, row.epoch, commit.streamed) end
  if not commit.release then
    rules.keep_lease(row)
  elseif commit.release == 'give_back' then
    rules.give_back(row, commit.deadline)
  else
    row.wake_on = commit.wake_on
    rules.release(row, commit.release, commit.deadline)
  end
  local receipt = rules.receipt(row)
  row.last_commit_operation = commit.operation
  row.last_commit_epoch = row.epoch
  row.last_commit_version = row.version
  row.last_commit_receipt = receipt
  return receipt
end

-- Leaves the session: no wake-up is ever lost.
function rules.release(row, status, deadline)
  rules.drop_lease(row)
  row.stream_open = false
  row.status = status
  if rules.at_rest(status) and not rules.abort_waits(row) then rules.clear_interrupt(row) end
  if status == 'aborted' then
    rules.clear_interrupt(row)
    row.alarm = nil
    return
  end
  if rules.wanted_at_once(row) then row.alarm = now else row.alarm = deadline end
end

function rules.give_back(row, alarm)
  rules.drop_lease(row)
  row.stream_open = false
  row.status = row.found
  if row.found == 'active' then
    row.alarm = alarm or now
  elseif rules.wanted_at_once(row) then
    row.alarm = now
  else
    row.alarm = alarm
  end
end

function rules.wanted_at_once(row)
  local by_items
  if rules.at_rest(row.status) then by_items = rules.unseen_any(row) else by_items = rules.unseen_reaches(row) end
  return by_items or row.interrupt_id ~= nil
end

function rules.clear_interrupt(row)
  row.interrupt_id = nil
  row.interrupt_kind = nil
  row.interrupt_at = nil
  row.interrupt_incarnation = nil
  row.interrupt_handed_to = nil
end
