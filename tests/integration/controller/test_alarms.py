#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Alarms from agents to the controller and on: each exactly once, whoever is killed meanwhile; what
is refused; streams of events."""
import http.client
import json
import os
import signal
import socket
import threading
import time

from fleet import START_US, FleetTest, main, post
from capture import frame, write_pcap
from programs import Controller, Daemon

FIRST, SECOND = 21, 22
BEGIN_US = time.time_ns() // 1000 # a time far from now would be set to now
WAIT_S = 60
FLOWS = 40                              # of an agent, each with tags that fit no path
KILLS, BATCHES, EACH = 3, 60, 20        # of the controller; of each host


def alarm(seq, reason="PC_FAIL", **more):
    return {"seq": seq, "time_us": BEGIN_US + seq, "reason": reason, "paths": [[1, 9]],
            "detail": f"n{seq}",
            "flow_id": {"src_ip": "10.0.0.1", "dst_ip": "10.0.0.2", "src_port": seq % 65536,
                        "dst_port": 80, "protocol": 6}, **more}


def delivery(host, spool, seqs, **more):
    return {"host": host, "spool": f"{spool:016x}", "alarms": [alarm(seq, **more) for seq in seqs]}


class Stream:
    """a reader of server-sent events"""

    def __init__(self, controller, target="/v1/alarms/stream", last=None):
        self.socket = socket.create_connection(("127.0.0.1", controller.port), timeout=WAIT_S)
        header = f"Last-Event-ID: {last}\r\n" if last is not None else ""
        self.socket.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n{header}\r\n".encode())
        self.answer = http.client.HTTPResponse(self.socket)
        self.answer.begin()

    def event(self):
        """(ID, alarm) of the next one, comments passed over"""
        number = None
        while True:
            line = self.answer.readline().decode().rstrip("\n")
            if line.startswith("id: "):
                number = int(line[4:])
            elif line.startswith("data: "):
                return number, json.loads(line[6:])
            elif not line and self.answer.isclosed():
                raise AssertionError("the stream has ended")

    def close(self):
        self.answer.close()
        self.socket.close()


class Alarms(FleetTest):
    def start(self, *more):
        controller = Controller(self.folder, self.topology,
                                {FIRST: "http://127.0.0.1:1", SECOND: "http://127.0.0.1:2"}, *more)
        self.addCleanup(controller.__exit__)
        controller.wait(controller.status)
        return controller

    def start_agent(self, controller, flows=0, name="agent", **more):
        at = self.path(name)
        os.makedirs(at, exist_ok=True)
        frames = [(START_US + i, frame("10.1.1.2", "10.2.1.2", 1000 + i, 80, b"x", tags=(4000,)))
                  for i in range(flows)]
        write_pcap(os.path.join(at, "in.pcap"), frames)
        agent = Daemon(at, "--host-id", str(FIRST), "--controller", controller.url,
                       topology=self.topology,
                       intake="pcap:" + os.path.join(at, "in.pcap"), **more)
        self.addCleanup(agent.__exit__)
        agent.wait_state("finished")
        return agent

    def again(self, controller):
        """the same one after its end, on the same port"""
        more = ("--listen", f"127.0.0.1:{controller.port}")
        other = Controller(self.folder, self.topology,
                           {FIRST: "http://127.0.0.1:1", SECOND: "http://127.0.0.1:2"}, *more)
        other.port, other.url = controller.port, controller.url
        self.addCleanup(other.__exit__)
        other.wait(other.status)
        return other

    def listed(self, controller, target="/v1/alarms"):
        return controller.get(target)["alarms"]

    def test_from_the_agent(self):
        controller = self.start()
        agent = self.start_agent(controller, FLOWS)
        controller.wait(lambda: len(self.listed(controller)) == FLOWS)
        got = self.listed(controller)
        self.assertEqual([a["id"] for a in got], list(range(1, FLOWS + 1)))
        self.assertEqual({a["flow_id"]["src_port"] for a in got}, set(range(1000, 1000 + FLOWS)))
        self.assertEqual(set(got[0]), {"id", "host", "time_us", "reason", "flow_id", "paths",
                                       "detail", "origin", "by", "count"})
        self.assertEqual((got[0]["host"], got[0]["reason"], got[0]["paths"]),
                         (FIRST, "INFEASIBLE_PATH", []))
        self.assertIn("tags 4000", got[0]["detail"])
        agent.wait(lambda: agent.status()["alarms"]["delivery"]["waiting"] == 0)
        self.assertEqual(agent.status()["alarms"]["delivery"]["sent"], FLOWS)
        self.assertIn(f"pathdump_controller_alarms_accepted_total {FLOWS}",
                      controller.raw("/metrics")[2].decode())
        self.assertEqual([a["id"] for a in self.listed(
            controller, "/v1/alarms?since=7&reason=INFEASIBLE_PATH&limit=2")], [8, 9])
        everything = [a["id"] for a in self.listed(controller, "/v1/alarms")]
        self.assertEqual([a["id"] for a in self.listed(controller, "/v1/alarms?newest=3")],
                         everything[-3:])
        self.assertEqual([a["id"] for a in self.listed(controller, "/v1/alarms?newest=100000")],
                         everything)
        for target in ("limit=2&newest=3", f"newest=3&since={everything[-3]}"):
            self.assertEqual([a["id"] for a in self.listed(controller, "/v1/alarms?" + target)],
                             everything[-2:], target)
        of_one = [a["id"] for a in self.listed(controller, "/v1/alarms?reason=INFEASIBLE_PATH")]
        self.assertEqual([a["id"] for a in self.listed(
            controller, "/v1/alarms?newest=2&reason=INFEASIBLE_PATH")], of_one[-2:])
        self.assertEqual(self.listed(controller, "/v1/alarms?newest=2&reason=NEVER_SEEN"), [])
        self.assertEqual(self.listed(controller, "/v1/alarms?reason=PC_FAIL"), [])
        self.assertEqual((agent.end(), controller.end()), (0, 0))

    def test_agent_killed_while_the_controller_is_away(self):
        controller = self.start()
        controller.end(signal.SIGKILL)
        agent = self.start_agent(controller, FLOWS)
        agent.wait(lambda: agent.status()["alarms"]["delivery"]["waiting"] == FLOWS)
        agent.end(signal.SIGKILL)
        agent = self.start_agent(controller)
        self.assertEqual(agent.status()["alarms"]["delivery"]["recovered"], FLOWS)
        controller = self.again(controller)
        agent.wait(lambda: agent.status()["alarms"]["delivery"]["waiting"] == 0)
        self.assertEqual(sorted(a["flow_id"]["src_port"] for a in self.listed(controller)),
                         list(range(1000, 1000 + FLOWS)))
        agent.end(signal.SIGKILL)
        self.assertEqual(self.start_agent(controller).status()["alarms"]["delivery"]["waiting"], 0)
        self.assertEqual(len(self.listed(controller)), FLOWS)

    def send_all(self, port, host, acknowledged):
        """as an agent does: each batch until it is acknowledged, some of them twice"""
        for batch in range(BATCHES):
            seqs = range(1 + batch * EACH, 1 + (batch + 1) * EACH)
            until = time.monotonic() + WAIT_S
            while acknowledged[host] < seqs[-1]:
                self.assertLess(time.monotonic(), until)
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
                try:
                    connection.request("POST", "/v1/alarms", json.dumps(
                        delivery(host, host, range(max(1, seqs[0] - 5), seqs[-1] + 1))))
                    answer = connection.getresponse()
                    if answer.status == 200:
                        acknowledged[host] = json.loads(answer.read())["last"]
                except (OSError, http.client.HTTPException, ValueError):
                    time.sleep(.01)
                finally:
                    connection.close()

    def test_controller_killed_while_alarms_arrive(self):
        controller = self.start()
        acknowledged = {FIRST: 0, SECOND: 0}
        senders = [threading.Thread(target=self.send_all, args=(
            controller.port, host, acknowledged)) for host in acknowledged]
        for sender in senders:
            sender.start()
        for kill in range(KILLS):
            wanted = (kill + 1) * BATCHES * EACH // (KILLS + 2)
            controller.wait(lambda: min(acknowledged.values()) >= wanted)
            controller.end(signal.SIGKILL)
            durable = dict(acknowledged)
            controller = self.again(controller)
            got = self.listed(controller)
            for host, last in durable.items():
                self.assertGreaterEqual(max(a["time_us"] for a in got if a["host"] == host), last)
        for sender in senders:
            sender.join()
        got = self.listed(controller)
        self.assertEqual([a["id"] for a in got], list(range(1, 2 * BATCHES * EACH + 1)))
        for host in acknowledged:
            self.assertEqual([a["time_us"] for a in got if a["host"] == host],
                             list(range(BEGIN_US + 1, BEGIN_US + BATCHES * EACH + 1)))
        self.assertEqual(controller.status()["alarms"]["missing"], 0)

    def test_refused(self):
        controller = self.start()
        good = delivery(FIRST, 7, [1])
        for wrong, status in (
            (delivery(99, 7, [1]), 404), (delivery(0, 7, [1]), 400), ({**good, "spool": "7"}, 400),
            ({**good, "spool": 7}, 400),
            ({**good, "alarms": []}, 400), ({**good, "alarms": {}}, 400), ({**good, "x": 1}, 400),
            (delivery(FIRST, 7, [0]), 400),
            (delivery(FIRST, 7, [2, 1]), 400), (delivery(FIRST, 7, range(1, 258)), 400),
            (delivery(FIRST, 7, [1], reason="a"), 400),
            (delivery(FIRST, 7, [1], paths=[[0]]), 400),
            (delivery(FIRST, 7, [1], detail="x" * 512), 400), ("[", 400), ("", 400),
            ('{"host":21,"host":22}', 400), ("[" * 5000, 400)):
            got, problem = post(controller, "/v1/alarms", wrong)
            self.assertEqual(got, status, (str(wrong)[:200], problem))
            self.assertTrue(problem["detail"])
        for target in ("?since=x", "?since=-1", "?since=99999999999999999999", "?reason=pc",
                       "?limit=0", "?newest=0", "?x=1",
                       "?since=1&since=2", "/stream?limit=1"):
            self.assertEqual(controller.raw("/v1/alarms" + target)[0], 400, target)
        self.assertEqual(self.listed(controller), [])
        self.assertEqual(post(controller, "/v1/alarms", good), (200, {"last": 1}))
        self.assertEqual(post(controller, "/v1/alarms", good), (200, {"last": 1}))
        self.assertEqual(post(controller, "/v1/alarms", delivery(FIRST, 7, [4]))[1], {"last": 4})
        status = controller.status()["alarms"]
        self.assertEqual([status[name] for name in ("kept", "accepted", "repeated", "missing",
                                                    "last_id")], [2, 2, 1, 2, 2])

    def test_stream(self):
        controller = self.start()
        post(controller, "/v1/alarms", delivery(FIRST, 7, range(1, 6)))
        new, old, some = Stream(controller), Stream(controller, last=0), Stream(
            controller, "/v1/alarms/stream?reason=POOR_PERF&since=0")
        self.assertEqual([old.event()[0] for _ in range(5)], [1, 2, 3, 4, 5])
        post(controller, "/v1/alarms", delivery(SECOND, 8, [1], reason="POOR_PERF"))
        for stream in (new, old, some):
            number, event = stream.event()
            self.assertEqual((number, event["id"], event["host"], event["reason"]),
                             (6, 6, SECOND, "POOR_PERF"))
        before = time.monotonic()
        self.assertEqual(controller.end(), 0)     # with three who listen
        self.assertLess(time.monotonic() - before, 20)
        controller = self.again(controller)
        post(controller, "/v1/alarms", delivery(SECOND, 8, [2]))
        resumed = Stream(controller, last=5)
        self.assertEqual([resumed.event()[0] for _ in range(2)], [6, 7])
        for stream in (new, old, some, resumed):
            stream.close()

    def test_retention(self):
        controller = self.start("--alarms-kept", "1000")
        for first in range(1, 2001, 200):
            post(controller, "/v1/alarms", delivery(FIRST, 7, range(first, first + 200)))
        got = controller.get("/v1/alarms")
        self.assertEqual((got["alarms"][0]["id"], len(got["alarms"]), got["last"], got["more"]),
                         (1001, 1000, 2000, False))
        behind = Stream(controller, last=10)
        text = b"".join(behind.answer.readline() for _ in range(6)).decode()
        self.assertIn(": alarms 11 to 1000 are not kept any more", text)
        behind.close()


if __name__ == "__main__":
    main()
