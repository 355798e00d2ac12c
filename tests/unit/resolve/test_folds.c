/* SPDX-License-Identifier: Apache-2.0 */
/* Folds: samples of many flows, mixed, tell each flow's own walk; a full table replaces the flow
 * that was silent longest, and says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "resolve/folds.h"
#include "resolve/resolve.h"
#include "tests/shared/random.h"

/* Leaves 1 and 2 share a rack, whose host 10 hangs at both; leaf 3 has host 11. */
static const char network[] =
    "{\"nodes\":[{\"id\":1,\"role\":\"leaf\",\"prefixes\":[\"10.1.1.0/24\"]},"
    "{\"id\":2,\"role\":\"leaf\",\"prefixes\":[\"10.1.1.0/24\"]},"
    "{\"id\":3,\"role\":\"leaf\",\"prefixes\":[\"10.1.3.0/24\"]},{\"id\":4,\"role\":\"spine\"},"
    "{\"id\":5,\"role\":\"leaf\",\"prefixes\":[\"10.1.5.0/24\"]},"
    "{\"id\":10,\"role\":\"host\",\"addrs\":[\"10.1.1.2\"]}],\"links\":["
    "{\"source\":1,\"target\":4},{\"source\":2,\"target\":4},{\"source\":3,\"target\":4},"
    "{\"source\":5,\"target\":4},{\"source\":1,\"target\":10},{\"source\":2,\"target\":10}]}";

#define SCHEME 9
#define NEEDED 3 /* samples that tell a walk */

struct told {
    uint64_t mark;
    uint32_t len;
    bool moved;
};

static void fake_fold(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor,
                      const struct pd_codec_sample *sample, void *state)
{
    struct told *told = state;
    (void)codec;
    (void)src_tor;
    (void)dst_tor;
    told->moved |= told->len && told->mark != sample->mark;
    told->mark = sample->mark;
    told->len++;
}

/* The mark is 1 + the rack that it comes from, or 0: from any. */
static int fake_decide(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor,
                       const void *state, struct pd_decoding *ret_decoding, struct pd_error *error)
{
    const struct told *told = state;
    (void)codec;
    (void)error;
    if (told->moved || (told->mark && told->mark != src_tor + 1)) {
        return -PD_E_INFEASIBLE;
    }
    *ret_decoding = (struct pd_decoding){.state = PD_DECODING_UNDECIDED, .candidates = 7};
    if (told->len >= NEEDED) {
        *ret_decoding = (struct pd_decoding){.state = PD_DECODING_EXACT,
                                             .walk = {.len = 3, .switches = {src_tor, 3, dst_tor}}};
    }
    return 0;
}

static bool fake_sample(const struct pd_codec *codec, const uint8_t *frame, size_t captured,
                        const struct pd_packet *packet, struct pd_codec_sample *ret_sample)
{
    (void)codec;
    (void)frame;
    (void)captured;
    (void)packet;
    (void)ret_sample;
    return false;
}

struct bench {
    struct pd_topology *topology;
    struct pd_codec codec;
    struct pd_codec_set codecs;
    struct pd_resolve_folds *folds;
};

static void bench_init(struct bench *bench, size_t len)
{
    static const struct pd_codec_ops ops = {.name = "fake",
                                            .kind = PD_CODEC_SAMPLE,
                                            .scheme = SCHEME,
                                            .state_bytes = sizeof(struct told),
                                            .sample = fake_sample,
                                            .fold = fake_fold,
                                            .decide = fake_decide};
    struct pd_error error = {0};
    memset(bench, 0, sizeof *bench);
    if (pd_topology_parse(network, strlen(network), "network", &bench->topology, &error)) {
        fail_msg("%s", error.text);
    }
    bench->codec = (struct pd_codec){.ops = &ops, .topology = bench->topology};
    bench->codecs =
        (struct pd_codec_set){.topology = bench->topology, .codecs = {&bench->codec}, .len = 1};
    assert_int_equal(pd_resolve_folds_new(&bench->codecs, len, &bench->folds), 0);
}

static void bench_done(struct bench *bench)
{
    pd_resolve_folds_free(bench->folds);
    pd_topology_free(bench->topology);
}

/* From leaf 3 to leaf 5. */
static struct pd_sample sample_of(uint16_t port, uint64_t mark, uint64_t time_ns)
{
    return (struct pd_sample){.flow = {.src.bytes = {10, 1, 3, 9},
                                       .dst.bytes = {10, 1, 5, 9},
                                       .src_port = port,
                                       .protocol = 17,
                                       .ip_version = 4},
                              .mark = mark,
                              .time_ns = time_ns,
                              .scheme = SCHEME};
}

static void mixed_flows_are_told_apart(void **state)
{
    enum { FLOWS = 200 };
    uint32_t given[FLOWS] = {0};
    struct bench bench;
    struct pd_decoding found;
    (void)state;
    bench_init(&bench, 4096);
    for (unsigned n = 0; n < 2000; n++) {
        const uint16_t port = (uint16_t)(rand() % FLOWS);
        const struct pd_sample sample = sample_of(port, 0, n);
        assert_int_equal(pd_resolve_folds_add(bench.folds, &sample), 0);
        given[port]++;
        assert_int_equal(pd_resolve_folds_decide(bench.folds, &sample.flow, &found), 0);
        assert_int_equal(found.state,
                         given[port] < NEEDED ? PD_DECODING_UNDECIDED : PD_DECODING_EXACT);
    }
    const struct pd_sample other = sample_of(FLOWS, 0, 1);
    assert_int_equal(pd_resolve_folds_decide(bench.folds, &other.flow, &found), -PD_E_NOT_FOUND);
    bench_done(&bench);
}

