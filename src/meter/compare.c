/* SPDX-License-Identifier: Apache-2.0 */
/* Sent less received, flow by flow and epoch by epoch. */
#include "meter/compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *pd_meter_why_text(enum pd_meter_why why)
{
    static const char *const texts[] = {
        [PD_METER_MEASURED] = "measured",
        [PD_METER_STRAY] = "it came to a monitor without a rule for it",
        [PD_METER_COLLIDED] = "no clean bucket",
        [PD_METER_DISAGREE] = "its clean buckets disagree",
        [PD_METER_UNREAD] = "the far end has no meter of this epoch",
        [PD_METER_PATHLESS] = "nothing arrived, and its path was not seen before",
    };
    return texts[why];
}

/* ---- order: clean ones by flow, stretch and epoch first, then dirty ones ---- */

static int compare_stretches(const struct pd_meter_entry *a, const struct pd_meter_entry *b)
{
    const int order = memcmp(&a->flow, &b->flow, sizeof a->flow);

    return order ? order : (a->from > b->from) - (a->from < b->from);
}

static int compare_keys(const struct pd_meter_entry *a, const struct pd_meter_entry *b)
{
    const int order = compare_stretches(a, b);

    return order ? order : (a->epoch > b->epoch) - (a->epoch < b->epoch);
}

static int by_flow(const void *a, const void *b)
{
    const struct pd_meter_entry *x = a, *y = b;

    if (x->dirty != y->dirty) {
        return x->dirty - y->dirty;
    }
    const int order = x->dirty ? 0 : compare_keys(x, y);
    return order ? order : (x->reading > y->reading) - (x->reading < y->reading);
}

static int strays_by_flow(const void *a, const void *b)
{
    const struct pd_meter_stray *x = a, *y = b;
    const int order = memcmp(&x->flow, &y->flow, sizeof x->flow);

    return order ? order : (x->epoch > y->epoch) - (x->epoch < y->epoch);
}

/* By place: reading, epoch, row, bucket. */
static int by_place(const void *a, const void *b)
{
    const struct pd_meter_entry *x = *(const struct pd_meter_entry *const *)a;
    const struct pd_meter_entry *y = *(const struct pd_meter_entry *const *)b;

    if (x->reading != y->reading) {
        return x->reading < y->reading ? -1 : 1;
    }
    if (x->epoch != y->epoch) {
        return x->epoch < y->epoch ? -1 : 1;
    }
    if (x->row != y->row) {
        return x->row < y->row ? -1 : 1;
    }
    return (x->bucket > y->bucket) - (x->bucket < y->bucket);
}

struct comparer {
    const struct pd_meter_readings *all;
    const struct pd_meter_compare *compare;
    const struct pd_meter_entry **places; /* all entries by place */
    /* Of the flow at hand: its path in an epoch before. */
    const struct pd_meter_entry *stretch;
    bool seen;
    uint64_t filter;
};

/* ---- one flow in one epoch ---- */

/* Sum of one role: every clean bucket of one reading has to say the same. */
struct side {
    bool found, disagrees;
    uint32_t reading;
    uint64_t pkts, filter;
};

static void add_to_side(struct side *side, const struct pd_meter_entry *entry)
{
    if (!side->found) {
        *side = (struct side){
            .found = true, .reading = entry->reading, .pkts = entry->pkts, .filter = entry->filter};
        return;
    }
    side->disagrees |= entry->reading != side->reading || entry->pkts != side->pkts ||
                       entry->filter != side->filter;
}

static bool is_stray(const struct comparer *c, const struct pd_meter_result *result)
{
    const struct pd_meter_stray key = {.epoch = result->epoch, .flow = result->flow};

    return c->all->strays_len && bsearch(&key, c->all->strays, c->all->strays_len,
                                         sizeof *c->all->strays, strays_by_flow);
}

static const struct pd_meter_entry *entry_at(const struct comparer *c,
                                             const struct pd_meter_entry *place)
{
    const struct pd_meter_entry *const *found =
        bsearch(&place, c->places, c->all->entries_len, sizeof(void *), by_place);

    return found ? *found : NULL;
}

static bool has_epoch(const struct comparer *c, uint32_t reading, uint64_t epoch)
{
    const struct pd_meter_reading *meter = &c->all->readings[reading];
    size_t low = 0, high = c->all->entries_len;

    if (meter->one_epoch && meter->epoch == epoch) {
        return true;
    }
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct pd_meter_entry *at = c->places[middle];
        const bool before = at->reading != reading ? at->reading < reading : at->epoch < epoch;
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    return low < c->all->entries_len && c->places[low]->reading == reading &&
           c->places[low]->epoch == epoch;
}

