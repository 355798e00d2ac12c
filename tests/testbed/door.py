#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A door to the controller of a bed for a browser: the controller serves a unix socket, and
browsers speak TCP.

    door.py SOCKET [PORT]       serves http://127.0.0.1:PORT until it is ended; prints the address

Only requests to a loopback name are let through: behind the socket everybody is trusted, so a page
that comes under another name is refused here.
"""
import asyncio
import re
import sys

HEAD_BYTES = 65536
KNOWN = re.compile(rb"^host: *(127\.0\.0\.1|localhost)(:[0-9]+)? *\r?$", re.I | re.M)
REFUSED = b"HTTP/1.1 421 Misdirected Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


async def pour(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def serve_one(reader, writer, path):
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        if not KNOWN.search(head):
            writer.write(REFUSED)
            return writer.close()
        inner, outer = await asyncio.open_unix_connection(path)
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return writer.close()
    outer.write(head)
    await asyncio.gather(pour(reader, outer), pour(inner, writer))


async def serve(path, port):
    server = await asyncio.start_server(
        lambda r, w: serve_one(r, w, path), "127.0.0.1", port, limit=HEAD_BYTES)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0))
