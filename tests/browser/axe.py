# SPDX-License-Identifier: Apache-2.0
"""axe-core, for tests alone: brought by npm into the build folder, of one version with one
digest."""
import hashlib
import os
import subprocess
import tarfile

VERSION, SHA256 = "4.14.1", "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"
SOURCE = os.environ.get("PD_SOURCE") or os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                                     "../..")
FOLDER = os.path.join(SOURCE, "build/axe-core")


def script():
    """its text; None where it is not there and the registry does not answer"""
    path = os.path.join(FOLDER, f"axe-{VERSION}.min.js")
    if not os.path.exists(path):
        os.makedirs(FOLDER, exist_ok=True)
        try:
            done = subprocess.run(["npm", "pack", "--silent", f"axe-core@{VERSION}"], cwd=FOLDER,
                                  stdout=subprocess.PIPE, text=True, timeout=120, check=True)
        except (OSError, subprocess.SubprocessError):
            return None
        with tarfile.open(os.path.join(FOLDER, done.stdout.strip())) as archive, open(path,
                                                                                      "wb") as out:
            out.write(archive.extractfile("package/axe.min.js").read())
    with open(path, "rb") as file:
        text = file.read()
    assert hashlib.sha256(
        text).hexdigest() == SHA256, f"{path} is not the one that these tests know"
    return text.decode()


def violations(page):
    """[(rule, element)] of the page as it is"""
    page.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": script()})
    found = page.driver.execute_async_script("""const done = arguments[0];
        axe.run(document, {resultTypes: ['violations']}).then(r => done(r.violations),
            e => done([{id: String(e), nodes: []}]))""")
    return [(rule["id"], node["html"][:160]) for rule in found for node in rule["nodes"]
            or [{"html": ""}]]
