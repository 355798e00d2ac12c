/* SPDX-License-Identifier: Apache-2.0 */
/* Updates per second of the trajectory memory with eviction running, beside DPDK's rte_hash.
 *
 * Packets of `live` flows come in an order that has nothing to do with the table's, in bursts of 32
 * written to one buffer, as a parser does. In each second of a side's own time a tenth of the flows
 * ends with a FIN and is replaced by new ones, the sweep runs every 10 ms, and the evicted records
 * are built and handed out. Both sides get the same packets; rounds take turns; medians are
 * printed. Time is the CPU time of the thread, so that other work on the machine disturbs less. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "peer.h"
#include "trajectory/trajectory.h"

enum { BURST = 32, CHUNK = 1024, ROUNDS_MAX = 99, FIN_ACK = 0x11, ACK = 0x10 };

#define ROUND_NS (PD_NS_PER_S / 4)
#define SWEEP_NS (10 * PD_NS_PER_MS)

/* What differs between flows. */
struct flow {
    uint32_t src;
    uint16_t src_port;
    uint16_t tag;
    uint16_t ip_bytes;
    uint8_t tcp_flags;
};

struct side {
    struct flow *flows;
    struct pd_packet packets[BURST];
    uint32_t live;
    uint32_t at;
    uint64_t clock_ns; /* runs only while this side does */
    uint64_t swept_ns;
    uint64_t ended;                   /* flows */
    struct pd_trajectory *trajectory; /* NULL: the peer */
};

static uint64_t evicted;

static bool evict(void *context, const struct pd_trajectory_record *record)
{
    (void)context;
    evicted += record->pkts > 0;
    return true;
}

static struct flow *make_flows(uint32_t live)
{
    struct flow *flows = calloc(live, sizeof *flows);
    if (!flows) {
        abort();
    }
    for (uint32_t i = 0; i < live; i++) {
        flows[i] = (struct flow){10 + i / 256 * 256, (uint16_t)(1024 + i % 256),
                                 (uint16_t)(1 + i % 64), (uint16_t)(46 + i % 1400), ACK};
    }
    return flows;
}

/* Between filling the tables and measuring, or else the peer, which numbers its records in the
 * order in which they came, would be read from front to back. */
static void shuffle(struct flow *flows, uint32_t live)
{
    uint64_t state = 1;
    for (uint32_t i = live - 1; i > 0; i--) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint32_t j = (uint32_t)((state >> 32) * i >> 32);
        struct flow swap = flows[i];
        flows[i] = flows[j];
        flows[j] = swap;
    }
}

static void side_init(struct side *side, uint32_t live)
{
    struct pd_packet packet = {
        .flow = {.dst = {{10, 1, 1, 2}}, .dst_port = 443, .protocol = 6, .ip_version = 4},
        .tags_len = 1};
    *side = (struct side){.flows = make_flows(live), .live = live, .clock_ns = 1};
    for (unsigned i = 0; i < BURST; i++) {
        side->packets[i] = packet;
    }
}

static void update(struct side *side, const struct flow *flows, unsigned n, uint64_t now_ns)
{
    uint64_t times[BURST];
    for (unsigned i = 0; i < n; i++) {
        struct pd_packet *packet = &side->packets[i];
        memcpy(packet->flow.src.bytes, &flows[i].src, sizeof flows[i].src);
        packet->flow.src_port = flows[i].src_port;
        packet->mark = pd_tags_push(0, flows[i].tag);
        packet->ip_bytes = flows[i].ip_bytes;
        packet->tcp_flags = flows[i].tcp_flags;
        times[i] = now_ns;
    }
    if (side->trajectory) {
        pd_trajectory_update(side->trajectory, side->packets, NULL, times, n, pd_tags_bits(false));
    } else {
        peer_update(side->packets, n, now_ns);
    }
}

