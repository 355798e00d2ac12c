-- SPDX-License-Identifier: Apache-2.0
-- Load imbalance (PathDump paper, section 2.3): how many flows of which size crossed each of some
-- links.
--
-- args: links     as in {"9-17", "9-18"}: the ports of one switch
--       binsize   in bytes (10000 when not given)
--       from, to  time range, either may be missing
-- Result: {"9-17": {"0": 12, "10000": 3}}: for each link, for the lower end of each bin, the number
-- of flows.

function run(args)
  local result, binsize = {}, args.binsize or 10000
  for _, link in ipairs(args.links) do
    result[link] = {}
    for flow in get_flows{link = link, from = args.from, to = args.to} do
      local bytes, pkts = get_count{flow_id = flow.flow_id, path = flow.path,
                                    from = args.from, to = args.to}
      -- a text: a table with keys 1, 2, 3 would become a list
      local bin = tostring(bytes // binsize * binsize)
      result[link][bin] = (result[link][bin] or 0) + 1
    end
  end
  return result
end

function merge(a, b)
  for link, bins in pairs(b) do
    for bin, flows in pairs(bins) do
      a[link][bin] = (a[link][bin] or 0) + flows
    end
  end
  return a
end
