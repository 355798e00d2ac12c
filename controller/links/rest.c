/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/links and what is below it, and link metrics as a part of the controller. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/wait.h"
#include "controller/apps/private.h"
#include "controller/links/links.h"
#include "controller/links/wanted.h"
#include "controller/routes.h"

#define BINARY_TYPE "application/vnd.pathdump.links"
#define WINDOW_US   (10 * PD_US_PER_S) /* of who names one end alone */

/* ---- the table ---- */

static json_t *metric_json(const struct pd_link_metric *metric, uint64_t period_us)
{
    return json_pack("{s:s, s:s, s:o, s:I, s:s}", "name", metric->name, "unit", metric->unit, "max",
                     metric->max > 0 ? json_real(metric->max) : json_null(), "period_ms",
                     (json_int_t)(period_us / 1000), "help", metric->help);
}

int pd_links_metrics_answer(struct pd_controller *controller, struct pd_call *call,
                            struct pd_answer *answer, struct pd_problem *problem)
{
    json_t *list = json_array();

    (void)call;
    (void)problem;
    for (unsigned m = 0; pd_link_metrics[m]; m++) {
        json_array_append_new(list, metric_json(pd_link_metrics[m], controller->links->period_us));
    }
    pd_http_answer_json(answer, 200, answer->type, json_pack("{s:o}", "metrics", list));
    return 0;
}

/* ---- samples ---- */

static bool is_of_now(const struct pd_links_wanted *wanted)
{
    bool of_now = true;

    for (unsigned m = 0; pd_link_metrics[m]; m++) {
        of_now &= !wanted->metrics[m] || pd_link_metrics[m]->of_now;
    }
    return of_now;
}

/* For whoever wants nothing but what is known at once. */
static int take_now(struct pd_links *links, const struct pd_links_wanted *wanted,
                    struct pd_link_sample **ret_sample)
{
    struct pd_link_wish wish = {
        .newest = true, .only = PD_NONE, .to_us = pd_links_now_us(links->controller)};

    wish.from_us = wish.to_us > links->period_us ? wish.to_us - links->period_us : 0;
    memcpy(wish.metrics, wanted->metrics, sizeof wish.metrics);
    pd_count(&pd_links_samples, 1);
    return pd_link_sample_take(links->controller, &wish, ret_sample);
}

/* One that is asked for, or the newest. */
static int take(struct pd_links *links, struct pd_links_wanted *wanted,
                struct pd_link_sample **ret_sample)
{
    struct pd_link_wish wish = {.only = PD_NONE};

    if (!wanted->has_from && !wanted->has_to && is_of_now(wanted)) {
        return take_now(links, wanted, ret_sample);
    }
    if (!wanted->has_from && !wanted->has_to) {
        return pd_links_newest(links, ret_sample);
    }
    if (!wanted->has_to) {
        uint64_t now_us = pd_links_now_us(links->controller);

        wanted->to_us = now_us > wanted->from_us ? now_us : wanted->from_us + WINDOW_US;
    }
    if (!wanted->has_from) {
        wanted->from_us = wanted->to_us > WINDOW_US ? wanted->to_us - WINDOW_US : 0;
    }
    wish.from_us = wanted->from_us;
    wish.to_us = wanted->to_us > wanted->from_us ? wanted->to_us : wanted->from_us + 1;
    memcpy(wish.metrics, wanted->metrics, sizeof wish.metrics);
    pd_count(&pd_links_samples, 1);
    int err = pd_link_sample_take(links->controller, &wish, ret_sample);

    if (!err) {
        pd_count(&pd_links_asked,
                 (uint64_t)json_integer_value(json_object_get((*ret_sample)->hosts, "asked")));
    }
    return err;
}

/* ---- GET /v1/links ---- */

static bool is_told(const struct pd_link_sample *sample, const struct pd_links_wanted *wanted,
                    uint32_t link)
{
    bool told = false;

    for (unsigned m = 0; pd_link_metrics[m]; m++) {
        told |= wanted->metrics[m] && sample->values[m][link] == sample->values[m][link] &&
                sample->values[m][link] != 0;
    }
    return told;
}

static int write_link(const struct pd_link_sample *sample, const struct pd_links_wanted *wanted,
                      uint32_t link, bool first, struct pd_answer *answer)
{
    char name[PD_LINKS_TEXT_BYTES], value[PD_LINK_VALUE_BYTES], row[1024];
    int len = snprintf(row, sizeof row, "%s{\"link\":\"%s\"", first ? "" : ",",
                       pd_topology_links_format(sample->inventory->topology, link, name));

    for (unsigned m = 0; pd_link_metrics[m]; m++) {
        if (wanted->metrics[m]) {
            len += snprintf(row + len, sizeof row - (size_t)len, ",\"%s\":%s",
                            pd_link_metrics[m]->name,
                            pd_link_value_text(sample->values[m][link], value));
        }
    }
    row[len++] = '}';
    return pd_http_answer_write(answer, row, (size_t)len);
}

