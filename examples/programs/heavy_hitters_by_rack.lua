-- SPDX-License-Identifier: Apache-2.0
-- For each rack, what came into it, and the flow IDs that brought the largest part of it.
--
-- args: k         flow IDs for each rack (5 when not given)
--       from, to  time range, either may be missing
-- Result: {"k": 5, "racks": {"3": {"bytes": 123, "top": [{"flow_id": {…}, "bytes": 100, "paths":
-- 2}, …]}}}; the rack is the last switch of the paths.
--
-- All records of a flow ID lie at one server, its destination. So the k largest of a rack are among
-- the k largest of each of its servers, and merging a few rows of each is exact.

local function name(id)
  return table.concat({id.src_ip, id.dst_ip, id.src_port, id.dst_port, id.protocol}, " ")
end

local function shorten(list, k)
  table.sort(list, function(a, b)
    if a.bytes ~= b.bytes then return a.bytes > b.bytes end
    return name(a.flow_id) < name(b.flow_id)
  end)
  for i = #list, k + 1, -1 do
    list[i] = nil
  end
end

function run(args)
  local k, racks, known = args.k or 5, {}, {}
  for flow in get_flows{from = args.from, to = args.to} do
    if #flow.path > 0 then -- link tags that fit no path have none
      local rack = tostring(flow.path[#flow.path])
      local of = racks[rack] or {bytes = 0, top = {}}
      racks[rack] = of
      of.bytes = of.bytes + flow.bytes
      local key = rack .. " " .. name(flow.flow_id)
      local row = known[key]
      if not row then
        row = {flow_id = flow.flow_id, bytes = 0, paths = 0}
        known[key] = row
        of.top[#of.top + 1] = row
      end
      row.bytes = row.bytes + flow.bytes
      row.paths = row.paths + 1
    end
  end
  for _, of in pairs(racks) do
    shorten(of.top, k)
  end
  return {k = k, racks = racks}
end

function merge(a, b)
  for rack, of in pairs(b.racks) do
    local mine = a.racks[rack]
    if mine then
      mine.bytes = mine.bytes + of.bytes
      table.move(of.top, 1, #of.top, #mine.top + 1, mine.top)
      shorten(mine.top, a.k)
    else
      a.racks[rack] = of
    end
  end
  return a
end
