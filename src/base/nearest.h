/* SPDX-License-Identifier: Apache-2.0 */
/* What somebody may have meant: of some names the one that is nearest to a text. */
#ifndef PD_BASE_NEAREST_H
#define PD_BASE_NEAREST_H

#include <stdbool.h>

/* Nearest is what takes the fewest changes of a character: one that is another, is missing, is too
 * many, or two that stand in the wrong order (optimal string alignment). Of equals the first that
 * was offered.
 *
 *     struct pd_nearest nearest = {.text = "qurey"};
 *     for each name: pd_nearest_offer(&nearest, name);
 *     printf("%s%s", pd_nearest_is_meant(&nearest) ? "; did you mean " : "", nearest.found);
 *
 * Thread safety: works on the caller's memory. */

#define PD_NEAREST_MAX 63u /* characters that are compared */

struct pd_nearest {
    const char *text;
    unsigned distance;
    char found[PD_NEAREST_MAX + 1]; /* "": nothing yet */
};

unsigned pd_nearest_distance(const char *a, const char *b);

/* Whether it is nearer than all before. */
bool pd_nearest_offer(struct pd_nearest *nearest, const char *candidate);

/* Near enough to be a slip: at most a third of the letters, and never all of them. */
bool pd_nearest_is_meant(const struct pd_nearest *nearest);

#define PD_NEAREST_HINT_BYTES (PD_NEAREST_MAX + 32)
/* "; did you mean NAME?", NAME behind `prefix`; "" where nothing is near enough. */
const char *pd_nearest_hint(const struct pd_nearest *nearest, const char *prefix,
                            char text[PD_NEAREST_HINT_BYTES]);

#endif
