/* SPDX-License-Identifier: Apache-2.0 */
/* Why a frame did not leave by a port: programs name the reason by its number, counters by name. */
#ifndef PD_SWX_REASONS_H
#define PD_SWX_REASONS_H

#include <stdbool.h>
#include <stdint.h>

/* A program sends a frame that is not to be forwarded to a port that stands for its fate: punts are
 * handed to the slow path, drops are counted, mirrors are copies that the switch makes. From
 * PD_SWX_OWN on stand reasons of the switch itself, which are no ports. */
#define PD_SWX_FATES     256
#define PD_SWX_DROPS     264
#define PD_SWX_MIRRORS   280
#define PD_SWX_PORTS_LEN 282u /* numbers a program may send to; behind them is SWX's own drop */
#define PD_SWX_OWN       288

#define PD_SWX_REASONS(X)                                                 \
    X(LONG_PATH, 256, "long_path") /* a third tag would be pushed */      \
    X(TTL, 257, "ttl")                                                    \
    X(LOOP, 258, "loop")                                                  \
    X(LOCAL, 259, "local") /* for the switch itself */                    \
    X(TAGS, 260, "tags")   /* three link tags */                          \
    X(EDGE, 264, "edge")   /* a host's own tags */                        \
    X(NO_ROUTE, 265, "no_route")                                          \
    X(NO_PORT, 266, "no_port")       /* a port that does not exist */     \
    X(PROBE_PORT, 267, "probe_port") /* probes may not come from there */ \
    X(LABEL_STACK, 268, "label_stack")                                    \
    X(MALFORMED, 269, "malformed")                                        \
    X(ROWS, 270, "rows") /* a row says so */                              \
    X(NOT_IP, 271, "not_ip")                                              \
    X(COLLECTOR, 280, "collector")                                        \
    X(DIGEST, 281, "digest")                                              \
    X(PROGRAM, 288, "program")     /* SWX's own instruction `drop` */     \
    X(TOO_SHORT, 289, "too_short") /* no Ethernet header is left */       \
    X(TOO_LONG, 290, "too_long")   /* for the port, or for the switch */  \
    X(PORT_BUSY, 291, "port_busy") /* its queue is full */                \
    X(PORT_GONE, 292, "port_gone")                                        \
    X(NO_BUFFER, 293, "no_buffer")                                        \
    X(STUCK, 294, "stuck") /* the program came to no end */

enum pd_swx_reason {
#define X(name, number, id) PD_SWX_##name = (number),
    PD_SWX_REASONS(X)
#undef X
        PD_SWX_REASONS_END = 296
};
#define PD_SWX_REASON_COUNT (PD_SWX_REASONS_END - PD_SWX_FATES)

static inline bool pd_swx_is_punt(unsigned reason)
{
    return reason >= PD_SWX_FATES && reason < PD_SWX_DROPS;
}

/* "no_route"; "reason_272" of one without a name, in memory of the caller. */
const char *pd_swx_reason_id(unsigned reason, char room[16]);

#endif
