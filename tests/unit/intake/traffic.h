/* SPDX-License-Identifier: Apache-2.0 */
/* Test traffic: frames with tags of all kinds, what they must be counted as,
 * and capture files of them. */
#ifndef TESTS_INTAKE_TRAFFIC_H
#define TESTS_INTAKE_TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trajectory/record.h"

#define FRAME_BYTES_MAX 2048
#define FLOWS_MAX       512

struct frame {
    uint64_t time_ns;
    uint16_t bytes; /* on the wire, and captured */
    uint8_t data[FRAME_BYTES_MAX];
};

/* What one ⟨flow, tags, DSCP⟩ must add up to; only these fields of the record
 * count. */
struct sum {
    struct pd_flow_id flow;
    uint16_t tags[PD_PACKET_TAGS_MAX];
    uint8_t tags_len;
    uint8_t dscp;
    uint64_t pkts, bytes;
};

struct sums {
    struct sum of[FLOWS_MAX];
    size_t len;
};

struct traffic {
    struct frame *frames;
    size_t len;
    size_t good; /* frames that belong to a flow */
    bool use_dscp;
    struct sums expected;
};

/* Frames of about 200 flows with 0 to 4 tags (0x8100, 0x88a8, 0x9100), IPv4 and IPv6, TCP, UDP and
 * ICMP, with good DSCP and ECN, and every seventh frame one that no flow may be counted for. */
void traffic_make(struct traffic *traffic, unsigned seed, size_t frames, bool use_dscp);
void traffic_free(struct traffic *traffic);

/* Adds to the sum with that key; the DSCP is looked at as it is. */
void sums_add(struct sums *sums, const struct sum *one);
/* Fails the test (cmocka) when they differ, with the first difference. */
void sums_assert_equal(const struct sums *got, const struct sums *expected);

/* Both return the bytes written; the time stamps have nanoseconds. */
size_t traffic_write_pcap(const struct traffic *traffic, const char *path);
size_t traffic_write_pcapng(const struct traffic *traffic, const char *path);

#endif
