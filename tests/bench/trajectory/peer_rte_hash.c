/* SPDX-License-Identifier: Apache-2.0 */
/* DPDK's rte_hash with an array of counters beside it, as a switch would use it: CRC hash, bulk
 * look-up of 32, counters prefetched, one thread, and the same kind of pages as the trajectory
 * memory has. */
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <rte_memory.h>

struct key {
    uint32_t src, dst;
    uint16_t src_port, dst_port;
    uint8_t protocol, tags_len, dscp, zero;
    uint16_t tags[PD_PACKET_TAGS_MAX];
};

struct value {
    uint64_t pkts, bytes, first_ns, last_ns;
    uint8_t tcp_flags;
} __attribute__((aligned(64)));

static struct rte_hash *table;
static struct value *values;
static size_t values_bytes;

/* Without hugetlbfs EAL's memory is a memfd, which gets no transparent huge pages. Before anything
 * is allocated in it but EAL's own small things, anonymous memory that gets them is put in its
 * place. */
static int use_huge_pages(const struct rte_memseg_list *list, void *context)
{
    (void)context;
    void *saved = malloc(list->len);
    if (!saved) {
        return -1;
    }
    memcpy(saved, list->base_va, list->len);
    void *memory = mmap(list->base_va, list->len, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (memory != MAP_FAILED) {
        (void)madvise(memory, list->len, MADV_HUGEPAGE);
        memcpy(memory, saved, list->len);
    }
    free(saved);
    return memory == MAP_FAILED ? -1 : 0;
}

const char *peer_name(void)
{
    static char arguments[][24] = {"bench", "--no-huge", "--no-pci",       "--no-shconf",
                                   "-m",    "384",       "--no-telemetry", "--log-level=3"};
    enum { ARGUMENTS = sizeof arguments / sizeof arguments[0] };
    char *argv[ARGUMENTS + 1] = {NULL};
    for (unsigned i = 0; i < ARGUMENTS; i++) {
        argv[i] = arguments[i];
    }
    if (rte_eal_init(ARGUMENTS, argv) < 0) {
        fprintf(stderr, "bench_trajectory: no peer: rte_eal_init: %s\n", rte_strerror(rte_errno));
        return NULL;
    }
    if (rte_memseg_list_walk(use_huge_pages, NULL)) {
        fputs("bench_trajectory: the peer gets no huge pages\n", stderr);
    }
    return "rte_hash";
}

void peer_open(uint32_t live)
{
    struct rte_hash_parameters parameters = {
        .name = "peer",
        .entries = live + live / 2,
        .key_len = sizeof(struct key),
        .hash_func = rte_hash_crc,
    };
    table = rte_hash_create(&parameters);
    if (!table) {
        fprintf(stderr, "bench_trajectory: rte_hash_create: %s\n", rte_strerror(rte_errno));
        exit(1);
    }
    values_bytes = ((size_t)rte_hash_max_key_id(table) + 1) * sizeof *values;
    values = mmap(NULL, values_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (values == MAP_FAILED) {
        perror("bench_trajectory: mmap");
        exit(1);
    }
    (void)madvise(values, values_bytes, MADV_HUGEPAGE);
}

static void key_of(const struct pd_packet *packet, struct key *ret_key)
{
    struct key key = {.src_port = packet->flow.src_port,
                      .dst_port = packet->flow.dst_port,
                      .protocol = packet->flow.protocol,
                      .tags_len = packet->tags_len};
    memcpy(&key.src, packet->flow.src.bytes, 4);
    memcpy(&key.dst, packet->flow.dst.bytes, 4);
    const struct pd_tags tags = pd_tags_unpack(packet->mark);
    memcpy(key.tags, tags.vids, sizeof key.tags);
    *ret_key = key;
}

static void count(const struct pd_packet *packet, const struct key *key, int32_t position,
                  uint64_t now_ns)
{
    if (position < 0) {
        position = rte_hash_add_key(table, key);
        if (position < 0) {
            fputs("bench_trajectory: rte_hash is full\n", stderr);
            exit(1);
        }
        values[position] = (struct value){.first_ns = now_ns};
    }
    struct value *value = &values[position];
    value->pkts++;
    value->bytes += packet->ip_bytes;
    value->last_ns = now_ns;
    value->tcp_flags |= packet->tcp_flags;
    if (packet->tcp_flags & 0x05) {
        rte_hash_del_key(table, key);
    }
}

void peer_update(const struct pd_packet *packets, unsigned n, uint64_t now_ns)
{
    struct key keys[32];
    const void *pointers[32];
    int32_t positions[32];
    for (unsigned i = 0; i < n; i++) {
        key_of(&packets[i], &keys[i]);
        pointers[i] = &keys[i];
    }
    rte_hash_lookup_bulk(table, pointers, n, positions);
    for (unsigned i = 0; i < n; i++) {
        if (positions[i] >= 0) {
            __builtin_prefetch(&values[positions[i]], 1);
        }
    }
    for (unsigned i = 0; i < n; i++) {
        count(&packets[i], &keys[i], positions[i], now_ns);
    }
}

void peer_close(void)
{
    rte_hash_free(table);
    munmap(values, values_bytes);
}