static int write_tail(const struct pd_link_sample *sample, struct pd_answer *answer)
{
    char *hosts = json_dumps(sample->hosts, JSON_COMPACT), *text = NULL;
    int len = hosts ? asprintf(&text,
                               "],\"from_us\":%" PRIu64 ",\"to_us\":%" PRIu64
                               ",\"complete\":%s,\"generation\":%" PRIu64 ",\"hosts\":%s}",
                               sample->from_us, sample->to_us, sample->complete ? "true" : "false",
                               sample->generation, hosts)
                    : -1;
    int err = len < 0 ? -ENOMEM : pd_http_answer_write(answer, text, (size_t)len);

    free(len < 0 ? NULL : text);
    free(hosts);
    return err;
}

static int write_links(const struct pd_link_sample *sample, const struct pd_links_wanted *wanted,
                       struct pd_answer *answer)
{
    int err = pd_http_answer_write(answer, "{\"links\":[", 10);
    bool first = true;

    for (uint32_t i = 0; i < sample->len && !err; i++) {
        if (is_told(sample, wanted, i)) {
            err = write_link(sample, wanted, i, first, answer);
            first = false;
        }
    }
    if (!err) {
        err = write_tail(sample, answer);
    }
    return err ? err : pd_http_answer_finish(answer);
}

int pd_links_answer(struct pd_controller *controller, struct pd_call *call,
                    struct pd_answer *answer, struct pd_problem *problem)
{
    const char *accept = call->http->accept;
    bool binary = accept && strstr(accept, BINARY_TYPE);
    struct pd_links_wanted wanted;
    struct pd_link_sample *sample;
    int err = pd_links_read_wanted(call, "metrics from to", &wanted, problem);

    if (!err && binary && wanted.metrics_len != 1) {
        err = pd_fail(&problem->error, -PD_E_VALUE, "metrics: this form has exactly one");
    }
    if (!err) {
        err = take(controller->links, &wanted, &sample);
    }
    if (err) {
        return err;
    }
    answer->type = binary ? BINARY_TYPE : answer->type;
    err = binary ? pd_links_binary(sample, wanted.metric, answer)
                 : write_links(sample, &wanted, answer);
    pd_link_sample_drop(sample);
    return err;
}

/* ---- the part ---- */

static int open_links(void *daemon, const void *given, struct pd_error *error)
{
    struct pd_controller *controller = daemon;
    const struct pd_links_options *options = given;
    struct pd_links *links = calloc(1, sizeof *links);

    if (!links) {
        return pd_fail(error, -ENOMEM, "links: %s", pd_error_text(-ENOMEM));
    }
    links->controller = controller;
    links->period_us = options->period_ms * 1000;
    pthread_mutex_init(&links->lock, NULL);
    pd_wait_init(&links->changed);
    controller->links = links;
    return 0;
}

static int start_links(void *daemon, struct pd_error *error)
{
    struct pd_controller *controller = daemon;
    struct pd_links *links = controller->links;
    int err = pd_apps_thread(&links->thread, pd_links_work, links);

    if (err) {
        return pd_fail(error, err, "links: %s", pd_error_text(err));
    }
    pthread_setname_np(links->thread, "pd-links");
    links->started = true;
    return 0;
}

static void reload_links(void *daemon)
{
    const struct pd_controller *controller = daemon;

    pd_links_forget(controller->links);
}

static void stop_links(void *daemon)
{
    const struct pd_controller *controller = daemon;

    pthread_mutex_lock(&controller->links->lock);
    controller->links->stopping = true;
    pthread_cond_broadcast(&controller->links->changed);
    pthread_mutex_unlock(&controller->links->lock);
}

static void end_links(void *daemon)
{
    const struct pd_controller *controller = daemon;

    stop_links(daemon);
    if (controller->links->started) {
        pthread_join(controller->links->thread, NULL);
    }
}

static void close_links(void *daemon)
{
    struct pd_controller *controller = daemon;

    if (!controller->links) {
        return;
    }
    pd_links_topology_done(&controller->links->topology);
    pd_links_done(controller->links);
    free(controller->links);
    controller->links = NULL;
}

static const struct pd_option rows[] = {
    {.section = "map",
     .name = "map-period",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct pd_links_options, period_ms),
     .min = 100,
     .max = 60000,
     .value = "MS",
     .fallback = "2000",
     .help = "how often link metrics are taken while somebody looks, in milliseconds"},
    {0},
};

static const struct pd_part_counter counters[] = {
    {.name = "samples", .help = "times that link metrics were taken", .value = &pd_links_samples},
    {.name = "hosts_asked",
     .help = "hosts that were asked for link metrics, again and again",
     .value = &pd_links_asked},
    {0},
};

const struct pd_part pd_links_part = {
    .name = "links",
    .options = rows,
    .options_bytes = sizeof(struct pd_links_options),
    .counters = counters,
    .open = open_links,
    .start = start_links,
    .reload = reload_links,
    .stop = stop_links,
    .end = end_links,
    .close = close_links,
};
