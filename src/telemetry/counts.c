/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table of cells with open addressing, at most three quarters full. */
#include "telemetry/counts.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 16

static uint32_t key_of(const struct pd_telemetry_cell *cell)
{
    return (uint32_t)cell->series << 24 | (uint32_t)cell->hop << 16 | cell->code;
}

static uint32_t place_of(uint32_t room, uint32_t key)
{
    /* The high bits of the product: the low ones of the key, its code, are often the same. */
    return (key * 0x9e3779b1u) >> (1 + __builtin_clz(room));
}

static struct pd_telemetry_cell *slot_of(struct pd_telemetry_cell *cells, uint32_t room,
                                         uint32_t key)
{
    uint32_t at = place_of(room, key);

    while (cells[at & (room - 1)].count && key_of(&cells[at & (room - 1)]) != key) {
        at++;
    }
    return &cells[at & (room - 1)];
}

static bool grow(struct pd_telemetry_counts *counts, size_t *budget)
{
    const uint32_t room = counts->room ? 2 * counts->room : FIRST_ROOM;
    const size_t more = (room - counts->room) * sizeof *counts->cells;
    struct pd_telemetry_cell *cells =
        more <= *budget && room > counts->room ? calloc(room, sizeof *cells) : NULL;

    if (!cells) {
        return false;
    }
    for (uint32_t i = 0; i < counts->room; i++) {
        if (counts->cells[i].count) {
            *slot_of(cells, room, key_of(&counts->cells[i])) = counts->cells[i];
        }
    }
    free(counts->cells);
    counts->cells = cells;
    counts->room = room;
    *budget -= more;
    return true;
}

bool pd_telemetry_counts_add(struct pd_telemetry_counts *counts, size_t *budget, unsigned series,
                             unsigned hop, unsigned code)
{
    const struct pd_telemetry_cell new = {(uint8_t)series, (uint8_t)hop, (uint16_t)code, 1};
    struct pd_telemetry_cell *cell =
        counts->room ? slot_of(counts->cells, counts->room, key_of(&new)) : NULL;

    if (cell && cell->count) {
        cell->count += cell->count < UINT32_MAX;
        return true;
    }
    if (!cell || counts->len + 1 > counts->room / 4 * 3) {
        if (!grow(counts, budget)) {
            return false;
        }
        cell = slot_of(counts->cells, counts->room, key_of(&new));
    }
    *cell = new;
    counts->len++;
    return true;
}

void pd_telemetry_counts_prefetch(const struct pd_telemetry_counts *counts, unsigned series,
                                  unsigned hop, unsigned code)
{
    const struct pd_telemetry_cell cell = {(uint8_t)series, (uint8_t)hop, (uint16_t)code, 1};

    if (counts->room) {
        __builtin_prefetch(&counts->cells[place_of(counts->room, key_of(&cell))], 1);
    }
}

void pd_telemetry_counts_clear(struct pd_telemetry_counts *counts, size_t *budget)
{
    *budget += counts->room * sizeof *counts->cells;
    free(counts->cells);
    *counts = (struct pd_telemetry_counts){0};
}

static int by_key(const void *a, const void *b)
{
    const uint32_t x = key_of(a), y = key_of(b);

    return (x > y) - (x < y);
}

void pd_telemetry_counts_sorted(const struct pd_telemetry_counts *counts,
                                struct pd_telemetry_cell *ret_cells)
{
    uint32_t len = 0;

    for (uint32_t i = 0; i < counts->room; i++) {
        if (counts->cells[i].count) {
            ret_cells[len++] = counts->cells[i];
        }
    }
    if (len) {
        qsort(ret_cells, len, sizeof *ret_cells, by_key);
    }
}
