/* SPDX-License-Identifier: Apache-2.0 */
/* Packets that a switch with a compiled program has handed to its slow path. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hex.h"
#include "controller/switches/p4/private.h"

#define ROUTE_BYTES 96u
#define BLOCK_BYTES 262144u /* of punts, in one answer */
#define FRAME_BYTES 9216u
#define RATE_MAX    100u /* packets a second and switch; more are counted */
#define BY_A_ROW    1u   /* OFPR_ACTION */

/* Whether there is room for one more in this second. */
static bool may_pass(struct pd_p4_provider *p4, struct pd_p4_seat *seat)
{
    uint64_t second = pd_clock_monotonic_ns() / PD_NS_PER_S;

    seat->taken = seat->second == second ? seat->taken + 1 : 1;
    seat->second = second;
    pthread_mutex_lock(&p4->lock);
    seat->status.packet_ins += seat->taken <= RATE_MAX;
    seat->status.packet_ins_limited += seat->taken > RATE_MAX;
    pthread_mutex_unlock(&p4->lock);
    return seat->taken <= RATE_MAX;
}

/* A line that is none is passed over: the switch may have lost a part of it. */
static void hand_on(struct pd_p4_provider *p4, struct pd_p4_seat *seat, const char *line,
                    size_t len)
{
    json_t *punt = json_loadb(line, len, 0, NULL);
    const char *frame = json_string_value(json_object_get(punt, "frame"));
    json_int_t port = json_integer_value(json_object_get(punt, "in_port"));
    uint8_t data[FRAME_BYTES];
    size_t bytes = 0;

    if (frame && port >= 0 && port <= UINT16_MAX &&
        !pd_hex_parse(frame, data, sizeof data, &bytes) && may_pass(p4, seat)) {
        const struct pd_switches_packet_in packet = {.switch_id = seat->status.id,
                                                     .in_port = (uint32_t)port,
                                                     .reason = BY_A_ROW,
                                                     .data = data,
                                                     .bytes = bytes,
                                                     .limited = seat->status.packet_ins_limited};
        p4->config.events.packet_in(p4->config.events.context, &packet);
    }
    json_decref(punt);
}

/* Whole lines; the rest is read again. Bytes taken. */
static size_t take_lines(struct pd_p4_provider *p4, struct pd_p4_seat *seat, const char *text,
                         size_t len)
{
    size_t at = 0;

    for (const char *end; (end = memchr(text + at, '\n', len - at));
         at = (size_t)(end - text) + 1) {
        if (seat->caught_up) {
            hand_on(p4, seat, text + at, (size_t)(end - text) - at);
        }
    }
    /* Nobody writes such a line. */
    return at || len < BLOCK_BYTES ? at : len;
}

int pd_switch_p4_punts(struct pd_p4_provider *p4, uint32_t index, struct pd_error *error)
{
    struct pd_p4_seat *seat = &p4->seats[index];
    char route[ROUTE_BYTES];
    size_t taken = 0;
    int err;

    do {
        char *text = NULL;
        size_t len = 0;

        snprintf(route, sizeof route, "/v1/switches/%" PRIu32 "/punts?from=%" PRIu64 "&count=%u",
                 seat->status.id, seat->offset, BLOCK_BYTES);
        err = pd_switch_p4_ask(p4, seat->control - 1, route, NULL, &text, &len, error);
        taken = err || !text ? 0 : take_lines(p4, seat, text, len);
        seat->offset += taken;
        free(text);
    } while (!err && taken && !atomic_load_explicit(&p4->stopped, memory_order_relaxed));
    seat->caught_up |= !err || err == -PD_E_NOT_FOUND;
    return err;
}
