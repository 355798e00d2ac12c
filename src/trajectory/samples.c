/* SPDX-License-Identifier: Apache-2.0 */
/* Both ends of the ring of samples. */
#include "trajectory/samples.h"

#include <errno.h>
#include <stdlib.h>

/* One allocation: the words, each on a cache line of its own, then the slots. */
struct memory {
    struct pd_samples_words words;
    uint64_t unused[6];
    uint64_t read;
    uint64_t unused_too[7];
    struct pd_sample slots[];
};

int pd_trajectory_samples_new(uint32_t slots, struct pd_samples *ret_samples)
{
    if (!slots || slots > PD_SAMPLES_SLOTS_MAX || (slots & (slots - 1))) {
        return -EINVAL;
    }
    struct memory *memory = calloc(1, sizeof *memory + slots * sizeof *memory->slots);
    if (!memory) {
        return -ENOMEM;
    }
    *ret_samples = (struct pd_samples){
        .slots = memory->slots, .slots_len = slots, .words = &memory->words, .read = &memory->read};
    return 0;
}

void pd_trajectory_samples_free(struct pd_samples *samples)
{
    free(samples->words); /* what the allocation begins with */
    *samples = (struct pd_samples){.slots = NULL};
}

/* A word that went back, or points behind what was written, is not believed. */
static bool has_room(struct pd_samples *samples, uint64_t written)
{
    if (written - samples->read_known < samples->slots_len) {
        return true;
    }
    uint64_t read = samples->slots_len
                        ? __atomic_load_n(samples->read, __ATOMIC_ACQUIRE) /* pairs with take */
                        : written;
    if (read - samples->read_known <= written - samples->read_known) {
        samples->read_known = read;
    }
    return written - samples->read_known < samples->slots_len;
}

bool pd_trajectory_samples_put(struct pd_samples *samples, const struct pd_sample *sample)
{
    struct pd_samples_words *words = samples->words;
    uint64_t written = __atomic_load_n(&words->written, __ATOMIC_RELAXED); /* its only writer */
    if (!has_room(samples, written)) {
        __atomic_store_n(&words->full, words->full + 1, __ATOMIC_RELAXED);
        return false;
    }
    samples->slots[written & (samples->slots_len - 1)] = *sample;
    __atomic_store_n(&words->written, written + 1, __ATOMIC_RELEASE); /* pairs with take */
    return true;
}

size_t pd_trajectory_samples_take(struct pd_samples *samples, struct pd_sample *ret_samples,
                                  size_t max)
{
    uint64_t written = __atomic_load_n(&samples->words->written, __ATOMIC_ACQUIRE);
    uint64_t read = __atomic_load_n(samples->read, __ATOMIC_RELAXED); /* its only writer */
    size_t len = 0;
    if (written - read > samples->slots_len) {
        read = written - samples->slots_len; /* an owner that lies, or a reader that came late */
    }
    for (; len < max && read != written; read++) {
        ret_samples[len++] = samples->slots[read & (samples->slots_len - 1)];
    }
    __atomic_store_n(samples->read, read, __ATOMIC_RELEASE); /* pairs with has_room */
    return len;
}
