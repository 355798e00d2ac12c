/* SPDX-License-Identifier: Apache-2.0 */
/* Frames to samples, the ring, samples to states of flows. */
#include "agent/samples.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"

#define TAKE_LEN 256

struct pd_agent_samples {
    struct pd_model *model; /* held */
    struct pd_agent_counters *counters;
    struct pd_samples ring;
    struct pd_intake_tap tap;
    const struct pd_intake_tap *next; /* NULL: nobody */
    atomic_bool wanted;
};

int pd_agent_samples_new(struct pd_model *model, struct pd_agent_counters *counters,
                         struct pd_agent_samples **ret_samples)
{
    struct pd_agent_samples *samples;

    if (!pd_codec_set_samples(&model->codecs)) {
        *ret_samples = NULL;
        return 0;
    }
    samples = calloc(1, sizeof *samples);
    if (!samples || pd_trajectory_samples_new(PD_AGENT_SAMPLES_SLOTS, &samples->ring)) {
        free(samples);
        return -ENOMEM;
    }
    samples->model = pd_agent_model_hold(model);
    samples->counters = counters;
    *ret_samples = samples;
    return 0;
}

void pd_agent_samples_free(struct pd_agent_samples *samples)
{
    if (!samples) {
        return;
    }
    pd_trajectory_samples_free(&samples->ring);
    pd_agent_model_free(samples->model);
    free(samples);
}

/* ---- intake thread ---- */

static void put(struct pd_agent_samples *samples, const struct pd_codec *codec,
                const struct pd_flow_id *flow, const struct pd_codec_sample *read)
{
    const struct pd_sample sample = {.flow = *flow,
                                     .mark = read->mark,
                                     .time_ns = read->time_ns,
                                     .packet_id = read->packet_id,
                                     .hops = read->hops,
                                     .scheme = codec->ops->scheme};

    if (!pd_trajectory_samples_put(&samples->ring, &sample)) {
        pd_count(&samples->counters->samples_full, 1);
    }
}

static void on_frame(void *context, const struct pd_packet *packet, const uint8_t *frame,
                     size_t captured, size_t wire, uint64_t time_ns)
{
    struct pd_agent_samples *samples = context;
    const struct pd_codec_set *codecs = &samples->model->codecs;
    const struct pd_intake_tap *next = samples->next;

    for (uint32_t i = 0; i < codecs->len; i++) {
        const struct pd_codec *codec = codecs->codecs[i];
        struct pd_codec_sample read = {.mark = 0};
        if (codec->ops->sample && codec->ops->sample(codec, frame, captured, packet, &read)) {
            read.time_ns = time_ns;
            put(samples, codec, &packet->flow, &read);
        }
    }
    if (next && atomic_load_explicit(next->wanted, memory_order_relaxed)) {
        next->frame(next->context, packet, frame, captured, wire, time_ns);
    }
}

const struct pd_intake_tap *pd_agent_samples_tap(struct pd_agent_samples *samples,
                                                 const struct pd_intake_tap *next)
{
    atomic_store_explicit(&samples->wanted, true, memory_order_relaxed);
    samples->next = next;
    samples->tap = (struct pd_intake_tap){samples, &samples->wanted, on_frame};
    return &samples->tap;
}

/* ---- store thread ---- */

static void fold(struct pd_agent_samples *samples, struct pd_resolver *resolver,
                 const struct pd_sample *taken, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        const int replaced = pd_resolver_sample(resolver, &taken[i]);

        pd_count(replaced < 0 ? &samples->counters->samples_unread : &samples->counters->samples,
                 1);
        if (replaced > 0) {
            pd_count(&samples->counters->samples_replaced, (uint64_t)replaced);
        }
    }
}

/* At most one ring full, so that nobody who keeps on putting holds the store up. */
void pd_agent_samples_fold(struct pd_agent_samples *samples, struct pd_resolver *resolver)
{
    struct pd_sample taken[TAKE_LEN];
    size_t len = samples ? TAKE_LEN : 0;

    for (size_t all = 0; len == TAKE_LEN && all < PD_AGENT_SAMPLES_SLOTS; all += len) {
        len = pd_trajectory_samples_take(&samples->ring, taken, TAKE_LEN);
        fold(samples, resolver, taken, len);
    }
}

uint64_t pd_agent_samples_due(const struct pd_agent_samples *samples, uint64_t deadline_ns)
{
    const uint64_t due_ns =
        samples ? pd_clock_monotonic_ns() + PD_AGENT_SAMPLES_DUE_MS * PD_NS_PER_MS : deadline_ns;

    return due_ns < deadline_ns ? due_ns : deadline_ns;
}
