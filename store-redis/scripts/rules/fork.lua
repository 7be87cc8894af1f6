-- store/src/rules/fork.rs

function rules.fork(at, new)
  local row = rules.create(new)
  row.status = new.status
  row.found = new.status
  row.version = at.id + 1
  row.epoch = at.epoch
  row.last_message = at.last_message + #new.messages
  row.last_event = at.last_event + #new.events
  row.runs_from = at.epoch
  return row
end

function rules.forked_before(row, operation)
  if row.created_by == operation then return { 'forked' } end
  return { 'already_exists', row.incarnation, row.status, int(row.version) }
end
