/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the switch's trajectory_input(), as it stands in ovs-patches, on bursts of packets
 * that lie in several segments.
 *
 * An input is 1 byte (bit 0: the DSCP carries a tag) and a list of: 1 byte (bits 0-1 segments
 * beyond the first one, bit 2 memory of the switch's own, which is one segment), 3 bytes length of
 * the first segments, 2 bytes length, the frame. The last frame may be shorter than it says. Each
 * segment is memory of its own, no byte longer: reading beyond one is seen. */
#include <stdlib.h>
#include <string.h>

#include "ovs_stand_in.h"

/* As in the patch's lib/trajectory.h. */
void trajectory_input(struct trajectory *t, struct dp_packet_batch *batch,
                      enum trajectory_mode mode, long long int now_us);
/* From the patch; see CMakeLists.txt. */
#include "trajectory_input.h"

#define SEGMENTS_MAX 4
#define HEAD_BYTES   6
#define RECORDS      8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One packet, and the same bytes in one piece. */
struct given {
    struct dp_packet packet;
    struct rte_mbuf more[SEGMENTS_MAX - 1];
    uint8_t *bytes;
    size_t len;
};

struct totals {
    uint64_t pkts, bytes, ok;
};

static void *copy_of(const uint8_t *bytes, size_t len)
{
    void *copy = malloc(len ? len : 1);

    if (!copy) {
        abort();
    }
    memcpy(copy, bytes, len);
    return copy;
}

/* ---- making a burst -------------------------------------------------------------------------- */

static void make_chain(struct given *given, unsigned segments, const uint8_t lens[SEGMENTS_MAX - 1])
{
    struct rte_mbuf *first = &given->packet.mbuf, *segment = first;
    size_t at = 0;

    *first = (struct rte_mbuf){.pkt_len = (uint32_t)given->len, .nb_segs = (uint16_t)segments};
    for (unsigned i = 0; i < segments; i++) {
        const size_t left = given->len - at;
        const size_t len = i + 1 < segments ? MIN(lens[i], left) : left;

        segment->buf_addr = copy_of(given->bytes + at, len);
        segment->data_len = (uint16_t)len;
        at += len;
        if (i + 1 < segments) {
            segment->next = &given->more[i];
            segment = segment->next;
            *segment = (struct rte_mbuf){0};
        }
    }
}

/* Returns the bytes of the input that are used up. */
static size_t make_packet(struct given *given, const uint8_t *data, size_t size)
{
    const bool own = data[0] & 4;
    const size_t wanted = (size_t)data[4] << 8 | data[5];

    given->len = MIN(wanted, size - HEAD_BYTES);
    given->bytes = copy_of(data + HEAD_BYTES, given->len);
    given->packet = (struct dp_packet){.source = own ? DPBUF_MALLOC : DPBUF_DPDK};
    make_chain(given, own ? 1 : 1U + (data[0] & 3), data + 1);
    return HEAD_BYTES + given->len;
}

static void free_packet(struct given *given)
{
    for (struct rte_mbuf *segment = &given->packet.mbuf; segment; segment = segment->next) {
        free(segment->buf_addr);
    }
    free(given->bytes);
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* The packet is `len` bytes at `bytes`, however it lies. */
static void check_bytes(const struct given *given, const uint8_t *bytes, size_t len)
{
    unsigned segments = 0;
    size_t at = 0;

    for (const struct rte_mbuf *segment = &given->packet.mbuf; segment; segment = segment->next) {
        assert(segment->data_len <= len - at);
        assert(memcmp(segment->buf_addr + segment->data_off, bytes + at, segment->data_len) == 0);
        at += segment->data_len;
        segments++;
    }
    assert(at == len && given->packet.mbuf.pkt_len == len);
    assert(given->packet.mbuf.nb_segs == segments);
}

/* What the first segment tells is what the whole packet tells, or that it is too short. */
static void check_packet(struct given *given, size_t first_len, bool use_dscp, struct totals *in)
{
    struct pd_packet part, whole;
    const enum pd_packet_verdict verdict =
        pd_packet_parse(given->bytes, first_len, given->len, &part);
    const enum pd_packet_verdict linear =
        pd_packet_parse(given->bytes, given->len, given->len, &whole);

    if (verdict != PD_PACKET_OK) {
        assert(verdict == linear || verdict == PD_PACKET_TRUNCATED);
        check_bytes(given, given->bytes, given->len);
        return;
    }
    assert(linear == PD_PACKET_OK && memcmp(&part.flow, &whole.flow, sizeof part.flow) == 0);
    assert(part.tags_len == whole.tags_len && part.ip_bytes == whole.ip_bytes);
    const size_t cut = pd_packet_strip(given->bytes, &whole, use_dscp);
    check_bytes(given, given->bytes + cut, given->len - cut);
    in->ok++;
    in->bytes += whole.ip_bytes;
}

static void check_region(const struct pd_region *region, const struct totals *in,
                         const struct totals *out)
{
    uint64_t verdicts = 0;

    for (unsigned i = 0; i < PD_PACKET_VERDICT_COUNT; i++) {
        verdicts += region->verdicts[i];
    }
    assert(region->frames == in->pkts && verdicts == in->pkts);
    assert(region->verdicts[PD_PACKET_OK] == in->ok);
    assert(out->pkts + region->counters.lost_full_pkts == in->ok);
    assert(out->bytes + region->counters.lost_full_bytes == in->bytes);
}

/* ---- one input ------------------------------------------------------------------------------- */

static bool add(void *context, const struct pd_trajectory_record *record)
{
    struct totals *totals = context;

    totals->pkts += record->pkts;
    totals->bytes += record->bytes;
    return true;
}

static void open_trajectory(struct trajectory *t, struct totals *out)
{
    struct pd_trajectory_config config = PD_TRAJECTORY_DEFAULTS;
    const struct pd_trajectory_sink sink = {out, add, NULL};
    const size_t bytes = pd_trajectory_region_bytes(RECORDS, 0, 0);
    void *memory = aligned_alloc(4096, bytes);

    config.max_records = RECORDS;
    config.hash_seed = 1;
    if (!memory) {
        abort();
    }
    memset(memory, 0, bytes);
    t->region = pd_trajectory_region_init(memory, RECORDS, 0, 0);
    if (pd_trajectory_new_in(t->region, &config, &sink, &t->table)) {
        abort();
    }
}

static void run_burst(struct trajectory *t, struct given *given, size_t len, bool use_dscp,
                      struct totals *in)
{
    struct dp_packet_batch batch = {.count = len};
    size_t first_lens[NETDEV_MAX_BURST];

    for (size_t i = 0; i < len; i++) {
        batch.packets[i] = &given[i].packet;
        first_lens[i] = given[i].packet.mbuf.data_len;
    }
    trajectory_input(t, &batch, use_dscp ? TRAJECTORY_TAGS_AND_DSCP : TRAJECTORY_TAGS, 1000000);
    in->pkts += len;
    for (size_t i = 0; i < len; i++) {
        check_packet(&given[i], first_lens[i], use_dscp, in);
        free_packet(&given[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct totals in = {0}, out = {0};
    struct given given[NETDEV_MAX_BURST];
    struct trajectory t;
    size_t at = 1, len = 0;

    open_trajectory(&t, &out);
    while (size > at && size - at >= HEAD_BYTES) {
        at += make_packet(&given[len++], data + at, size - at);
        if (len == NETDEV_MAX_BURST) {
            run_burst(&t, given, len, data[0] & 1, &in);
            len = 0;
        }
    }
    run_burst(&t, given, len, size && data[0] & 1, &in);
    assert(pd_trajectory_flush(t.table) == 0);
    check_region(t.region, &in, &out);
    pd_trajectory_free(t.table);
    free(t.region);
    return 0;
}
