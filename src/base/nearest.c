/* SPDX-License-Identifier: Apache-2.0 */
/* What somebody may have meant. */
#include "base/nearest.h"

#include <stdio.h>
#include <string.h>

#define ROW_LEN (PD_NEAREST_MAX + 1)

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* One row of the table of distances, from the two before it. */
static void next_row(const char *a, size_t i, const char *b, size_t b_len,
                     unsigned rows[3][ROW_LEN])
{
    const unsigned *before = rows[(i + 1) % 3], *above = rows[(i + 2) % 3];
    unsigned *row = rows[i % 3];

    row[0] = (unsigned)i;
    for (size_t k = 1; k <= b_len; k++) {
        row[k] = least(least(above[k], row[k - 1]) + 1, above[k - 1] + (a[i - 1] != b[k - 1]));
        if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1]) {
            row[k] = least(row[k], before[k - 2] + 1);
        }
    }
}

unsigned pd_nearest_distance(const char *a, const char *b)
{
    size_t a_len = strnlen(a, PD_NEAREST_MAX), b_len = strnlen(b, PD_NEAREST_MAX);
    unsigned rows[3][ROW_LEN];

    for (size_t k = 0; k <= b_len; k++) {
        rows[0][k] = (unsigned)k;
    }
    for (size_t i = 1; i <= a_len; i++) {
        next_row(a, i, b, b_len, rows);
    }
    return rows[a_len % 3][b_len];
}

bool pd_nearest_offer(struct pd_nearest *nearest, const char *candidate)
{
    unsigned away = pd_nearest_distance(nearest->text, candidate);

    if (*nearest->found && away >= nearest->distance) {
        return false;
    }
    nearest->distance = away;
    snprintf(nearest->found, sizeof nearest->found, "%s", candidate);
    return true;
}

bool pd_nearest_is_meant(const struct pd_nearest *nearest)
{
    size_t len = strnlen(nearest->text, PD_NEAREST_MAX), allowed = (len + 2) / 3;

    return *nearest->found && nearest->distance <= allowed && nearest->distance < len;
}

const char *pd_nearest_hint(const struct pd_nearest *nearest, const char *prefix,
                            char text[PD_NEAREST_HINT_BYTES])
{
    *text = '\0';
    if (pd_nearest_is_meant(nearest)) {
        snprintf(text, PD_NEAREST_HINT_BYTES, "; did you mean %s%s?", prefix, nearest->found);
    }
    return text;
}
