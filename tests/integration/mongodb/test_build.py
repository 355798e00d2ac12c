#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds FerretDB unless it is there, and starts each server once."""
from servers import servers_or_skip

for start in servers_or_skip():
    server = start()
    print(server.name, "on port", server.port)
    server.close()
