/* SPDX-License-Identifier: Apache-2.0 */
/* Events of link metrics: made once, sent to all streams. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/links/private.h"

#define STEP 0.01 /* of the scale: what has changed by less is not told */

const char *pd_link_value_text(float value, char text[PD_LINK_VALUE_BYTES])
{
    if (!isfinite(value)) {
        return "null";
    }
    snprintf(text, PD_LINK_VALUE_BYTES, "%.9g", (double)value);
    return text;
}

/* ---- what has changed ---- */

struct scale {
    const struct pd_link_metric *metric;
    struct pd_app_world world;
    double largest; /* for links without a scale of their own */
};

static struct scale scale_of(const struct pd_link_sample *sample, unsigned m)
{
    struct scale scale = {pd_link_metrics[m], pd_link_sample_world(sample),
                          pd_link_metrics[m]->max};

    for (uint32_t i = 0; !scale.metric->max && i < sample->len; i++) {
        scale.largest = fmax(scale.largest, (double)sample->values[m][i]);
    }
    return scale;
}

static bool has_changed(const struct scale *scale, uint32_t link, float was, float is)
{
    double own = scale->metric->scale ? scale->metric->scale(&scale->world, link) : 0;

    if (isnan(was) || isnan(is)) {
        return isnan(was) != isnan(is);
    }
    return was != is && fabs((double)is - (double)was) >= STEP * (own > 0 ? own : scale->largest);
}

/* ---- texts ---- */

static void write_head(const struct pd_link_sample *sample, unsigned m, bool full, FILE *out)
{
    fprintf(out,
            "{\"metric\":\"%s\",\"from_us\":%" PRIu64 ",\"to_us\":%" PRIu64
            ",\"generation\":%" PRIu64 ",\"complete\":%s,\"full\":%s,\"values\":[",
            pd_link_metrics[m]->name, sample->from_us, sample->to_us, sample->generation,
            sample->complete ? "true" : "false", full ? "true" : "false");
}

static void write_value(const struct pd_link_sample *sample, uint32_t link, float value, bool first,
                        FILE *out)
{
    char name[PD_LINKS_TEXT_BYTES], text[PD_LINK_VALUE_BYTES];

    fprintf(out, "%s[\"%s\",%s]", first ? "" : ",",
            pd_topology_links_format(sample->inventory->topology, link, name),
            pd_link_value_text(value, text));
}

/* The full text has all that is not 0; the other one what is 0 now, too. */
static void write_values(struct pd_link_texts *texts, const struct pd_link_sample *sample,
                         unsigned m, bool full, FILE *out)
{
    const struct scale scale = scale_of(sample, m);
    const float *values = sample->values[m];
    bool first = true;

    for (uint32_t i = 0; i < sample->len; i++) {
        if (full ? values[i] != 0 : has_changed(&scale, i, texts->sent[i], values[i])) {
            write_value(sample, i, values[i], first, out);
            texts->sent[i] = full ? texts->sent[i] : values[i];
            first = false;
        }
    }
}

static bool make_text(struct pd_link_texts *texts, const struct pd_link_sample *sample, unsigned m,
                      bool full, struct pd_link_text *text)
{
    FILE *out;

    free(text->bytes);
    *text = (struct pd_link_text){0};
    out = open_memstream(&text->bytes, &text->len);
    if (!out) {
        return false;
    }
    write_head(sample, m, full, out);
    write_values(texts, sample, m, full, out);
    fputs("]}", out);
    if (fclose(out)) {
        return false;
    }
    text->number = sample->number;
    return true;
}

/* What streams have from the sample before is the base of what has changed; without one, streams
 * get everything, and that is the base of the next. */
static bool rebase(struct pd_link_texts *texts, const struct pd_link_sample *sample, unsigned m)
{
    if (texts->sent_len != sample->len || !texts->sent) {
        free(texts->sent);
        texts->sent = malloc(sample->len * sizeof *texts->sent + 1);
        texts->sent_len = texts->sent ? sample->len : 0;
    }
    if (!texts->sent) {
        return false;
    }
    memcpy(texts->sent, sample->values[m], sample->len * sizeof *texts->sent);
    texts->sent_number = sample->number;
    return true;
}

/* Brings the base to the newest sample, once for each. */
static bool follow(struct pd_link_texts *texts, const struct pd_link_sample *sample, unsigned m)
{
    if (texts->sent_number == sample->number) {
        return true;
    }
    if (texts->sent && texts->sent_len == sample->len && texts->sent_number + 1 == sample->number &&
        make_text(texts, sample, m, false, &texts->changed)) {
        texts->sent_number = sample->number;
        return true;
    }
    return rebase(texts, sample, m);
}

const struct pd_link_text *pd_links_text(struct pd_links *links, unsigned m, bool full)
{
    const struct pd_link_sample *sample = links->newest;
    struct pd_link_texts *texts = &links->texts[m];

    if (!sample || !sample->values[m] || !follow(texts, sample, m)) {
        return NULL;
    }
    if (!full) {
        return texts->changed.number == sample->number ? &texts->changed : NULL;
    }
    if (texts->full.number != sample->number && !make_text(texts, sample, m, true, &texts->full)) {
        return NULL;
    }
    return &texts->full;
}

void pd_links_texts_done(struct pd_links *links)
{
    for (unsigned m = 0; m < PD_LINK_METRICS_MAX; m++) {
        free(links->texts[m].full.bytes);
        free(links->texts[m].changed.bytes);
        free(links->texts[m].sent);
    }
}
