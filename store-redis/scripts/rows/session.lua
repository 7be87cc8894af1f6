-- The row of a session: one small hash, its fields named as the rules name them.

-- Field -> what it holds: 't' a text, 'n' a number, 'b' a boolean, 's' a status; lower case: always there.
local FIELDS = {
  tenant = 't', id = 't', incarnation = 't', created_by = 't', status = 's', queue = 't', found = 's',
  version = 'n', epoch = 'n', format = 'n', attempts = 'n', life = 'n', runs_from = 'n', opened = 'n',
  stream_run = 'n', stream_number = 'n', stream_last = 'n',
  last_message = 'n', last_event = 'n', last_item = 'n', unread = 'n', inbox_seen = 'n',
  unseen_counted = 'n', wake_on = 'n', created_at = 'n', updated_at = 'n',
  run_open = 'b', stream_open = 'b', unseen_urgent = 'b',
  lease_worker = 'T', lease_ends = 'N', lease_granted_ms = 'N', last_claim = 'T',
  last_commit_operation = 'T', last_commit_epoch = 'N', last_commit_version = 'N',
  last_commit_receipt = 'T', alarm = 'N',
  interrupt_id = 'T', interrupt_kind = 'T', interrupt_at = 'N', interrupt_incarnation = 'T',
  interrupt_handed_to = 'N',
}

local STATUS = {
  idle = true, active = true, suspended = true, interrupted = true, failed = true, aborted = true,
}

local function decode(field, kind, value)
  if value == nil then
    if kind == 'T' or kind == 'N' then return nil end
    fail('CORRUPT', field .. ': it is missing')
  end
  if kind == 's' and not STATUS[value] then fail('CORRUPT', field .. ': it is no status') end
  if kind == 't' or kind == 'T' or kind == 's' then return value end
  if kind == 'b' then return value == '1' end
  local number = tonumber(value)
  if not number or math.abs(number) > LAST_INSTANT then fail('CORRUPT', field .. ': it is no number') end
  return number
end

-- The row at `key`, or nil. What is stored is kept beside it, so that saving writes what has changed.
function rows.load(key)
  local flat = redis.call('HGETALL', key)
  if #flat == 0 then return nil end
  local stored = {}
  for index = 1, #flat, 2 do stored[flat[index]] = flat[index + 1] end
  local row = {}
  for field, kind in pairs(FIELDS) do
    row[field] = decode(field, kind, stored[field])
  end
  if (row.lease_worker == nil) ~= (row.lease_ends == nil)
    or (row.lease_worker == nil) ~= (row.lease_granted_ms == nil) then
    fail('CORRUPT', 'lease: it is not whole')
  end
  if row.last_commit_operation
    and not (row.last_commit_epoch and row.last_commit_version and row.last_commit_receipt) then
    fail('CORRUPT', 'last_commit: it is not whole')
  end
  row.key, row.stored, row.places = key, stored, rows.places(row)
  return row
end

-- What `read` answers; or nil, and true if what it reads is corrupt.
function rows.sound(read, ...)
  local done, answer = pcall(read, ...)
  if done then return answer end
  -- The server's own pcall hands out the text of an error.
  local why = type(answer) == 'table' and answer.err or answer
  if string.find(why, '^CORRUPT') or string.find(why, '^WRONGTYPE') then return nil, true end
  error({ err = why })
end

function rows.load_sound(key)
  return rows.sound(rows.load, key)
end

-- As much as can be read of the row at `key`, or nil if there is none: for whoever only removes it.
function rows.load_torn(key)
  local whole, torn = rows.load_sound(key)
  if not torn then return whole end
  local row = { key = key, stored = {}, places = {} }
  local flat = rows.sound(redis.call, 'HGETALL', key) or {}
  for index = 1, #flat, 2 do row.stored[flat[index]] = flat[index + 1] end
  for field, kind in pairs(FIELDS) do row[field] = rows.sound(decode, field, kind, row.stored[field]) end
  row.tenant, row.id = rows.names(key)
  if row.queue and row.updated_at and row.unread then row.places = rows.places(row) end
  return row
end

-- Writes what has changed of the row, and of the indexes that follow it.
function rows.save(row)
  local stored, set, unset = row.stored or {}, {}, {}
  for field in pairs(FIELDS) do
    local value = row[field]
    if value == nil then
      if stored[field] then unset[#unset + 1] = field end
    else
      value = text(value)
      if stored[field] ~= value then
        set[#set + 1] = field
        set[#set + 1] = value
      end
    end
  end
  if #set > 0 then redis.call('HSET', row.key, unpack(set)) end
  if #unset > 0 then redis.call('HDEL', row.key, unpack(unset)) end
  rows.move(row.places or {}, rows.places(row))
end

-- The row as its reader gets it: names and values in turn.
function rows.flat(row)
  local flat = {}
  for field in pairs(FIELDS) do
    if row[field] ~= nil then
      flat[#flat + 1] = field
      flat[#flat + 1] = text(row[field])
    end
  end
  return flat
end

-- Tells whoever listens that the session has changed, and whether it is due. Only a hint: it fails in silence.
function rows.tell(row)
  local due = row.alarm ~= nil and row.alarm <= now
  redis.pcall('SPUBLISH', tag .. ':hints', pack(row.tenant, row.id, due))
end
