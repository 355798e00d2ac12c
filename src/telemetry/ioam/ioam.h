/* SPDX-License-Identifier: Apache-2.0 */
/* IOAM traces in IPv6 hop-by-hop options: RFC 9197, RFC 9486. */
#ifndef PD_TELEMETRY_IOAM_H
#define PD_TELEMETRY_IOAM_H

#include "telemetry/bytes.h"
#include "telemetry/telemetry.h"

/* The option: type 0x31 (or 0x11, which routers must not change), length, a reserved byte, the IOAM
 * type: 0 a trace with room allocated by the sender, 1 one that grows. Then namespace (2), five
 * bits of words that a switch writes, four flags (the first: overflow), seven bits of words left,
 * three bytes that say which data, a reserved byte; then the data, newest first, in the allocated
 * kind behind the room that is left. */
enum {
    PD_IOAM_OPTION = 0x31,
    PD_IOAM_OPTION_FIXED = 0x11,
    PD_IOAM_PREALLOCATED = 0,
    PD_IOAM_INCREMENTAL = 1,
    PD_IOAM_NAMESPACE = 1,       /* of probes */
    PD_IOAM_TRACE = 0xd20000,    /* of probes: node, ports, time, queue */
    PD_IOAM_TRACE_BYTES = 16,    /* for each switch */
    PD_IOAM_TRACE_SWITCHES = 15, /* as many fit into one option */
};

/* Reads the first trace of a hop-by-hop options header. -PD_E_NOT_FOUND, -PD_E_SYNTAX. */
int pd_ioam_read(struct pd_bytes header, struct pd_telemetry *telemetry);

#endif
