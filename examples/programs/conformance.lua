-- SPDX-License-Identifier: Apache-2.0
-- Path conformance (PathDump paper, section 2.3): paths that are too long, or cross a switch that
-- they should not.
--
-- args: flow_id   of one flow; none: all flows
--       max_hops  most hops of a good path (5 when not given)
--       switch    that no path may cross (none when not given)
-- Installed on new_flow it looks at the flow of the event alone. What it finds is an alarm PC_FAIL,
-- and the result.

local function crosses(path, switch)
  for _, id in ipairs(path) do
    if id == switch then return true end
  end
  return false
end

function run(args)
  local flow_id = args.event and args.event.flow_id or args.flow_id
  local result = {}
  for path in get_paths{flow_id = flow_id, live = true} do
    if #path - 1 > (args.max_hops or 5) or crosses(path, args.switch) then
      result[#result + 1] = path
    end
  end
  if #result > 0 then
    alarm{flow_id = flow_id, reason = "USER_PC_FAIL", paths = result}
  end
  return result
end

function merge(a, b)
  for _, path in ipairs(b) do
    a[#a + 1] = path
  end
  return a
end
