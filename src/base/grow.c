/* SPDX-License-Identifier: Apache-2.0 */
/* Room that doubles. */
#include "base/grow.h"

#include <stdint.h>
#include <stdlib.h>

void *pd_grow(void *array, size_t *room, size_t need, size_t item_bytes, size_t most)
{
    size_t wanted = *room ? *room : PD_GROW_LEAST;

    while (wanted < need) {
        if (wanted > SIZE_MAX / 2) {
            return NULL;
        }
        wanted *= 2;
    }
    if (wanted > most) {
        wanted = most;
    }
    if (wanted < need) {
        return NULL;
    }
    array = reallocarray(array, wanted, item_bytes);
    if (array) {
        *room = wanted;
    }
    return array;
}
