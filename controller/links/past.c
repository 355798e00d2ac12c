/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/links/{id}/history and /v1/links/image: values of times that are over. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "controller/links/wanted.h"
#include "controller/routes.h"

#define STEPS_MAX 3600u
#define ASKED_MAX 240u /* steps for which hosts are asked, of one request */
#define RECENT_US PD_LINK_HISTORY_FINE_US
#define STEP_US   PD_LINK_HISTORY_MINUTE_US

/* ---- which steps ---- */

/* The last hour by minutes, or the last minutes by the map's period. */
static void fill_in(struct pd_links *links, struct pd_links_wanted *wanted)
{
    uint64_t now_us = pd_links_now_us(links->controller), span_us;

    if (!wanted->has_to) {
        wanted->to_us = now_us;
    }
    if (!wanted->has_from) {
        span_us =
            wanted->step_us && wanted->step_us < STEP_US ? RECENT_US : PD_LINK_HISTORY_COARSE_US;
        wanted->from_us = wanted->to_us > span_us ? wanted->to_us - span_us : 0;
    }
    if (!wanted->step_us) {
        wanted->step_us = wanted->to_us - wanted->from_us <= RECENT_US ? links->period_us : STEP_US;
    }
}

/* Whole steps, so that they are those that are kept. */
static int align(struct pd_links_wanted *wanted, uint64_t *ret_steps, struct pd_error *error)
{
    if (wanted->from_us >= wanted->to_us) {
        return pd_fail(error, -PD_E_VALUE, "to: expects a time after from");
    }
    wanted->from_us -= wanted->from_us % wanted->step_us;
    wanted->to_us -= wanted->to_us % wanted->step_us;
    if (wanted->to_us <= wanted->from_us) {
        wanted->to_us = wanted->from_us + wanted->step_us;
    }
    *ret_steps = (wanted->to_us - wanted->from_us) / wanted->step_us;
    return *ret_steps <= STEPS_MAX
               ? 0
               : pd_fail(error, -PD_E_VALUE, "step_ms: that makes %" PRIu64 " steps, more than %u",
                         *ret_steps, STEPS_MAX);
}

/* ---- history ---- */

struct past {
    struct pd_links *links;
    const struct pd_links_wanted *wanted;
    struct pd_inventory *inventory;
    uint32_t link; /* its number */
    uint64_t generation, asked;
    bool complete;
};

static bool is_kept(const struct past *past, unsigned m, uint64_t from_us, uint64_t to_us,
                    float *ret_value)
{
    const struct pd_link_metric *metric = pd_link_metrics[m];
    unsigned base = metric->of ? pd_link_metric_find(metric->of->name) : m;
    bool kept;

    pthread_mutex_lock(&past->links->lock);
    kept = pd_link_history_value(&past->links->history, past->generation, base, past->link, from_us,
                                 to_us, ret_value);
    pthread_mutex_unlock(&past->links->lock);
    if (kept && metric->of) {
        const struct pd_app_world world = {.topology = past->inventory->topology,
                                           .link_mbps = pd_links_mbps(past->links->controller)};

        *ret_value = metric->derive(&world, past->link, *ret_value);
    }
    return kept;
}

/* What is not kept, from the hosts' TIBs. */
static int ask(struct past *past, unsigned m, uint64_t from_us, uint64_t to_us, float *ret_value)
{
    struct pd_link_wish wish = {.from_us = from_us, .to_us = to_us, .only = past->link};
    struct pd_link_sample *sample;
    int err;

    if (!pd_link_metrics[m]->from_records || past->asked++ >= ASKED_MAX) {
        *ret_value = NAN;
        return 0;
    }
    wish.metrics[m] = true;
    err = pd_link_sample_take(past->links->controller, &wish, &sample);
    if (err) {
        return err;
    }
    *ret_value = past->link < sample->len ? sample->values[m][past->link] : NAN;
    past->complete &= sample->complete;
    pd_count(&pd_links_samples, 1);
    pd_count(&pd_links_asked,
             (uint64_t)json_integer_value(json_object_get(sample->hosts, "asked")));
    pd_link_sample_drop(sample);
    return 0;
}

