-- store/src/rules/list.rs

-- Whether an instant lies in a range: from its first on, and before its end.
function rules.lies_in(range, at)
  return (range.since == nil or at >= range.since) and (range.before == nil or at < range.before)
end
