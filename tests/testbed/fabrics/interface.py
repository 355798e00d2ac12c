# SPDX-License-Identifier: Apache-2.0
"""What a fabric is: what the switches of a test bed are made of, behind one interface.

A bed has hosts, links, routes and faults, whatever its switches are; it asks its fabric for the
rest. One of a kind is a folder here whose __init__.py has a class `Fabric` made from the one below;
its folder's name is that of `bed up --fabric`. In the order in which a bed calls it:

    need()              is everything there that it runs with?
    start()             namespaces are there, links are not
    linked()            links are there: the switches take them
    meet_controller()   a controller answers: the switches connect to it
    program(ids)        entries of these switches: routes for the links that are up, tagging, faults

Routes are those of `bed.routes()` (network.py). A fault of the kit (faults.py) puts filters and
queues on the interfaces of senders, which every fabric has; what only entries of switches can do
(loops, weights, spraying, a bad hash, wrong tags) the fabric reads from `bed.faults` when it is
programmed.
"""


class Site:
    """switches that share a network namespace"""

    def __init__(self, name, switches, namespace, folder, environment):
        self.name, self.switches, self.namespace = name, switches, namespace
        self.folder, self.env = f"{folder}/{name}", environment


class Fabric:
    """one thread, as its bed"""

    name = None                                 # that of its folder
    sysctls = {"ipv6/conf/default/disable_ipv6": "1", "ipv6/conf/all/disable_ipv6": "1"}
    site = Site
    tags, openflow = True, True                 # what its switches can do
    topology = ("topology", "fat-tree", "--k", "4")     # words of pathdump, where no file is given
    faults = frozenset()                        # members of faults (notation.py) that only it has
    depth = "pcp"                               # whether tags tell their depth: --openflow-depth
    # whether its switches write digests by a telemetry plan
    digests = False
    meters = False                              # whether they can count what segments lose

    def __init__(self, bed):
        self.bed = bed

    def controller_words(self, controller):
        """options of a bed's controller that make it keep the switches' tagging"""
        return ["--openflow", f"unix:{controller.openflow}"] if self.openflow else []

    def need(self):
        """RuntimeError in words when this machine cannot run it"""

    @staticmethod
    def site_of(node):
        """name of the site that a switch belongs to: a pod's switches and the cores by default"""
        return f"pod{node.pod}" if node.pod is not None else node.role

    def start(self):
        """daemons that the switches are made of"""

    def linked(self):
        """the switches take their interfaces"""

    def meet_controller(self):
        """the switches connect to the bed's controller, now"""

    def program(self, ids):
        """makes the entries of these switches what routes, tagging and faults ask now"""
        raise NotImplementedError

    def spray_filter(self):
        """tc words of a filter on what hosts send while switches spray; None where there is no
        need"""

    def counters(self, switch):
        """{name: number} of what a switch did with its packets"""
        raise NotImplementedError

    def punted(self):
        """how many packets the switches have given to a controller"""
        raise NotImplementedError

    def punts(self):
        """[{"switch", "in_port", "time_ns", "bytes", "frame"}] of these, where it keeps them"""
        return []

    # The bed's state, which another process reads

    def save(self):
        """what `load` needs, as JSON"""
        return {}

    def load(self, state):
        """a bed that another process has brought up"""
