#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The conformance suite of all stores, on each server."""
import os
import subprocess
import sys

from servers import BIN, servers_or_skip

failed = 0
for start in servers_or_skip():
    server = start()
    try:
        print("on", server.name, flush=True)
        failed += subprocess.run(
            [os.path.join(BIN, "tests/test_tib_conformance")], check=False,
            env={**os.environ,
                 "PD_TIB_SERVER": f"mongodb://127.0.0.1:{server.port}"}).returncode != 0
    finally:
        server.close()
sys.exit(1 if failed else 0)
