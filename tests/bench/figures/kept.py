# SPDX-License-Identifier: Apache-2.0
"""Runs that were made before, so that a long command goes on where it was cut off."""
import json
import os
import threading


class Kept:
    """runs of before, one a line; without a file none is kept"""

    def __init__(self, name):
        self.name, self.found, self.lock = name, {}, threading.Lock()
        if name and os.path.exists(name):
            with open(name, encoding="utf-8") as file:
                for line in file:
                    row = json.loads(line)
                    self.found[row["key"]] = row["found"]

    def get(self, key, make):
        key = json.dumps(key)
        if key not in self.found:
            found = make()
            with self.lock:
                self.found[key] = found
                if self.name:
                    with open(self.name, "a", encoding="utf-8") as file:
                        file.write(json.dumps({"key": key, "found": found}) + "\n")
        return self.found[key]
