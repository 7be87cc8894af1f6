-- store/src/rules/retention.rs

-- Whether the session rests and nothing waits in it: what any rule may be about.
function rules.rests(row)
  return rules.at_rest(row.status) and row.alarm == nil and row.unread == 0 and row.interrupt_id == nil
end

function rules.purgeable(row, rule)
  return rules.rests(row)
    and row.updated_at < rule.unchanged_since
    and (next(rule.status) == nil or rule.status[row.status] == true)
    and (rule.tenant == nil or rule.tenant == row.tenant)
end
