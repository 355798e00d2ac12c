# SPDX-License-Identifier: Apache-2.0
"""A pathdumpd that answers for the meters of a compiled program, by the control of pathdump-switch:
rules it puts there, buckets it reads. As root, in a network namespace of its own."""
import contextlib
import json
import socket
import subprocess
import time

from control import UnixConnection
from one_switch import tables, write_pcap
from programs import PATIENCE_S, pathdump, program
from test_meters import MetersTest

EPOCH_MS = 4000
FLOWS, WATCHED, FRAMES = 60, 40, 400


class Monitor(MetersTest):
    """beside a switch that has taps"""

    def start(self, number, name, ports):
        folder = tables(f"{self.at}/tables", self.topology, number, name)
        with open(f"{self.at}/config.json", "w", encoding="utf-8") as out:
            json.dump({"control": f"unix:{self.at}/control", "switches": [
                {"id": number, "program": name, "tables": folder, "punts": f"{self.at}/punts",
                 "ports": {str(port): {"tap": f"t{port}"} for port in ports}}]}, out)
        self.run_beside(program("pathdump-switch"), f"{self.at}/config.json")
        self.wait(lambda: self.ask("control", "GET", "status"))
        for port in ports:
            subprocess.run(["ip", "link", "set", f"t{port}", "up"], check=True)
        self.run_beside(program("pathdumpd"), "--topology", self.topology, "--intake", "none",
                        "--tcp-monitor", "none", "--tib", f"{self.at}/tib", "--listen",
                        f"unix:{self.at}/monitor", "--monitor", str(number), "--meters",
                        f"swx:unix:{self.at}/control:{number}")
        self.wait(lambda: self.ask("monitor", "GET", "status"))

    def run_beside(self, *command):
        with open(f"{self.at}/log", "a", encoding="utf-8") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
        self.addCleanup(process.wait, PATIENCE_S)
        self.addCleanup(process.terminate)

    def wait(self, ready):
        deadline = time.monotonic() + PATIENCE_S
        while True:
            with contextlib.suppress(OSError):
                if ready():
                    return
            with open(f"{self.at}/log", encoding="utf-8") as log:
                self.assertLess(time.monotonic(), deadline, log.read()[-2000:])
            time.sleep(.05)

    def ask(self, who, method, path, body=None):
        with contextlib.closing(UnixConnection(f"{self.at}/{who}", PATIENCE_S)) as connection:
            connection.request(method, f"/v1/{path}", body and json.dumps(body),
                               {"Content-Type": "application/json"} if body else {})
            return json.loads(connection.getresponse().read())

    def put(self, version, **rules):
        """of both roles, by their names"""
        for role in ("dsm", "usm"):
            answer = self.ask("monitor", "PUT", "meters/rules", {
                "version": version, "epoch_ms": EPOCH_MS, role: rules.get(role, [])})
            self.assertEqual(answer["rules"], len(rules.get(role, [])))

    def send(self, port, flows, mark):
        """frames with this mark in an epoch that has just begun; [(time, frame)] and its number"""
        time.sleep(EPOCH_MS / 1000 - time.time() % (EPOCH_MS / 1000) + .2)
        epoch, sent = int(time.time() * 1000) // EPOCH_MS, []
        frames = [raw for _, raw in self.frames(flows, FRAMES, 0, 10**9)]
        with contextlib.closing(socket.socket(socket.AF_PACKET, socket.SOCK_RAW)) as tap:
            tap.bind((f"t{port}", 0))
            for raw in frames:
                raw = self.marked(raw, mark(epoch))
                sent.append((time.time_ns(), raw))
                tap.send(raw)
                time.sleep(.001)
        self.assertEqual(int(time.time() * 1000) // EPOCH_MS, epoch, "a slow machine")
        return sent, epoch

    @staticmethod
    def marked(raw, mark):
        """its DSCP's lower two bits; the checksum of IPv4 is of no interest to programs"""
        if raw[12:14] == b"\x08\0":
            return raw[:15] + bytes([raw[15] & 0xF3 | mark << 2]) + raw[16:]
        first = int.from_bytes(raw[14:18], "big") & ~(3 << 22) | mark << 22
        return raw[:14] + first.to_bytes(4, "big") + raw[18:]

    def read_epoch(self, epoch):
        time.sleep(max(0, ((epoch + 1.35) * EPOCH_MS) / 1000 - time.time()))
        return self.ask("monitor", "GET", f"meters?epoch={epoch}")

    def told(self, answer, role):
        meter = next(m for m in answer["meters"] if m["role"] == role)
        return {(r, b["bucket"]): (b["dirty"], b["count"], b["flow_id"])
                for r, row in enumerate(meter["rows"]) for b in row}

    def counted(self, reading, epoch):
        return {(r, b["bucket"]): (b["dirty"], b["count"], b["flow_id"])
                for r, row in enumerate(reading["rows"]) for b in row if b["epoch"] == epoch}

    def test_upstream_as_in_c(self):
        flows = self.flows(FLOWS)
        watched = flows[:WATCHED]
        self.start(1, "meters", (1, 2, 3))
        self.put(5, usm=watched)
        self.wait(lambda: self.ask("monitor", "GET", "status")["meters"]["sent"] == 0)
        sent, epoch = self.send(3, flows, lambda _: 3)
        answer = self.read_epoch(epoch)
        self.assertEqual(answer.get("version"), 5, answer)
        reading = self.reference("usm", {"usm": watched, "dsm": []}, sent, 1)
        self.assertEqual(self.told(answer, "usm"), self.counted(reading, epoch))
        self.assertEqual(self.told(answer, "dsm"), {})
        self.assertGreater(len(self.told(answer, "usm")), WATCHED)

    def test_downstream_as_in_c_and_no_epoch_with_strays(self):
        flows = self.flows(FLOWS)
        watched = flows[:WATCHED]
        self.start(3, "meters", (1, 3))
        self.put(6, dsm=watched)
        sent, epoch = self.send(1, watched, lambda epoch: 2 | epoch & 1)
        answer = self.read_epoch(epoch)
        rules = [{"flow_id": flow, "filter": 0} for flow in watched]
        reading = self.reference("dsm", {"usm": [], "dsm": rules}, sent, 3)
        self.assertEqual(self.told(answer, "dsm"), self.counted(reading, epoch))
        self.assertGreater(len(self.told(answer, "dsm")), WATCHED)
        sent, epoch = self.send(1, flows, lambda epoch: 2 | epoch & 1)
        answer = self.read_epoch(epoch)
        self.assertIn("does not say which", answer["detail"])
        self.assertGreater(self.ask("monitor", "GET", "status")["meters"]["strays"], 0)

    def reference(self, role, rules, frames, monitor):
        write_pcap(f"{self.at}/all.pcap", frames)
        with open(f"{self.at}/rules.json", "w", encoding="utf-8") as out:
            json.dump(rules, out)
        return json.loads(pathdump(
            "meters", "count", "--role", role, "--rules", f"{self.at}/rules.json", "--pcap",
            f"{self.at}/all.pcap", "--topology", self.topology, "--monitor", monitor,
            "--epoch-ms", EPOCH_MS, "--json"))