static int write_step(struct past *past, uint64_t from_us, bool first, struct pd_answer *answer)
{
    uint64_t to_us = from_us + past->wanted->step_us;
    unsigned m = past->wanted->metric;
    char text[PD_LINK_VALUE_BYTES], word[PD_LINK_VALUE_BYTES + 1];
    float value;
    int err = is_kept(past, m, from_us, to_us, &value) ? 0 : ask(past, m, from_us, to_us, &value);

    if (err) {
        return err;
    }
    snprintf(word, sizeof word, "%s%s", first ? "" : ",", pd_link_value_text(value, text));
    return pd_http_answer_write(answer, word, strlen(word));
}

static int write_history(struct past *past, struct pd_answer *answer)
{
    const struct pd_links_wanted *wanted = past->wanted;
    const struct pd_link_metric *metric = pd_link_metrics[wanted->metric];
    char name[PD_LINKS_TEXT_BYTES], text[256];
    int len = snprintf(text, sizeof text,
                       "{\"link\":\"%s\",\"metric\":\"%s\",\"unit\":\"%s\",\"from_us\":%" PRIu64
                       ",\"to_us\":%" PRIu64 ",\"step_ms\":%" PRIu64 ",\"values\":[",
                       pd_topology_links_format(past->inventory->topology, past->link, name),
                       metric->name, metric->unit, wanted->from_us, wanted->to_us,
                       wanted->step_us / 1000);
    int err = pd_http_answer_write(answer, text, (size_t)len);

    for (uint64_t at_us = wanted->from_us; at_us < wanted->to_us && !err;
         at_us += wanted->step_us) {
        err = write_step(past, at_us, at_us == wanted->from_us, answer);
    }
    if (err) {
        return err;
    }
    len = snprintf(text, sizeof text, "],\"complete\":%s,\"generation\":%" PRIu64 "}",
                   past->complete && past->asked <= ASKED_MAX ? "true" : "false", past->generation);
    err = pd_http_answer_write(answer, text, (size_t)len);
    return err ? err : pd_http_answer_finish(answer);
}

static int find_link(const struct pd_topology *topology, const char *text, uint32_t *ret_link,
                     struct pd_error *error)
{
    uint32_t len;
    int err = pd_topology_links_parse(topology, text, ret_link, &len);

    if (!err && *ret_link < 2 * topology->fabric_links_len) {
        return 0;
    }
    pd_fail(error, -PD_E_NOT_FOUND, "there is no link \"%.40s\" between switches", text);
    pd_printable(error->text);
    return -PD_E_NOT_FOUND;
}

int pd_links_history_answer(struct pd_controller *controller, struct pd_call *call,
                            struct pd_answer *answer, struct pd_problem *problem)
{
    struct pd_links_wanted wanted;
    struct past past = {.links = controller->links, .wanted = &wanted, .complete = true};
    uint64_t steps;
    int err = pd_links_read_wanted(call, "metric from to step_ms", &wanted, problem);

    if (!err && wanted.metrics_len != 1) {
        return pd_fail(&problem->error, -PD_E_VALUE, "metric: expects one link metric");
    }
    if (!err) {
        fill_in(past.links, &wanted);
        err = align(&wanted, &steps, &problem->error);
    }
    if (err) {
        return err;
    }
    past.inventory = pd_controller_hosts_inventory(controller->hosts);
    past.generation = pd_link_generation(past.inventory->topology);
    err = find_link(past.inventory->topology, call->id, &past.link, &problem->error);
    if (!err) {
        err = write_history(&past, answer);
    }
    pd_controller_inventory_free(past.inventory);
    return err;
}

/* ---- images ---- */