/* Had a packet of the flow come here, each of its buckets would be its own, or dirty. */
static bool nothing_came(const struct comparer *c, const struct pd_meter_result *result,
                         uint32_t reading)
{
    const struct pd_meter_reading *meter = &c->all->readings[reading];

    for (uint8_t row = 0; row < meter->rows; row++) {
        const struct pd_meter_entry place = {.epoch = result->epoch,
                                             .reading = reading,
                                             .row = row,
                                             .bucket =
                                                 pd_meter_place(&result->flow, row, meter->width)};
        const struct pd_meter_entry *entry = entry_at(c, &place);

        if (!entry || (!entry->dirty && !pd_flow_id_equal(&entry->flow, &result->flow))) {
            return true;
        }
    }
    return false;
}

/* No clean bucket downstream: lost whole only where every meter at the end of its path, of this
 * epoch, proves that nothing came. */
static enum pd_meter_why judge_missing(const struct comparer *c,
                                       const struct pd_meter_result *result)
{
    bool read = false;

    for (uint32_t i = 0; i < c->all->len; i++) {
        const struct pd_meter_reading *meter = &c->all->readings[i];

        if (!meter->downstream ||
            !c->compare->ends_at(c->compare->context, &result->flow, result->from,
                                 meter->monitor) ||
            !has_epoch(c, i, result->epoch)) {
            continue;
        }
        read = true;
        if (!nothing_came(c, result, i)) {
            return PD_METER_COLLIDED;
        }
    }
    return !read ? PD_METER_UNREAD : !c->seen ? PD_METER_PATHLESS : PD_METER_MEASURED;
}

static void judge(const struct comparer *c, const struct side *sent, const struct side *received,
                  struct pd_meter_result *result)
{
    if (is_stray(c, result)) {
        result->why = PD_METER_STRAY;
    } else if (sent->disagrees || received->disagrees) {
        result->why = PD_METER_DISAGREE;
    } else if (received->found) {
        result->filter = received->filter;
        result->more_received = received->pkts > sent->pkts;
        result->lost = result->more_received ? 0 : sent->pkts - received->pkts;
    } else {
        result->why = judge_missing(c, result);
        result->filter = c->filter;
        result->lost = sent->pkts;
    }
    result->sent = sent->pkts;
}

/* The clean entries [first, end) are of one flow and epoch. */
static int compare_one(struct comparer *c, size_t first, size_t end)
{
    const struct pd_meter_entry *entries = c->all->entries;
    struct pd_meter_result result = {
        .flow = entries[first].flow, .epoch = entries[first].epoch, .from = entries[first].from};
    struct side sent = {.found = false}, received = {.found = false};

    if (!c->stretch || compare_stretches(c->stretch, &entries[first])) {
        c->stretch = &entries[first];
        c->seen =
            c->compare->seen_before &&
            c->compare->seen_before(c->compare->context, &result.flow, result.from, &c->filter);
    }
    for (size_t i = first; i < end; i++) {
        const bool downstream = c->all->readings[entries[i].reading].downstream;
        add_to_side(downstream ? &received : &sent, &entries[i]);
    }
    int err = 0;
    if (sent.found) {
        judge(c, &sent, &received, &result);
        err = c->compare->result(c->compare->context, &result);
    }
    if (received.found && !received.disagrees) {
        c->seen = true;
        c->filter = received.filter;
    }
    return err;
}

static int compare_all(struct comparer *c)
{
    const struct pd_meter_entry *entries = c->all->entries;
    const size_t len = c->all->entries_len;
    int err = 0;

    for (size_t first = 0, end; first < len && !entries[first].dirty && !err; first = end) {
        for (end = first + 1;
             end < len && !entries[end].dirty && !compare_keys(&entries[end], &entries[first]);) {
            end++;
        }
        err = compare_one(c, first, end);
    }
    return err;
}

int pd_meter_compare(struct pd_meter_readings *readings, const struct pd_meter_compare *compare)
{
    struct comparer c = {.all = readings, .compare = compare};

    c.places = malloc((readings->entries_len + 1) * sizeof(void *));
    if (!c.places) {
        return -ENOMEM;
    }
    if (readings->entries_len) {
        qsort(readings->entries, readings->entries_len, sizeof *readings->entries, by_flow);
    }
    for (size_t i = 0; i < readings->entries_len; i++) {
        c.places[i] = &readings->entries[i];
    }
    if (readings->entries_len) {
        qsort(c.places, readings->entries_len, sizeof(void *), by_place);
    }
    if (readings->strays_len) {
        qsort(readings->strays, readings->strays_len, sizeof *readings->strays, strays_by_flow);
    }
    const int err = compare_all(&c);
    free(c.places);
    return err;
}
