/* SPDX-License-Identifier: Apache-2.0 */
/* Samples on their way: a full ring counts what it loses and waits for nobody; what is in it is
 * taken in once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/samples.h"

static const char network[] =
    "{\"nodes\":[{\"id\":1,\"role\":\"switch\",\"prefixes\":[\"10.1.1.0/24\"]}],\"links\":[]}";

static unsigned folded, passed_on;

static bool fake_sample(const struct pd_codec *codec, const uint8_t *frame, size_t captured,
                        const struct pd_packet *packet, struct pd_codec_sample *ret_sample)
{
    (void)codec;
    (void)captured;
    (void)packet;
    *ret_sample = (struct pd_codec_sample){.mark = frame[0]};
    return frame[0] != 0;
}

static void fake_fold(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor,
                      const struct pd_codec_sample *sample, void *state)
{
    (void)codec;
    (void)src_tor;
    (void)dst_tor;
    (void)state;
    assert_int_equal(sample->mark, 5);
    assert_int_equal(sample->time_ns, 77);
    folded++;
}

static void next_frame(void *context, const struct pd_packet *packet, const uint8_t *frame,
                       size_t captured, size_t wire, uint64_t time_ns)
{
    (void)context;
    (void)packet;
    (void)frame;
    (void)captured;
    (void)wire;
    (void)time_ns;
    passed_on++;
}

static const struct pd_codec_ops fake = {
    .name = "fake", .kind = PD_CODEC_SAMPLE, .scheme = 9, .sample = fake_sample, .fold = fake_fold};

static void init(struct pd_model *model, struct pd_codec *codec)
{
    struct pd_error error = {0};

    memset(model, 0, sizeof *model);
    atomic_init(&model->held, 1);
    if (pd_topology_parse(network, strlen(network), "network", &model->topology, &error)) {
        fail_msg("%s", error.text);
    }
    codec->topology = model->topology;
    model->codecs = (struct pd_codec_set){.topology = model->topology, .codecs = {codec}, .len = 1};
    assert_int_equal(pd_resolver_new(&model->codecs, 16, &model->resolver), 0);
}

static void a_full_ring_loses_and_counts(void **state)
{
    enum { GIVEN = PD_AGENT_SAMPLES_SLOTS + 5 };
    static struct pd_agent_counters counters;
    atomic_bool wanted = true;
    const struct pd_intake_tap next = {NULL, &wanted, next_frame};
    struct pd_packet packet = {
        .flow = {.src.bytes = {10, 1, 1, 2}, .dst.bytes = {10, 1, 1, 3}, .ip_version = 4}};
    struct pd_codec codec = {.ops = &fake};
    struct pd_model model;
    struct pd_agent_samples *samples;
    const uint8_t none = 0, some = 5;
    (void)state;
    init(&model, &codec);
    assert_int_equal(pd_agent_samples_new(&model, &counters, &samples), 0);
    const struct pd_intake_tap *tap = pd_agent_samples_tap(samples, &next);
    assert_true(*tap->wanted);
    for (unsigned i = 0; i < GIVEN; i++) {
        tap->frame(tap->context, &packet, &none, 1, 1, 77);
        tap->frame(tap->context, &packet, &some, 1, 1, 77);
    }
    assert_int_equal(passed_on, 2 * GIVEN);
    pd_agent_samples_fold(samples, model.resolver);
    pd_agent_samples_fold(samples, model.resolver);
    assert_int_equal(folded, PD_AGENT_SAMPLES_SLOTS);
    assert_int_equal(counters.samples, PD_AGENT_SAMPLES_SLOTS);
    assert_int_equal(counters.samples_full, 5);
    packet.flow.dst.bytes[0] = 192; /* of no rack */
    tap->frame(tap->context, &packet, &some, 1, 1, 77);
    pd_agent_samples_fold(samples, model.resolver);
    assert_int_equal(counters.samples_unread, 1);
    assert_int_equal(folded, PD_AGENT_SAMPLES_SLOTS);
    pd_agent_samples_free(samples);
    pd_resolver_free(model.resolver);
    pd_topology_free(model.topology);
}

static void without_a_scheme_there_are_none(void **state)
{
    static const struct pd_codec_ops silent = {.name = "silent", .kind = PD_CODEC_KEY};
    static struct pd_agent_counters counters;
    struct pd_codec codec = {.ops = &silent};
    struct pd_model model;
    struct pd_agent_samples *samples = NULL;
    (void)state;
    init(&model, &codec);
    assert_int_equal(pd_agent_samples_new(&model, &counters, &samples), 0);
    assert_null(samples);
    pd_agent_samples_fold(NULL, model.resolver);
    assert_int_equal(pd_agent_samples_due(NULL, 12), 12);
    pd_agent_samples_free(NULL);
    pd_resolver_free(model.resolver);
    pd_topology_free(model.topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_ring_loses_and_counts),
        cmocka_unit_test(without_a_scheme_there_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
