# SPDX-License-Identifier: Apache-2.0
"""An Open vSwitch with DPDK in a folder of its own, without hugepages, devices or privileges over
others; captures are its traffic."""
import os
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
OVS = os.environ.get("PD_OVS") or os.path.join(HERE, "../../../build/ovs")
DPDK = "--no-huge --legacy-mem -m 512 --no-pci --no-telemetry"


class Switch:
    """ovsdb-server and ovs-vswitchd with one bridge, br0"""

    def __init__(self, folder, build=OVS, **settings):
        self.build = build
        self.folder = folder
        self.socket = os.path.join(folder, "trajectory.sock")
        self.environment = {**os.environ, **{f"OVS_{name}DIR": folder
                                             for name in ("RUN", "LOG", "DB", "SYSCONF")}}
        # Of DPDK's own files: with those below /var/run the second of two switches that start at
        # the same moment ends at once, and who asked it for a bridge waits for an answer.
        self.environment["RUNTIME_DIRECTORY"] = folder
        self.ports = 0
        self.daemon = self.database = None
        try:
            self.start_all(settings)
        except BaseException:
            self.stop()
            raise

    def start_all(self, settings):
        folder, build = self.folder, self.build
        self.run("ovsdb/ovsdb-tool", "create", f"{folder}/conf.db",
                 f"{build}/vswitchd/vswitch.ovsschema")
        self.database = self.start("ovsdb/ovsdb-server", f"--remote=punix:{folder}/db.sock",
                                   f"{folder}/conf.db")
        self.until(lambda: os.path.exists(f"{folder}/db.sock"))
        self.vsctl("--no-wait", "init")
        wanted = {"dpdk-init": "true", "per-port-memory": "true", "dpdk-extra": DPDK,
                  "trajectory-socket": self.socket, **settings}
        self.vsctl("--no-wait", "set", "Open_vSwitch", ".",
                   *(f'other_config:{key}="{value}"' for key, value in wanted.items()))
        self.boot()
        self.vsctl("add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev")

    def boot(self):
        self.daemon = self.start("vswitchd/ovs-vswitchd", f"unix:{self.folder}/db.sock",
                                 f"--log-file={self.folder}/vswitchd.log", "-vconsole:off",
                                 f"--unixctl={self.folder}/vswitchd.ctl")

    @staticmethod
    def until(ready, seconds=20):
        end = time.monotonic() + seconds
        while not ready():
            assert time.monotonic() < end, "not ready in time"
            time.sleep(.02)

    def start(self, name, *words):
        return subprocess.Popen([f"{self.build}/{name}", *words], env=self.environment,
                                cwd=self.folder, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def run(self, name, *words):
        done = subprocess.run([f"{self.build}/{name}", *words], env=self.environment,
                              capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, f"{name} {words}: {done.stderr}"
        return done.stdout

    def vsctl(self, *words):
        try:
            # The database's socket is there a moment before anybody listens at it.
            return self.run("utilities/ovs-vsctl", f"--db=unix:{self.folder}/db.sock",
                            "--timeout=30", "--retry", *words)
        except AssertionError as failed:
            code = self.daemon and self.daemon.poll()
            if code is None:
                raise
            raise AssertionError(
                f"{failed}; ovs-vswitchd has ended ({code}): {self.log()[-2000:]}") from None

    def appctl(self, *words):
        return self.run("utilities/ovs-appctl", "-t", f"{self.folder}/vswitchd.ctl", *words)

    def replay(self, pcap, *more, options="", trajectory="true"):
        """a port that receives this capture, once unless `options` say otherwise; its name"""
        self.ports += 1
        name = f"in{self.ports}"
        self.vsctl("add-port", "br0", name, "--", "set", "interface", name, "type=dpdk",
                   f'options:dpdk-devargs="net_pcap{self.ports},rx_pcap={pcap}{options}"',
                   f"other_config:trajectory={trajectory}", *more)
        return name

    def log(self):
        with open(f"{self.folder}/vswitchd.log", encoding="utf-8", errors="replace") as log:
            return log.read()

    def regions(self):
        """how many threads count"""
        return self.appctl("trajectory/show").count("(region ")

    def received(self):
        """packets that threads have worked on"""
        return sum(int(line.split()[-1]) for line in self.appctl(
            "dpif-netdev/pmd-stats-show").splitlines() if "packets received:" in line)

    def coverage(self, name):
        """how often something was counted since the start"""
        return sum(int(line.split()[-1]) for line in self.appctl("coverage/show").splitlines()
                   if line.split()[:1] == [name])

    def figures(self):
        """{text: number} of trajectory/show, summed over all threads"""
        found = {}
        for line in self.appctl("trajectory/show").splitlines():
            text, _, rest = line.strip().rpartition(": ")
            if line.startswith("  "):
                found[text] = found.get(text, 0) + int(rest.split()[0])
        return found

    def show(self, text):
        """the figure whose text begins so"""
        return sum(number for name, number in self.figures().items() if name.startswith(text))

    def stop(self):
        for process in (self.daemon, self.database):
            if process and process.poll() is None:
                process.kill()
                process.wait()
        for name in ("br0", "ovs-netdev"):      # which a switch that is killed leaves behind
            subprocess.run(["ip", "link", "del", name], stderr=subprocess.DEVNULL, check=False)
