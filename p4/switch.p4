// SPDX-License-Identifier: Apache-2.0
// A switch: the target's architecture around the schemes that are asked for.
/* -D TARGET_PNA, TARGET_V1MODEL or TARGET_TNA, and one or more of -D WITH_CHERRYPICK …; without
 * any it forwards. `compile` has the list of all sets. */

#if defined(TARGET_PNA)
#include "pna/target.p4"
#elif defined(TARGET_V1MODEL)
#include "v1model/target.p4"
#else
#include "tna/target.p4"
#endif

#if defined(WITH_SR_INT) || defined(WITH_INT_MD)
#define WITH_LENGTHS
#endif

#include "shared/fates.p4"
#include "shared/headers.p4"
#include "shared/parser.p4"
#include "shared/classify.p4"
#include "shared/dscp.p4"
#include "shared/edge.p4"
#ifdef WITH_LENGTHS
#include "shared/lengths.p4"
#endif
#include "forward/forward.p4"
#ifdef WITH_CHERRYPICK
#include "cherrypick/cherrypick.p4"
#endif
#ifdef WITH_PATH_BLOOM
#include "path_bloom/path_bloom.p4"
#endif
#ifdef WITH_SR_INT
#include "sr_int/sr_int.p4"
#endif
#ifdef WITH_PINT
#include "shared/lookup3.p4"
#include "pint/packet_id.p4"
#include "pint/pint.p4"
#endif
#ifdef WITH_INT_MD
#include "int_md/int_md.p4"
#endif
#ifdef WITH_METERS
#include "meters/meters.p4"
#endif

control Schemes(inout headers_t h, inout metadata_t m) {
    Classify() classify;
    Edge() edge;
    Route() route;
    Leave() leave;
#ifdef WITH_CHERRYPICK
    CherryPick() cherrypick;
#ifdef WITH_PINT
    LinkTag() link_tag;
#endif
#endif
#ifdef WITH_PATH_BLOOM
    PathBloom() path_bloom;
#endif
#ifdef WITH_SR_INT
    SrInt() sr_int;
#endif
#ifdef WITH_PINT
    Pint() pint;
#endif
#ifdef WITH_INT_MD
    IntMd() int_md;
#endif
#ifdef WITH_METERS
    Meters() meters;
#endif
#ifdef WITH_LENGTHS
    Lengths() lengths;
#endif

    apply {
        classify.apply(h, m);
        edge.apply(h, m);
#ifdef WITH_LENGTHS
        m.grown = 0;
#endif
#ifdef WITH_SR_INT
        sr_int.apply(h, m); // before routes: a probe has its own
#endif
        route.apply(h, m);
#ifdef WITH_PATH_BLOOM
        path_bloom.apply(h, m);
#endif
#ifdef WITH_CHERRYPICK
        cherrypick.apply(h, m);
#endif
#ifdef WITH_METERS
#ifdef WITH_PATH_BLOOM
        m.meter_filter = m.arrived_filter;
#else
        m.meter_filter = 0;
#endif
        meters.apply(h, m);
#endif
#ifdef WITH_PINT
        pint.apply(h, m); // behind routes: it may measure the port's queue
#ifdef WITH_CHERRYPICK
        link_tag.apply(h, m);
#endif
#endif
#ifdef WITH_INT_MD
        int_md.apply(h, m);
#endif
        leave.apply(h, m);
#ifdef WITH_LENGTHS
        lengths.apply(h, m);
#endif
    }
}

#ifdef WITH_PATH_BLOOM
#define EMIT_VXLAN packet.emit(h.vxlan);
#else
#define EMIT_VXLAN
#endif
#ifdef WITH_SR_INT
#define EMIT_PROBE packet.emit(h.probe); packet.emit(h.labels); packet.emit(h.entry);
#else
#define EMIT_PROBE
#endif
#ifdef WITH_PINT
#define EMIT_DIGEST packet.emit(h.digest);
#define EMIT_BEHIND packet.emit(h.behind);
#else
#define EMIT_DIGEST
#define EMIT_BEHIND
#endif
#ifdef WITH_INT_MD
#define EMIT_TCP_OPTIONS packet.emit(h.tcp_options);
#define EMIT_INT_MD \
    packet.emit(h.int_shim); \
    packet.emit(h.int_header); \
    packet.emit(h.int_node); \
    packet.emit(h.int_ports); \
    packet.emit(h.int_latency); \
    packet.emit(h.int_queue); \
    packet.emit(h.int_time); \
    packet.emit(h.int_stack);
#else
#define EMIT_TCP_OPTIONS
#define EMIT_INT_MD
#endif
#define EMIT_HEADERS \
    packet.emit(h.ethernet); \
    packet.emit(h.pushed); \
    packet.emit(h.pushed_inner); \
    EMIT_DIGEST \
    packet.emit(h.tag1); \
    packet.emit(h.tag2); \
    packet.emit(h.tag3); \
    packet.emit(h.ipv4); \
    packet.emit(h.options); \
    packet.emit(h.ipv6); \
    packet.emit(h.extension1); \
    packet.emit(h.more1); \
    packet.emit(h.extension2); \
    packet.emit(h.more2); \
    packet.emit(h.tcp); \
    EMIT_TCP_OPTIONS \
    packet.emit(h.udp); \
    EMIT_INT_MD \
    EMIT_BEHIND \
    EMIT_VXLAN \
    EMIT_PROBE

#if defined(TARGET_PNA)
#include "pna/switch.p4"
#elif defined(TARGET_V1MODEL)
#include "v1model/switch.p4"
#else
#include "tna/switch.p4"
#endif