static void what_contradicts_itself_begins_anew(void **state)
{
    struct bench bench;
    struct pd_decoding found;
    (void)state;
    bench_init(&bench, 16);
    struct pd_sample sample = sample_of(1, 3, 1);
    const uint64_t marks[] = {3, 0, 3, 3, 3};
    const int results[] = {0, -PD_E_INFEASIBLE, 0, 0, 0};
    for (unsigned i = 0; i < 5; i++) {
        sample.mark = marks[i];
        assert_int_equal(pd_resolve_folds_add(bench.folds, &sample), 0);
        assert_int_equal(pd_resolve_folds_decide(bench.folds, &sample.flow, &found), results[i]);
    }
    assert_int_equal(found.state, PD_DECODING_EXACT);
    assert_int_equal(found.walk.switches[0], 2);
    bench_done(&bench);
}

static void a_full_table_replaces_the_silent(void **state)
{
    enum { FLOWS = 1000 };
    struct bench bench;
    struct pd_decoding found;
    int replaced = 0, there = 0;
    (void)state;
    bench_init(&bench, 8);
    for (unsigned port = 0; port < FLOWS; port++) {
        const struct pd_sample sample = sample_of((uint16_t)port, 0, 1 + (uint64_t)port);
        const int more = pd_resolve_folds_add(bench.folds, &sample);
        assert_in_range(more, 0, 1);
        replaced += more;
    }
    for (unsigned port = 0; port < FLOWS; port++) {
        const struct pd_sample sample = sample_of((uint16_t)port, 0, 0);
        there += pd_resolve_folds_decide(bench.folds, &sample.flow, &found) == 0;
    }
    assert_int_equal(there + replaced, FLOWS);
    assert_true(there >= 8 && there <= 15);
    const struct pd_sample last = sample_of(FLOWS - 1, 0, 0);
    assert_int_equal(pd_resolve_folds_decide(bench.folds, &last.flow, &found), 0);
    bench_done(&bench);
}

static void strange_samples_are_refused(void **state)
{
    struct bench bench;
    struct pd_sample sample = sample_of(1, 0, 1);
    (void)state;
    bench_init(&bench, 8);
    sample.scheme = SCHEME + 1;
    assert_int_equal(pd_resolve_folds_add(bench.folds, &sample), -PD_E_UNSUPPORTED);
    sample.scheme = SCHEME;
    sample.flow.dst.bytes[0] = 192;
    assert_int_equal(pd_resolve_folds_add(bench.folds, &sample), -PD_E_UNSUPPORTED);
    pd_resolve_folds_free(NULL);
    bench_done(&bench);
}

/* Through the resolver, as the store's thread asks: host 10 hangs at leaves 1 and 2. */
static void both_racks_of_a_host_are_tried(void **state)
{
    struct bench bench;
    struct pd_resolver *resolver;
    struct pd_claim claim;
    (void)state;
    bench_init(&bench, 8);
    assert_int_equal(pd_resolver_new(&bench.codecs, 16, &resolver), 0);
    struct pd_sample known = sample_of(1, 2, 1), ambiguous = sample_of(2, 0, 1);
    known.flow.src.bytes[2] = ambiguous.flow.src.bytes[2] = 1;
    known.flow.src.bytes[3] = ambiguous.flow.src.bytes[3] = 2;
    assert_int_equal(pd_resolver_claim(resolver, &known.flow, 0, &claim), -PD_E_UNSUPPORTED);
    assert_int_equal(claim.state, PD_CLAIM_INFEASIBLE);
    for (unsigned i = 0; i < NEEDED; i++) {
        assert_int_equal(pd_resolver_sample(resolver, &known), 0);
        assert_int_equal(pd_resolver_sample(resolver, &ambiguous), 0);
        if (!i) {
            assert_int_equal(pd_resolver_claim(resolver, &known.flow, 0, &claim),
                             -PD_E_UNSUPPORTED);
            assert_int_equal(claim.state, PD_CLAIM_UNDECIDED);
            assert_int_equal(claim.path->len, 0);
        }
    }
    assert_int_equal(pd_resolver_claim(resolver, &known.flow, 0, &claim), 0);
    assert_int_equal(claim.state, PD_CLAIM_EXACT);
    assert_int_equal(claim.path->len, 3);
    assert_int_equal(claim.path->switches[0], 2);
    assert_int_equal(pd_resolver_claim(resolver, &ambiguous.flow, 0, &claim), -PD_E_AMBIGUOUS);
    assert_int_equal(claim.state, PD_CLAIM_AMBIGUOUS);
    assert_int_equal(claim.candidates, 2);
    pd_resolver_free(resolver);
    bench_done(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mixed_flows_are_told_apart),
        cmocka_unit_test(what_contradicts_itself_begins_anew),
        cmocka_unit_test(a_full_table_replaces_the_silent),
        cmocka_unit_test(strange_samples_are_refused),
        cmocka_unit_test(both_racks_of_a_host_are_tried),
    };
    srand((unsigned)test_seed());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
