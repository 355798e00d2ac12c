/* SPDX-License-Identifier: Apache-2.0 */
/* Kept windows: rows of what is not 0, and minutes made of them. */
#include "controller/links/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Values of one metric: all of them (`links` NULL), or of some links, ascending. */
struct row {
    uint32_t len;
    uint32_t *links;
    float *values;
};

struct pd_link_kept {
    TAILQ_ENTRY(pd_link_kept) entry;
    uint64_t from_us, to_us, bytes;
    uint32_t len;
    struct row rows[PD_LINK_METRICS_MAX];
};

/* ---- one window ---- */

static void kept_free(struct pd_link_kept *kept)
{
    for (unsigned m = 0; kept && m < PD_LINK_METRICS_MAX; m++) {
        free(kept->rows[m].links);
        free(kept->rows[m].values);
    }
    free(kept);
}

static bool fill_row(struct row *row, const float *values, uint32_t len, uint32_t some)
{
    bool all = some > len / 2;

    row->values = malloc((all ? len : some) * sizeof *row->values + 1);
    row->links = all ? NULL : malloc(some * sizeof *row->links + 1);
    if (!row->values || (!all && !row->links)) {
        return false;
    }
    for (uint32_t i = 0; i < len; i++) {
        if (all) {
            row->values[row->len++] = values[i];
        } else if (values[i] != 0) {
            row->links[row->len] = i;
            row->values[row->len++] = values[i];
        }
    }
    return true;
}

static bool keep_row(struct pd_link_kept *kept, unsigned m, const float *values)
{
    struct row *row = &kept->rows[m];
    uint32_t some = 0;

    for (uint32_t i = 0; i < kept->len; i++) {
        some += values[i] != 0;
    }
    if (!fill_row(row, values, kept->len, some)) {
        return false;
    }
    kept->bytes += row->len * (sizeof *row->values + (row->links ? sizeof *row->links : 0));
    return true;
}

static struct pd_link_kept *kept_new(uint64_t from_us, uint64_t to_us, uint32_t len)
{
    struct pd_link_kept *kept = calloc(1, sizeof *kept);

    if (kept) {
        kept->from_us = from_us;
        kept->to_us = to_us;
        kept->len = len;
        kept->bytes = sizeof *kept;
    }
    return kept;
}

static bool is_kept(unsigned m)
{
    return !pd_link_metrics[m]->of;
}

static struct pd_link_kept *keep_sample(const struct pd_link_sample *sample)
{
    struct pd_link_kept *kept = kept_new(sample->from_us, sample->to_us, sample->len);
    bool good = kept != NULL;

    for (unsigned m = 0; pd_link_metrics[m] && good; m++) {
        if (is_kept(m) && sample->values[m]) {
            good = keep_row(kept, m, sample->values[m]);
        }
    }
    if (!good) {
        kept_free(kept);
        return NULL;
    }
    return kept;
}

