-- SPDX-License-Identifier: Apache-2.0
-- Silent random packet drops, the other half (PathDump paper, section 2.3): the paths of a flow
-- that suffers. Asked of the flow's receiver.
--
-- args: flow_id  of the flow
--       from     only what ended then or later

function run(args)
  local paths = {}
  for path in get_paths{flow_id = args.flow_id, from = args.from, live = true} do
    paths[#paths + 1] = path
  end
  return paths
end