/* The next packets of the stream; the first `ending` of them end their flows. */
static unsigned run_chunk(struct side *side, uint64_t now_ns, uint64_t ending)
{
    unsigned len = side->live - side->at < CHUNK ? side->live - side->at : CHUNK;
    struct flow *flows = side->flows + side->at;
    ending = ending < len ? ending : len;
    for (unsigned i = 0; i < ending; i++) {
        flows[i].tcp_flags = FIN_ACK;
    }
    for (unsigned i = 0; i < len; i += BURST) {
        update(side, flows + i, len - i < BURST ? len - i : BURST, now_ns);
    }
    for (unsigned i = 0; i < ending; i++) {
        flows[i].tcp_flags = ACK;
        flows[i].src_port = (uint16_t)(flows[i].src_port + 256);
    }
    side->ended += ending;
    side->at = (side->at + len) % side->live;
    return len;
}

static uint64_t cpu_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * PD_NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* Updates per second of one round. */
static double run_round(struct side *side, uint64_t min_ns, uint64_t min_updates)
{
    uint64_t start_ns = cpu_ns(), passed_ns = 0, updates = 0;
    while (passed_ns < min_ns || updates < min_updates) {
        uint64_t now_ns = side->clock_ns + passed_ns;
        uint64_t due = (uint64_t)((double)now_ns / 1e10 * side->live);
        updates += run_chunk(side, now_ns, due > side->ended ? due - side->ended : 0);
        if (side->trajectory && now_ns - side->swept_ns >= SWEEP_NS) {
            pd_trajectory_sweep(side->trajectory, now_ns);
            side->swept_ns = now_ns;
        }
        passed_ns = cpu_ns() - start_ns;
    }
    side->clock_ns += passed_ns;
    return (double)updates * 1e9 / (double)passed_ns;
}

static void fill(struct side *side)
{
    run_round(side, 0, side->live);
    shuffle(side->flows, side->live);
    run_round(side, ROUND_NS, UINT64_C(2) * side->live);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, unsigned len)
{
    qsort(values, len, sizeof *values, compare);
    return len % 2 ? values[len / 2] : (values[len / 2 - 1] + values[len / 2]) / 2;
}

static void bench(uint32_t live, unsigned rounds, const char *peer)
{
    struct pd_trajectory_config config = PD_TRAJECTORY_DEFAULTS;
    struct pd_trajectory_sink sink = {NULL, evict, NULL};
    config.max_records = live + live / 4; /* those that linger beside the live ones */
    struct side ours, theirs;
    double rates[ROUNDS_MAX], peer_rates[ROUNDS_MAX];
    side_init(&ours, live);
    side_init(&theirs, live);
    if (pd_trajectory_new(&config, &sink, &ours.trajectory)) {
        abort();
    }
    evicted = 0;
    fill(&ours);
    if (peer) {
        peer_open(live);
        fill(&theirs);
    }
    for (unsigned i = 0; i < rounds; i++) {
        rates[i] = run_round(&ours, ROUND_NS, 0);
        peer_rates[i] = peer ? run_round(&theirs, ROUND_NS, 0) : 0;
    }
    double rate = median(rates, rounds), peer_rate = median(peer_rates, rounds);
    printf("{\"bench\":\"trajectory\",\"live\":%u,\"records\":%zu,\"evicted\":%llu,"
           "\"updates_per_s\":%.0f,\"best_updates_per_s\":%.0f",
           live, pd_trajectory_len(ours.trajectory), (unsigned long long)evicted, rate,
           rates[rounds - 1]);
    if (peer) {
        printf(",\"peer\":\"%s\",\"peer_updates_per_s\":%.0f,\"ratio\":%.2f", peer, peer_rate,
               rate / peer_rate);
        peer_close();
    }
    printf("}\n");
    fflush(stdout);
    pd_trajectory_free(ours.trajectory);
    free(ours.flows);
    free(theirs.flows);
}

int main(int argc, char **argv)
{
    static const uint32_t sizes[] = {4096, 102400, 1048576};
    unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 7;
    if (rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: bench_trajectory [ROUNDS, 1 to %d]\n", ROUNDS_MAX);
        return 2;
    }
    const char *peer = peer_name();
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        bench(sizes[i], rounds, peer);
    }
    return 0;
}
