/* SPDX-License-Identifier: Apache-2.0 */
/* Meters in the kernel: the maps that a BPF program counts in and a monitor reads. */
#ifndef PD_METER_KERNEL_H
#define PD_METER_KERNEL_H

#include <linux/bpf.h>
#include <linux/types.h>

/* A switch or host that counts in the kernel pins these maps in a folder of a BPF file system, by
 * the names below; `pathdumpd --meters tc:FOLDER` reads them. Numbers, places and epochs are those
 * of docs/formats/meters.md.
 *
 * Nothing has to be cleared in time: a bucket, a slot or a stray belongs to the epoch that stands
 * in it, and one of an older epoch is as good as empty. So an epoch can be read, also more than
 * once, until the next but one begins. */

#define PD_METER_KERNEL_LAYOUT   1u /* of these structs; another one is refused */
#define PD_METER_KERNEL_ROWS     3u
#define PD_METER_KERNEL_WIDTH    1024u
#define PD_METER_KERNEL_BUCKETS  (PD_METER_KERNEL_ROWS * PD_METER_KERNEL_WIDTH) /* an instance */
#define PD_METER_KERNEL_STAGES   3u
#define PD_METER_KERNEL_SLOTS    32u
#define PD_METER_KERNEL_PIPE     (PD_METER_KERNEL_STAGES * PD_METER_KERNEL_SLOTS) /* an instance */
#define PD_METER_KERNEL_RULES    4096u                                            /* of a role */
#define PD_METER_KERNEL_STRAYS   16384u /* flows of two epochs */

#define PD_METER_KERNEL_SETTINGS "meter_settings"
#define PD_METER_KERNEL_USM      "meter_usm"
#define PD_METER_KERNEL_DSM      "meter_dsm"
#define PD_METER_KERNEL_USMRULES "meter_usm_rules"
#define PD_METER_KERNEL_DSMRULES "meter_dsm_rules"
#define PD_METER_KERNEL_STRAYMAP "meter_strays"
#define PD_METER_KERNEL_PIPEMAP  "meter_pipe"
#define PD_METER_KERNEL_COUNTS   "meter_counters"

/* A struct pd_flow_id, in the kernel's types. */
struct pd_meter_kernel_flow {
    __u8 src[16], dst[16];
    __u16 src_port, dst_port; /* host byte order */
    __u8 protocol, ip_version;
    __u8 zero[2];
};

/* The monitor writes it, all at once. */
struct pd_meter_kernel_settings {
    __u32 layout; /* of the program; the monitor leaves it */
    __u32 zero;
    __u64 epoch_ns;     /* 0: nothing is counted, and every mark is taken off */
    __s64 tai_ahead_ns; /* of Unix time: programs can read the former alone */
};

struct pd_meter_kernel_bucket {
    struct bpf_spin_lock lock;
    __u32 dirty;
    __u64 epoch; /* one more than it; 0: never used */
    __u64 filter, pkts;
    struct pd_meter_kernel_flow flow;
};

struct pd_meter_kernel_slot {
    struct bpf_spin_lock lock;
    __u32 hashes[PD_METER_KERNEL_STAGES]; /* of the flow, of all bits */
    __u64 epoch;                          /* as above */
    __u64 filter, pkts;
    struct pd_meter_kernel_flow flow;
};

/* The value is the number of packets. */
struct pd_meter_kernel_stray {
    __u64 epoch;
    struct pd_meter_kernel_flow flow;
};

/* Packets; a frame of several segments is as many. Upstream: sent + unmarked + other; downstream:
 * received + passed + late + strays + other. */
#define PD_METER_KERNEL_COUNTERS(X)                           \
    X(sent)         /* counted upstream, and marked */        \
    X(unmarked)     /* upstream, of no rule */                \
    X(received)     /* marked, and counted downstream */      \
    X(passed)       /* downstream, without a mark */          \
    X(late)         /* marked, for an epoch that is over */   \
    X(strays)       /* marked, of no rule downstream */       \
    X(strays_full)  /* of them, those that had no room */     \
    X(strays_epoch) /* the newest epoch of these, plus one */ \
    X(other)        /* whose flow cannot be told */
enum pd_meter_kernel_counter {
#define X(name) pd_meter_kernel_##name,
    PD_METER_KERNEL_COUNTERS(X)
#undef X
        pd_meter_kernel_counters_len
};

#endif
