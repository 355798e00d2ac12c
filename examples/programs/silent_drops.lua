-- SPDX-License-Identifier: Apache-2.0
-- Silent random packet drops (PathDump paper, section 2.3): TCP flows that retransmit again and
-- again. To be installed with a period of 200 ms.
--
-- args: threshold  of retransmissions in a row (3 when not given)
-- Each is an alarm POOR_PERF; whoever gets it asks for the paths of that flow
-- (failure_signature.lua) and looks for the link that they share.

function run(args)
  local poor = {}
  for flow_id in get_poor_tcp_flows{threshold = args.threshold or 3} do
    alarm{flow_id = flow_id, reason = "USER_POOR_PERF", paths = {}}
    poor[#poor + 1] = flow_id
  end
  return poor
end

function merge(a, b)
  for _, flow_id in ipairs(b) do
    a[#a + 1] = flow_id
  end
  return a
end
