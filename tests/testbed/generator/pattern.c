/* SPDX-License-Identifier: Apache-2.0 */
/* What flows carry. */
#include "generator.h"

#include <string.h>

void pattern_fill(struct generator *generator)
{
    struct pd_sim_random random = {.state = 1};

    for (size_t i = 0; i < PATTERN_BYTES; i++) {
        generator->pattern[i] = (uint8_t)pd_sim_random_next(&random);
    }
    memcpy(generator->pattern + PATTERN_BYTES, generator->pattern, PATTERN_BYTES);
}

const uint8_t *pattern_at(const struct generator *generator, uint64_t offset)
{
    return generator->pattern + offset % PATTERN_BYTES;
}