static int compare_links(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static float value_of(const struct pd_link_kept *kept, unsigned m, uint32_t link)
{
    const struct row *row = &kept->rows[m];
    const uint32_t *at;

    if (link >= kept->len || !row->values) {
        return NAN;
    }
    if (!row->links) {
        return row->values[link];
    }
    at = bsearch(&link, row->links, row->len, sizeof link, compare_links);
    return at ? row->values[at - row->links] : 0;
}

/* ---- several windows ---- */

/* Adds what a window says of its part. */
static float fold(enum pd_link_fold how, float sum, float value, double share)
{
    return how == PD_LINK_MEAN ? sum + (float)((double)value * share) : fmaxf(sum, value);
}

/* Whether windows that adjoin cover [from, to) exactly; they begin at *ret_first. */
static bool covers(const struct pd_link_kept_list *list, uint64_t from_us, uint64_t to_us,
                   struct pd_link_kept **ret_first)
{
    uint64_t at_us = from_us;
    struct pd_link_kept *kept;

    *ret_first = NULL;
    TAILQ_FOREACH(kept, list, entry)
    {
        if (kept->to_us <= from_us) {
            continue;
        }
        if (kept->from_us != at_us) {
            return false;
        }
        *ret_first = *ret_first ? *ret_first : kept;
        at_us = kept->to_us;
        if (at_us >= to_us) {
            break;
        }
    }
    return at_us == to_us;
}

static float value_over(struct pd_link_kept *first, unsigned m, uint32_t link, uint64_t from_us,
                        uint64_t to_us)
{
    float value = 0;

    for (struct pd_link_kept *kept = first; kept && kept->from_us < to_us;
         kept = TAILQ_NEXT(kept, entry)) {
        double share = (double)(kept->to_us - kept->from_us) / (double)(to_us - from_us);

        value = fold(pd_link_metrics[m]->fold, value, value_of(kept, m, link), share);
    }
    return value;
}

bool pd_link_history_value(const struct pd_link_history *history, uint64_t generation, unsigned m,
                           uint32_t link, uint64_t from_us, uint64_t to_us, float *ret_value)
{
    struct pd_link_kept *first;

    if (!history->begun || history->generation != generation ||
        (!covers(&history->fine, from_us, to_us, &first) &&
         !covers(&history->minutes, from_us, to_us, &first))) {
        return false;
    }
    *ret_value = value_over(first, m, link, from_us, to_us);
    return true;
}

/* ---- minutes ---- */

static bool fold_minute(struct pd_link_kept *minute, struct pd_link_kept *first, unsigned m,
                        float *values)
{
    memset(values, 0, minute->len * sizeof *values);
    for (struct pd_link_kept *kept = first; kept && kept->from_us < minute->to_us;
         kept = TAILQ_NEXT(kept, entry)) {
        double share = (double)(kept->to_us - kept->from_us) / PD_LINK_HISTORY_MINUTE_US;

        for (uint32_t i = 0; i < minute->len; i++) {
            values[i] = fold(pd_link_metrics[m]->fold, values[i], value_of(kept, m, i), share);
        }
    }
    return keep_row(minute, m, values);
}

static void add_minute(struct pd_link_history *history, uint64_t to_us, uint32_t len)
{
    uint64_t from_us = to_us - PD_LINK_HISTORY_MINUTE_US;
    struct pd_link_kept *first, *minute = NULL;
    float *values = NULL;
    bool good = to_us > from_us && covers(&history->fine, from_us, to_us, &first);

    if (good) {
        values = malloc(len * sizeof *values + 1);
        minute = kept_new(from_us, to_us, len);
        good = values && minute;
    }
    for (unsigned m = 0; pd_link_metrics[m] && good; m++) {
        good = !is_kept(m) || fold_minute(minute, first, m, values);
    }
    free(values);
    if (!good) {
        kept_free(minute);
        return;
    }
    TAILQ_INSERT_TAIL(&history->minutes, minute, entry);
    history->bytes += minute->bytes;
}

/* ---- the list ---- */

static void drop_first(struct pd_link_history *history, struct pd_link_kept_list *list)
{
    struct pd_link_kept *kept = TAILQ_FIRST(list);

    TAILQ_REMOVE(list, kept, entry);
    history->bytes -= kept->bytes;
    kept_free(kept);
}

static void drop_older(struct pd_link_history *history, struct pd_link_kept_list *list,
                       uint64_t now_us, uint64_t age_us)
{
    while (!TAILQ_EMPTY(list) && TAILQ_FIRST(list)->from_us + age_us < now_us) {
        drop_first(history, list);
    }
}

static void make_room(struct pd_link_history *history)
{
    while (history->bytes > PD_LINK_HISTORY_BYTES) {
        drop_first(history, TAILQ_EMPTY(&history->minutes) ? &history->fine : &history->minutes);
        history->dropped++;
    }
}

void pd_link_history_done(struct pd_link_history *history)
{
    if (!history->begun) {
        return;
    }
    while (!TAILQ_EMPTY(&history->fine)) {
        drop_first(history, &history->fine);
    }
    while (!TAILQ_EMPTY(&history->minutes)) {
        drop_first(history, &history->minutes);
    }
    history->begun = false;
}

/* A clock that was set back, or other links: what was is of no use. */
static void begin(struct pd_link_history *history, const struct pd_link_sample *sample)
{
    if (history->begun && history->generation == sample->generation &&
        (TAILQ_EMPTY(&history->fine) ||
         TAILQ_LAST(&history->fine, pd_link_kept_list)->to_us <= sample->from_us)) {
        return;
    }
    pd_link_history_done(history);
    history->begun = true;
    history->generation = sample->generation;
    TAILQ_INIT(&history->fine);
    TAILQ_INIT(&history->minutes);
}

void pd_link_history_push(struct pd_link_history *history, const struct pd_link_sample *sample)
{
    struct pd_link_kept *kept = keep_sample(sample);

    if (!kept) {
        history->dropped++;
        return;
    }
    begin(history, sample);
    TAILQ_INSERT_TAIL(&history->fine, kept, entry);
    history->bytes += kept->bytes;
    if (sample->to_us / PD_LINK_HISTORY_MINUTE_US != sample->from_us / PD_LINK_HISTORY_MINUTE_US) {
        add_minute(history, sample->to_us - sample->to_us % PD_LINK_HISTORY_MINUTE_US, sample->len);
    }
    drop_older(history, &history->fine, sample->to_us, PD_LINK_HISTORY_FINE_US);
    drop_older(history, &history->minutes, sample->to_us, PD_LINK_HISTORY_COARSE_US);
    make_room(history);
}
