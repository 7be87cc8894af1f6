-- The one atomic write by which a run makes progress.
local fence = args.fence()
local result = function() return { call = args.text(), payload = args.text() } end
local commit = {
  operation = args.text(),
  expected_version = args.optional_number(),
  state = args.optional(),
  format = args.optional_number(),
  checkpoint = args.boolean(),
  messages = args.list(function()
    if args.boolean() then return { promote = args.text() } end
    return { payload = args.text() }
  end),
  stage = args.list(result),
  events = args.list(args.text),
  streamed = args.optional_number(),
  open = args.list(function()
    return {
      id = args.text(), call = args.text(), kind = args.text(), needed = args.number(),
      deadline = args.optional_number(), body = args.text(),
    }
  end),
  close = args.list(args.text),
  consumed = args.list(args.number),
  inbox_seen = args.optional_number(),
  interrupt_confirmed = args.optional(),
  run = args.optional(),
  run_detail = args.optional(),
  release = args.optional(),
  deadline = args.optional_number(),
  wake_on = args.optional_number(),
}

local row = rows.fenced(fence)
if not row then return { 'stale_fence', 'unknown' } end
local answer = rules.admit(row, fence, commit)
if answer then return answer end

-- What is stored of what the commit names.
local facts = { staged = {}, open = {}, ever = {}, consumable = {} }
local function look_staged(call)
  local payload = redis.call('HGET', rows.own(row, 'staged'), call)
  if payload then facts.staged[call] = payload end
end
for _, staged in ipairs(commit.stage) do look_staged(staged.call) end
for _, message in ipairs(commit.messages) do
  if message.promote then look_staged(message.promote) end
end
for _, id in ipairs(commit.close) do facts.open[id] = rows.pending_facts(row, id) end
for _, new in ipairs(commit.open) do
  facts.ever[new.id] = redis.call('SISMEMBER', rows.own(row, 'ever'), new.id) == 1
end
for _, seq in ipairs(commit.consumed) do
  facts.consumable[seq] = redis.call('ZSCORE', rows.own(row, 'unread'), int(seq)) and true or false
end
local unseen = '(' .. int(rules.seen(row, commit))
facts.unseen_counted = redis.call('ZCOUNT', rows.own(row, 'counted'), unseen, '+inf')
facts.unseen_urgent = redis.call('ZCOUNT', rows.own(row, 'urgent'), unseen, '+inf') > 0

local last_message, last_event = row.last_message, row.last_event
local had_deltas = row.stream_open
local receipt, refused = rules.apply(row, commit, facts)
if not receipt then return refused end
rows.reach(row, 'payloads', 'starts', 'checkpoints', 'restorable', 'staged', 'messages', 'events', 'deltas',
  'open', 'ever', 'runs')
rows.reach_inbox(row)
redis.call('ZCARD', rows.pending_index(row))

if commit.state then
  redis.call('HSET', rows.own(row, 'payloads'), 'state', commit.state)
  redis.call('UNLINK', rows.own(row, 'starts'))
  if commit.checkpoint then rows.append_checkpoint(row, commit.state) end
end
for _, staged in ipairs(commit.stage) do
  redis.call('HSETNX', rows.own(row, 'staged'), staged.call, staged.payload)
  facts.staged[staged.call] = facts.staged[staged.call] or staged.payload
end
local messages = {}
for index, message in ipairs(commit.messages) do
  messages[index] = message.payload or facts.staged[message.promote]
  if message.promote then redis.call('HDEL', rows.own(row, 'staged'), message.promote) end
end
rows.append(row, 'messages', last_message, messages)
rows.append(row, 'events', last_event, commit.events)
if had_deltas and not row.stream_open then redis.call('UNLINK', rows.own(row, 'deltas')) end
for _, id in ipairs(commit.close) do rows.close_pending(row, id, facts.open[id]) end
for _, new in ipairs(commit.open) do rows.open_pending(row, new) end
for _, seq in ipairs(commit.consumed) do rows.consume(row, seq) end
if commit.run then rows.end_run(row, row.epoch, commit.run, commit.run_detail) end
rows.save(row)
rows.tell(row)
return { 'committed', receipt }
