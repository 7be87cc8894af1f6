-- store/src/rules/delivery.rs

-- Decides a delivery: counts it and answers its arrival (place, wake, answered), or nil and the refusal.
-- `known` is the place and digest of the item with the same key, `pending` the open call that it answers.
function rules.accept(row, item, known, pending)
  if item.incarnation and item.incarnation ~= row.incarnation then return nil, { 'not_found' } end
  if not item.incarnation and item.kind == 'answer' then return nil, { 'not_found' } end
  if known then
    return nil, { known.digest == item.digest and 'duplicate' or 'conflict', int(known.seq) }
  end
  local wake, answered = item.wake, nil
  if item.kind == 'answer' then
    local refusal
    answered, refusal = rules.take_slot(pending, item.settles)
    if refusal then return nil, refusal end
    wake = answered >= pending.needed and 'now' or 'quiet'
  elseif row.status == 'aborted' then
    return nil, { 'aborted' }
  end
  row.last_item = row.last_item + 1
  row.unread = row.unread + 1
  rules.unseen_add(row, wake)
  row.updated_at = now
  if rules.wakes(row, wake) then rules.ring_at(row, now) end
  return { seq = row.last_item, wake = wake, answered = answered }
end

-- Whether the item that was just counted wakes the session. A live run is never taken over by it.
function rules.wakes(row, wake)
  if row.status == 'active' or row.status == 'aborted' then return false end
  if row.status == 'suspended' then return rules.unseen_reaches(row) end
  return wake ~= 'quiet'
end

-- Decides a request to stop, and sets the alarm of a session that nobody runs.
function rules.request_interrupt(row, interrupt)
  if interrupt.incarnation and interrupt.incarnation ~= row.incarnation then return { 'not_found' } end
  if row.status == 'aborted' then return { 'aborted' } end
  if row.interrupt_id and (row.interrupt_kind == 'abort' or interrupt.kind == 'soft') then
    return { 'already_waiting', row.interrupt_id }
  end
  if interrupt.kind == 'soft' and rules.at_rest(row.status) then return { 'at_rest' } end
  row.interrupt_id = interrupt.id
  row.interrupt_kind = interrupt.kind
  row.interrupt_at = interrupt.at
  row.interrupt_incarnation = interrupt.incarnation
  row.interrupt_handed_to = nil
  row.updated_at = now
  if row.status ~= 'active' then rules.ring_at(row, now) end
  return { 'requested' }
end

function rules.take_slot(pending, settles)
  if not pending then return nil, { 'not_pending' } end
  if pending.answered >= pending.needed then return nil, { 'already_answered' } end
  if pending.deadline and pending.deadline <= now then return nil, { 'not_pending' } end
  return settles and pending.needed or pending.answered + 1
end