static int check_image(const struct pd_topology *topology, const struct pd_links_wanted *wanted,
                       uint64_t steps, struct pd_error *error)
{
    uint64_t switches = topology->switches_len;

    if (wanted->metrics_len != 1) {
        return pd_fail(error, -PD_E_VALUE, "metric: expects one link metric");
    }
    if (steps > ASKED_MAX || steps * switches * switches * sizeof(float) > PD_LINKS_IMAGE_BYTES) {
        return pd_fail(error, -PD_E_VALUE,
                       "step_ms: %" PRIu64 " steps of %" PRIu64
                       " switches are more than this form holds",
                       steps, switches);
    }
    return 0;
}

static int take_steps(struct pd_links *links, const struct pd_links_wanted *wanted, size_t steps,
                      struct pd_link_sample **samples, size_t *ret_len)
{
    struct pd_link_wish wish = {.only = PD_NONE};
    int err = 0;

    wish.metrics[wanted->metric] = true;
    for (*ret_len = 0; *ret_len < steps && !err; *ret_len += !err) {
        wish.from_us = wanted->from_us + *ret_len * wanted->step_us;
        wish.to_us = wish.from_us + wanted->step_us;
        err = pd_link_sample_take(links->controller, &wish, &samples[*ret_len]);
    }
    return err;
}

static int write_image(struct pd_link_sample *const *samples, size_t len,
                       const struct pd_links_wanted *wanted, struct pd_answer *answer)
{
    switch (wanted->form) {
    case PD_LINKS_NPY:
        answer->type = "application/x-npy";
        return pd_links_npy(samples, len, wanted->metric, answer);
    case PD_LINKS_JSON: return pd_links_image_json(samples, len, wanted->metric, answer);
    case PD_LINKS_PNG: break;
    }
    answer->type = "image/png";
    return pd_links_png(samples[0], wanted->metric, answer);
}

static int answer_steps(struct pd_links *links, const struct pd_links_wanted *wanted,
                        uint64_t steps, struct pd_answer *answer)
{
    struct pd_link_sample **samples = calloc(steps, sizeof(void *));
    size_t len = 0;
    int err = samples ? 0 : -ENOMEM;

    if (!err) {
        err = take_steps(links, wanted, steps, samples, &len);
    }
    for (size_t i = 1; i < len && !err; i++) {
        err = samples[i]->generation == samples[0]->generation ? 0 : -PD_E_BUSY;
    }
    if (!err) {
        err = write_image(samples, len, wanted, answer);
    }
    while (len) {
        pd_link_sample_drop(samples[--len]);
    }
    free(samples);
    return err ? err : pd_http_answer_finish(answer);
}

static int answer_now(struct pd_links *links, const struct pd_links_wanted *wanted,
                      struct pd_answer *answer)
{
    struct pd_link_sample *sample;
    int err = pd_links_newest(links, &sample);

    if (err) {
        return err;
    }
    err = write_image(&sample, 1, wanted, answer);
    pd_link_sample_drop(sample);
    return err ? err : pd_http_answer_finish(answer);
}

/* A picture is of one window; without a step all forms are. */
int pd_links_image_answer(struct pd_controller *controller, struct pd_call *call,
                          struct pd_answer *answer, struct pd_problem *problem)
{
    struct pd_links *links = controller->links;
    struct pd_inventory *inventory;
    struct pd_links_wanted wanted;
    uint64_t steps = 1;
    int err = pd_links_read_wanted(call, "metric from to step_ms format", &wanted, problem);
    bool now = !err && !wanted.has_from && !wanted.has_to;

    if (err) {
        return err;
    }
    if (!now) {
        bool whole = wanted.form == PD_LINKS_PNG || !wanted.step_us;

        fill_in(links, &wanted);
        wanted.step_us = whole ? wanted.to_us - wanted.from_us : wanted.step_us;
        err = whole ? 0 : align(&wanted, &steps, &problem->error);
    }
    inventory = pd_controller_hosts_inventory(controller->hosts);
    if (!err) {
        err = check_image(inventory->topology, &wanted, steps, &problem->error);
    }
    pd_controller_inventory_free(inventory);
    if (err) {
        return err;
    }
    return now ? answer_now(links, &wanted, answer) : answer_steps(links, &wanted, steps, answer);
}
