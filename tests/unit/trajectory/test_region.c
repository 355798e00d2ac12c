/* SPDX-License-Identifier: Apache-2.0 */
/* Region: what a reader sees while the owner counts, the ring between them, and readers and indexes
 * that lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/hash.h"
#include "trajectory/region.h"

#define NS_PER_S UINT64_C(1000000000)
#define SAMPLES  16 /* slots of the ring of samples */
#define IP_BYTES 100

static uint64_t random_state;

static uint64_t random_u64(void)
{
    return pd_splitmix64(&random_state);
}

/* PD_SEED=N repeats a run. */
static int seed(void **state)
{
    (void)state;
    const char *given = getenv("PD_SEED");
    random_state = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    print_message("PD_SEED=%llu\n", (unsigned long long)random_state);
    return 0;
}

/* ---- a region with its owner ----------------------------------------------------------------- */

struct owner {
    size_t bytes;
    struct pd_region *region;
    struct pd_index index;
    struct pd_event_ring ring;
    struct pd_trajectory *trajectory;
};

static void owner_init(struct owner *owner, uint32_t max_records, uint32_t ring_slots)
{
    struct pd_trajectory_config config = PD_TRAJECTORY_DEFAULTS;
    config.max_records = max_records;
    owner->bytes = pd_trajectory_region_bytes(max_records, ring_slots, SAMPLES);
    void *map = mmap(NULL, owner->bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    owner->index = (struct pd_index){0};
    owner->region = pd_trajectory_region_init(map, max_records, ring_slots, SAMPLES);
    assert_int_equal(owner->region->bytes, owner->bytes);
    pd_trajectory_event_ring_init(&owner->ring, owner->region, &owner->index);
    struct pd_trajectory_sink sink = pd_trajectory_event_ring_sink(&owner->ring);
    assert_int_equal(pd_trajectory_new_in(owner->region, &config, &sink, &owner->trajectory), 0);
}

static void owner_done(struct owner *owner)
{
    pd_trajectory_free(owner->trajectory);
    munmap(owner->region, owner->bytes);
}

static struct pd_packet packet_of(uint32_t flow, uint8_t tcp_flags)
{
    struct pd_packet packet = {.ip_bytes = IP_BYTES, .tcp_flags = tcp_flags};
    packet.flow = (struct pd_flow_id){.protocol = 6, .ip_version = flow & 1 ? 6 : 4};
    memcpy(packet.flow.src.bytes, &flow, sizeof flow);
    return packet;
}

static void count_one(struct owner *owner, uint32_t flow, uint8_t tcp_flags, uint64_t now_ns)
{
    struct pd_packet packet = packet_of(flow, tcp_flags);
    pd_trajectory_update(owner->trajectory, &packet, NULL, &now_ns, 1, pd_tags_bits(false));
}

static uint32_t flow_of(const struct pd_trajectory_record *record)
{
    uint32_t flow;
    memcpy(&flow, record->flow.src.bytes, sizeof flow);
    return flow;
}

/* ---- ring ------------------------------------------------------------------------------------ */

static void a_full_ring_refuses_and_nothing_is_lost(void **state)
{
    (void)state;
    struct owner owner;
    struct pd_view view;
    uint64_t pkts = 0, taken = 0, now_ns = NS_PER_S;
    owner_init(&owner, 10000, 64);
    assert_int_equal(pd_trajectory_view_init(&view, owner.region, owner.bytes), 0);
    for (uint32_t i = 0; i < 5000; i++, pkts++) {
        count_one(&owner, i % 1000, 0x10, now_ns += NS_PER_S / 100);
        pd_trajectory_sweep(owner.trajectory, now_ns);
    }
    assert_int_equal(pd_trajectory_event_ring_used(&owner.ring), 64);
    assert_true(owner.region->ring_refused > 0);
    assert_true(owner.region->ring_unheard > 0);
    pd_trajectory_flush_begin(owner.trajectory);
    while (pd_trajectory_flushing(owner.trajectory) ||
           owner.index.read < pd_trajectory_view_written(&view)) {
        while (owner.index.read < pd_trajectory_view_written(&view)) {
            struct pd_event event;
            pd_trajectory_view_event(&view, owner.index.read, &event);
            taken += event.kind == PD_EVENT_EVICTED ? event.record.pkts : 0;
            owner.index.read++;
        }
        pd_trajectory_sweep(owner.trajectory, now_ns);
    }
    assert_int_equal(taken, pkts);
    assert_int_equal(owner.region->live_records, 0);
    owner_done(&owner);
}

/* Whatever stands in the index, the owner goes on, and its ring never holds more than it has room
 * for. */
static void an_index_that_lies(void **state)
{
    (void)state;
    struct owner owner;
    uint64_t now_ns = NS_PER_S;
    owner_init(&owner, 10000, 64);
    for (uint32_t i = 0; i < 200000; i++) {
        uint64_t near = owner.ring.write + random_u64() % 200 - 100;
        owner.index.read = random_u64() & 1 ? random_u64() : near;
        count_one(&owner, (uint32_t)random_u64() % 5000, random_u64() & 1 ? 0x11 : 0x10,
                  now_ns += 1000000);
        pd_trajectory_sweep(owner.trajectory, now_ns);
        assert_true(owner.ring.write - owner.ring.read_known <= 64);
    }
    assert_true(owner.ring.write > 64);
    owner_done(&owner);
}

/* ---- reader ---------------------------------------------------------------------------------- */

#define PERMANENT 500

struct seen {
    uint8_t permanent[PERMANENT];
    uint64_t wrong;
};

static void see(void *context, const struct pd_trajectory_record *record)
{
    struct seen *seen = context;
    seen->wrong += record->bytes != record->pkts * IP_BYTES || record->pkts == 0 ||
                   record->first_ns > record->last_ns;
    if (flow_of(record) < PERMANENT) {
        seen->permanent[flow_of(record)] = 1;
    }
}

struct churn {
    struct owner *owner;
    _Atomic bool stop;
};

/* Short flows come and go between the permanent ones; the table grows several times. */
static void *churn(void *context)
{
    struct churn *churn = context;
    uint64_t now_ns = 2 * NS_PER_S;
    for (uint32_t i = 0; i < 4000000 && !churn->stop; i++) {
        count_one(churn->owner, i % 3 ? i % PERMANENT : PERMANENT + i,
                  i % 3 || i % 5 == 0 ? 0x10 : 0x11, now_ns += 3000);
        if (i % 64 == 0) {
            pd_trajectory_sweep(churn->owner->trajectory, now_ns);
        }
        /* As a reader does that takes all at once. */
        __atomic_store_n(&churn->owner->index.read, churn->owner->ring.write, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void a_reader_misses_no_record(void **state)
{
    (void)state;
    struct owner owner;
    struct pd_view view;
    unsigned whole = 0;
    owner_init(&owner, 1 << 17, 1024);
    assert_int_equal(pd_trajectory_view_init(&view, owner.region, owner.bytes), 0);
    for (uint32_t i = 0; i < PERMANENT; i++) {
        count_one(&owner, i, 0x10, NS_PER_S);
    }
    struct churn work = {.owner = &owner};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, churn, &work), 0);
    for (unsigned walks = 0; walks < 5000 && whole < 20; walks++) {
        struct seen seen = {0};
        struct pd_view_walk walk = pd_trajectory_view_walk(&view, see, &seen);
        assert_int_equal(seen.wrong, 0);
        if (walk.torn || walk.moved) {
            continue;
        }
        whole++;
        for (unsigned i = 0; i < PERMANENT; i++) {
            assert_true(seen.permanent[i]);
        }
    }
    work.stop = true;
    pthread_join(thread, NULL);
    assert_int_equal(whole, 20);
    owner_done(&owner);
}

static void nothing(void *context, const struct pd_trajectory_record *record)
{
    (void)context;
    (void)record;
}

/* Samples pass through the region, in order; what finds no room is counted, nobody waits. */
static void samples_pass_beside_the_table(void **state)
{
    (void)state;
    struct owner owner;
    struct pd_view view;
    struct pd_sample out[2 * SAMPLES];
    owner_init(&owner, 100, 64);
    assert_int_equal(pd_trajectory_view_init(&view, owner.region, owner.bytes), 0);
    struct pd_samples in = pd_trajectory_region_samples(owner.region, &owner.index);
    struct pd_samples reader = pd_trajectory_view_samples(&view, &owner.index);
    uint64_t next = 0, given = 0, full = 0;
    for (unsigned round = 0; round < 1000; round++) {
        for (unsigned i = 0; i < random_u64() % (2 * SAMPLES); i++) {
            struct pd_sample sample = {.mark = given};
            bool taken = pd_trajectory_samples_put(&in, &sample);
            given += taken;
            full += !taken;
        }
        size_t len = pd_trajectory_samples_take(&reader, out, random_u64() % (2 * SAMPLES));
        for (size_t i = 0; i < len; i++) {
            assert_int_equal(out[i].mark, next++);
        }
    }
    assert_true(full && given > SAMPLES);
    assert_int_equal(owner.region->samples.full, full);
    assert_int_equal(owner.region->samples.written, given);
    owner.index.samples_read = UINT64_MAX / 2; /* a reader that lies only loses its own */
    for (unsigned i = 0; i < 3 * SAMPLES; i++) {
        (void)pd_trajectory_samples_put(&in, &(struct pd_sample){.mark = 0});
    }
    assert_true(owner.region->samples.full > full);
    owner_done(&owner);
}

static void a_ring_of_its_own(void **state)
{
    struct pd_samples samples, none = {0};
    struct pd_sample one = {.packet_id = 7}, out;
    (void)state;
    assert_int_equal(pd_trajectory_samples_new(3, &samples), -EINVAL);
    assert_int_equal(pd_trajectory_samples_new(0, &samples), -EINVAL);
    assert_int_equal(pd_trajectory_samples_new(1, &samples), 0);
    assert_true(pd_trajectory_samples_put(&samples, &one));
    assert_false(pd_trajectory_samples_put(&samples, &one));
    assert_int_equal(pd_trajectory_samples_take(&samples, &out, 1), 1);
    assert_int_equal(out.packet_id, 7);
    assert_true(pd_trajectory_samples_put(&samples, &one));
    assert_int_equal(samples.words->full, 1);
    pd_trajectory_samples_free(&samples);
    pd_trajectory_samples_free(&none);
}

/* Any header: refused, or readable within the mapping (which the sanitizers watch). */
static void a_region_that_lies(void **state)
{
    (void)state;
    struct owner owner;
    struct pd_view view;
    owner_init(&owner, 100, 64);
    uint8_t *copy = malloc(owner.bytes);
    assert_non_null(copy);
    memcpy(copy, owner.region, owner.bytes);
    assert_int_equal(pd_trajectory_view_init(&view, copy, PD_REGION_HEADER_BYTES - 1), -EPROTO);
    assert_int_equal(pd_trajectory_view_init(&view, copy, owner.bytes - 4096), -EINVAL);
    ((struct pd_region *)(void *)copy)->version = PD_REGION_VERSION - 1;
    assert_int_equal(pd_trajectory_view_init(&view, copy, owner.bytes), -EPROTONOSUPPORT);
    for (unsigned i = 0; i < 20000; i++) {
        memcpy(copy, owner.region, sizeof(struct pd_region));
        for (unsigned n = 0; n <= i % 4; n++) {
            copy[random_u64() % 192] = (uint8_t)random_u64();
        }
        if (pd_trajectory_view_init(&view, copy, owner.bytes) == 0) {
            struct pd_event event;
            pd_trajectory_view_event(&view, random_u64(), &event);
            (void)pd_trajectory_view_walk(&view, nothing, NULL);
            struct pd_sample samples[8];
            struct pd_index index = {.samples_read = random_u64()};
            struct pd_samples reader = pd_trajectory_view_samples(&view, &index);
            assert_true(pd_trajectory_samples_take(&reader, samples, 8) <= 8);
        }
    }
    free(copy);
    owner_done(&owner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_ring_refuses_and_nothing_is_lost),
        cmocka_unit_test_setup(an_index_that_lies, seed),
        cmocka_unit_test(a_reader_misses_no_record),
        cmocka_unit_test_setup(samples_pass_beside_the_table, seed),
        cmocka_unit_test(a_ring_of_its_own),
        cmocka_unit_test_setup(a_region_that_lies, seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
