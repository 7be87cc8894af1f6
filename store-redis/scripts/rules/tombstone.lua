-- store/src/rules/tombstone.rs

-- How long a tombstone stands at least.
local TOMBSTONE_STANDS = 24 * 60 * 60 * 1000

function rules.was_deleted(operation, row, named)
  return named and (row == nil or row.created_by ~= operation)
end

-- nil: it is deleted; or the answer that refuses.
function rules.delete(row, deletion)
  if deletion.incarnation and deletion.incarnation ~= row.incarnation then return { 'not_found' } end
  if deletion.mode == 'unless_active' and row.status == 'active' then return { 'active' } end
end

function rules.is_old(at)
  return now - at > TOMBSTONE_STANDS
end
