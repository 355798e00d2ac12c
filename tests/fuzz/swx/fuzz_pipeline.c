/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of any bytes through compiled programs: all are counted once, and none leaves that is
 * longer than a port takes.
 *
 * The first byte names the program, the second the port; the rest is frames, two bytes of length
 * before each. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "memory_switch.h"

#define TOR 1

static const char *const programs[] = {"forward", "cherrypick", "path-bloom", "meters",
                                       "pint",    "sr-int",     "int-md"};
#define PROGRAMS (sizeof programs / sizeof *programs)

static struct pd_swx_switch switches[PROGRAMS];
static uint64_t now_ns = UINT64_C(1700000000000000000);

static void open_all(void)
{
    struct pd_error error = {.code = 0};
    memory_must(pd_swx_frames_open(PROGRAMS, &error), &error);
    for (size_t i = 0; i < PROGRAMS; i++) {
        memory_switch_open(programs[i], TOR + (uint32_t)i, NULL, &switches[i]);
    }
}

static void put(struct pd_swx_switch *sw, const uint8_t *bytes, size_t len, uint16_t port)
{
    struct pd_swx_frame *frame = pd_swx_frame_new();
    if (!frame) {
        abort(); /* one has got lost before */
    }
    memcpy(pd_swx_frame_data(frame), bytes, len);
    frame->bytes = (uint32_t)len;
    frame->time_ns = now_ns;
    pd_swx_switch_arrives(sw, frame, port);
    pd_swx_switch_run(sw, now_ns += 1000);
}

static void check(const struct pd_swx_switch *sw)
{
    if (sw->received != sw->forwarded + sw->punted + memory_switch_dropped(sw)) {
        abort();
    }
    for (unsigned i = 1; i <= MEMORY_PORTS; i++) {
        if (((const struct memory_port *)sw->ports[i])->longest > PD_SWX_FRAME_MAX) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool opened;
    if (!opened) {
        open_all();
        opened = true;
    }
    if (size < 2) {
        return 0;
    }
    struct pd_swx_switch *sw = &switches[data[0] % PROGRAMS];
    uint16_t port = data[1] % (MEMORY_PORTS + 1);
    for (data += 2, size -= 2; size >= 2;) {
        size_t len = (size_t)(data[0] << 8 | data[1]) % (PD_SWX_FRAME_MAX + 1);
        len = len < size - 2 ? len : size - 2;
        put(sw, data + 2, len, port);
        data += 2 + len;
        size -= 2 + len;
    }
    check(sw);
    return 0;
}
