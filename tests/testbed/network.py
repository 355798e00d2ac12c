# SPDX-License-Identifier: Apache-2.0
"""The network of a test bed, read from a topology file: its switches and hosts, the OpenFlow port
behind each link, and the routes of every switch for the links that are up.

Routing is that of a data centre with local fast repair. A switch sends towards a rack over all its
links that lie on a shortest path (ECMP). When every one of those links of its own is down, it
repairs locally: it sends to a neighbour from which the rack is one hop farther, so that the path
grows by two hops. A switch that has no such neighbour is left out by those before it, as a routing
protocol would do. Nothing ever goes back out of the link that it came in by. In a fat-tree this
gives the three detours of six hops:

    source pod       tor agg TOR AGG core agg tor     every uplink of the first agg is down
    destination pod  tor agg core agg TOR AGG tor     the link from the last agg to the rack is down
    core             tor agg core AGG CORE agg tor    the link from the core to the last agg is down
"""
import json

ROLES_WITH_HOSTS = ("tor", "leaf")


class Node:
    """a switch or a host as the topology file describes it; peers are the IDs of its neighbours in
    port order"""

    def __init__(self, document):
        self.id, self.role = document["id"], document["role"]
        self.name, self.pod = document.get("name", str(document["id"])), document.get("pod")
        self.prefixes, self.addrs = document.get("prefixes", []), document.get("addrs", [])
        # cards: of the ports towards neighbours, where the file says so
        self.peers, self.cards = [], {}

    def port(self, peer):
        """OpenFlow port towards a neighbour: switches in the order of their IDs, then hosts,
        counted from 1"""
        return self.peers.index(peer) + 1


class Network:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        self.nodes = {node["id"]: Node(node) for node in document["nodes"]}
        self.links = [(link["source"], link["target"]) for link in document["links"]]
        for a, b in self.links:
            self.nodes[a].peers.append(b)
            self.nodes[b].peers.append(a)
        for link in document["links"]:
            self.nodes[link["source"]].cards[link["target"]] = link.get("source_card")
            self.nodes[link["target"]].cards[link["source"]] = link.get("target_card")
        for node in self.nodes.values():
            node.peers.sort(key=lambda peer: (self.nodes[peer].role == "host", peer))
        self.switches = [n for n in self.nodes.values() if n.role != "host"]
        self.hosts = [n for n in self.nodes.values() if n.role == "host"]
        self.racks = [n for n in self.switches if n.role in ROLES_WITH_HOSTS or n.role == "switch"
                      and any(self.nodes[peer].role == "host" for peer in n.peers)]

    def rack_of(self, host):
        return self.nodes[host].peers[0]

    def switch_peers(self, switch):
        return [p for p in self.nodes[switch].peers if self.nodes[p].role != "host"]

    def distances(self, rack, without=()):
        """hops from every switch to a rack when the switches of `without` are taken out"""
        found, wave = {rack: 0}, [rack]
        for switch in wave:
            for peer in self.switch_peers(switch):
                if peer not in found and peer not in without:
                    found[peer] = found[switch] + 1
                    wave.append(peer)
        return found

    def routes(self, down=()):
        """the Routes for the links that are up; down: a collection of pairs of IDs, in either
        order"""
        return Routes(self, {frozenset(link) for link in down})


class Routes:
    """next hops of every switch, worked out when first asked for"""

    def __init__(self, network, down):
        self.network, self.down = network, down
        self.hops = {}                          # (switch, came from, rack) -> next hops
        self.static = {rack.id: network.distances(rack.id) for rack in network.racks}

    def up(self, a, b):
        return frozenset((a, b)) not in self.down

    def next_hops(self, switch, came_from, rack):
        """where a switch sends a packet for a rack; came_from is None for a packet of a host of its
        own"""
        key = switch, came_from, rack
        if key not in self.hops:
            self.hops[key] = ()                 # a way that leads back to here leads nowhere
            self.hops[key] = tuple(n for n in self.candidates(*key)
                                   if n == rack or self.next_hops(n, switch, rack))
        return self.hops[key]

    def candidates(self, switch, came_from, rack):
        distance = self.static[rack]
        peers = [p for p in self.network.switch_peers(switch) if p != came_from
                 and self.up(switch, p)]
        shortest = [p for p in peers if distance[p] < distance[switch]]
        if shortest or came_from is None:
            return shortest
        around = self.network.distances(rack, without=(switch, came_from))
        return [p for p in peers if around.get(p) == distance[switch] + 1]

    def paths(self, source, target):
        """every path that a packet from a host to another may take now, as tuples of switch IDs"""
        first, last = self.network.rack_of(source), self.network.rack_of(target)
        found, open_ends = [], [(first,)]
        while open_ends:
            path = open_ends.pop()
            if path[-1] == last:
                found.append(path)
                continue
            came_from = path[-2] if len(path) > 1 else None
            open_ends += [path + (n,) for n in self.next_hops(path[-1], came_from, last)]
        return sorted(found)
