-- SPDX-License-Identifier: Apache-2.0
-- Traffic measurement (PathDump paper, section 2.3): the flows (flow ID and path) with the most
-- bytes, in a heap whose smallest stands first.
--
-- args: k         how many (1000 when not given)
--       from, to  time range, either may be missing
-- Result: {"k": 1000, "flows": [[bytes, flow], …]}, in the order of the heap.

local function push(heap, item)
  local at = #heap + 1
  heap[at] = item
  while at > 1 and heap[at // 2][1] > heap[at][1] do
    heap[at], heap[at // 2] = heap[at // 2], heap[at]
    at = at // 2
  end
end

local function pop(heap)
  local at, last = 1, table.remove(heap)
  if #heap == 0 then return end
  heap[1] = last
  while true do
    local least, left = at, 2 * at
    for child = left, left + 1 do
      if heap[child] and heap[child][1] < heap[least][1] then least = child end
    end
    if least == at then return end
    heap[at], heap[least] = heap[least], heap[at]
    at = least
  end
end

local function keep(heap, k, bytes, flow)
  if #heap < k or bytes > heap[1][1] then
    if #heap == k then pop(heap) end
    push(heap, {bytes, flow})
  end
end

function run(args)
  local h, k = {}, args.k or 1000
  for flow in get_flows{from = args.from, to = args.to} do
    -- The paper asks getCount(flow, tRange) here; each row of getFlows has its bytes.
    keep(h, k, flow.bytes, {flow_id = flow.flow_id, path = flow.path})
  end
  return {k = k, flows = h}
end

function merge(a, b)
  for _, item in ipairs(b.flows) do
    keep(a.flows, a.k, item[1], item[2])
  end
  return a
end
