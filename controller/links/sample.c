/* SPDX-License-Identifier: Apache-2.0 */
/* Reads metrics of one window; the question about load is asked once for all of them. */
#include "controller/links/sample.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "controller/apps/private.h"

#define MODULE      "links"
#define CLIENT      "map" /* whose turn its questions take */
#define DEADLINE_MS 2000  /* who has not answered by then is missing */

/* ---- load ---- */

static int take_group(void *context, const struct pd_tib_record *group)
{
    (void)context;
    (void)group;
    return 0;
}

/* A link that the topology does not have (any more) is nowhere to be drawn. */
static int take_link(void *context, const struct pd_query_sums *sums)
{
    struct pd_link_window *window = context;
    uint32_t link = pd_topology_links_by_ids(window->world->topology, (uint32_t)(sums->key >> 32),
                                             (uint32_t)sums->key, NULL);

    if (link < window->len) {
        window->bytes[link] = sums->bytes;
    }
    return 0;
}

static json_t *question_of(const struct pd_link_window *window)
{
    char from[32], to[32], link[PD_LINKS_TEXT_BYTES];
    json_t *args;

    snprintf(from, sizeof from, "%" PRIu64 ".%06" PRIu64, window->from_us / PD_US_PER_S,
             window->from_us % PD_US_PER_S);
    snprintf(to, sizeof to, "%" PRIu64 ".%06" PRIu64, window->to_us / PD_US_PER_S,
             window->to_us % PD_US_PER_S);
    args = json_pack("{s:s, s:s, s:b}", "from", from, "to", to, "live", 1);
    if (window->only != PD_NONE) {
        const struct pd_topology *topology = window->world->topology;

        snprintf(link, sizeof link, "%u-%u", pd_topology_links_from_id(topology, window->only),
                 pd_topology_links_to_id(topology, window->only));
        json_object_set_new(args, "link", json_string(link));
    }
    return json_pack("{s:s, s:o, s:s, s:i}", "query", "linkLoad", "args", args, "hosts", "all",
                     "deadline_ms", DEADLINE_MS);
}

static int ask(struct pd_link_window *window, struct pd_error *error)
{
    const struct pd_items items = {window, take_group, take_link};
    const struct pd_app_world *world = window->world;
    json_t *question = question_of(window), *answer = NULL;
    int err =
        question ? world->ops->rows(world->context, question, &items, &answer, error) : -ENOMEM;

    if (!err) {
        window->complete &= json_is_true(json_object_get(answer, "complete"));
        window->hosts = json_incref(json_object_get(answer, "hosts"));
    }
    json_decref(question);
    json_decref(answer);
    return err;
}

int pd_link_window_bytes(struct pd_link_window *window, const uint64_t **ret_bytes,
                         struct pd_error *error)
{
    int err = 0;

    if (!window->bytes) {
        window->bytes = calloc((size_t)window->len + 1, sizeof *window->bytes);
        err = window->bytes ? ask(window, error)
                            : pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    *ret_bytes = window->bytes;
    return err;
}

/* ---- metrics ---- */

static void forget(float *values, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++) {
        values[i] = NAN;
    }
}

static void derive(const struct pd_link_window *window, const struct pd_link_metric *metric,
                   const float *of, float *values)
{
    for (uint32_t i = 0; i < window->len; i++) {
        values[i] = metric->derive(window->world, i, of[i]);
    }
}

static int read_metric(struct pd_link_window *window, struct pd_link_sample *sample, unsigned m)
{
    const struct pd_link_metric *metric = pd_link_metrics[m];
    struct pd_error error = {0};
    float *values = calloc((size_t)window->len + 1, sizeof *values);

    sample->values[m] = values;
    if (!values) {
        return -ENOMEM;
    }
    if (metric->of) {
        derive(window, metric, sample->values[pd_link_metric_find(metric->of->name)], values);
        return 0;
    }
    int err = metric->read(window, values, &error);

    if (err) {
        pd_log(PD_LOG_DEBUG, MODULE, NULL, "%s: %s", metric->name, error.text);
        window->complete &= err == -PD_E_NOT_FOUND; /* nobody knows: nothing is missing */
        forget(values, window->len);
    }
    return 0;
}

static int read_all(struct pd_link_window *window, struct pd_link_sample *sample,
                    const struct pd_link_wish *wish)
{
    bool needed[PD_LINK_METRICS_MAX] = {false};
    int err = 0;

    for (unsigned m = 0; pd_link_metrics[m]; m++) {
        needed[m] |= wish->metrics[m];
        if (needed[m] && pd_link_metrics[m]->of) {
            needed[pd_link_metric_find(pd_link_metrics[m]->of->name)] = true;
        }
    }
    for (unsigned m = 0; pd_link_metrics[m] && !err; m++) {
        err = needed[m] ? read_metric(window, sample, m) : 0;
    }
    return err;
}

/* ---- a sample ---- */

uint64_t pd_link_generation(const struct pd_topology *topology)
{
    uint64_t hash = pd_hash_mix(topology->switches_len) ^ topology->fabric_links_len;

    for (uint32_t i = 0; i < topology->switches_len; i++) {
        hash = pd_hash_mix(hash ^ topology->switches[i].id);
    }
    for (uint32_t i = 0; i < topology->fabric_links_len; i++) {
        const struct pd_link *link = &topology->links[i];

        hash = pd_hash_mix(hash ^ ((uint64_t)link->ends[0] << 32 | link->ends[1]));
        hash = pd_hash_mix(hash ^ ((uint64_t)link->ports[0] << 32 | link->ports[1]));
        hash = pd_hash_mix(hash ^ link->mbps);
    }
    return hash >> 11;
}

static int fill(struct pd_controller *controller, const struct pd_apps_world *world,
                const struct pd_link_wish *wish, struct pd_link_sample *sample)
{
    struct pd_link_window window = {.controller = controller,
                                    .world = &world->world,
                                    .from_us = wish->from_us,
                                    .to_us = wish->to_us,
                                    .newest = wish->newest,
                                    .only = wish->only,
                                    .len = 2 * world->world.topology->fabric_links_len,
                                    .complete = true};
    int err;

    sample->inventory = pd_controller_inventory_hold(world->inventory);
    sample->generation = pd_link_generation(world->world.topology);
    sample->len = window.len;
    sample->link_mbps = world->world.link_mbps;
    err = read_all(&window, sample, wish);
    sample->complete = window.complete;
    sample->hosts = window.hosts
                        ? window.hosts
                        : json_pack("{s:i, s:i, s:[]}", "asked", 0, "answered", 0, "missing");
    free(window.bytes);
    return err || sample->hosts ? err : -ENOMEM;
}

int pd_link_sample_take(struct pd_controller *controller, const struct pd_link_wish *wish,
                        struct pd_link_sample **ret_sample)
{
    struct pd_link_sample *sample = calloc(1, sizeof *sample);
    struct pd_apps_world *world = NULL;
    int err = sample ? pd_apps_world_open(controller, CLIENT, &world) : -ENOMEM;

    if (!err) {
        atomic_init(&sample->holders, 1);
        sample->from_us = wish->from_us;
        sample->to_us = wish->to_us;
        err = fill(controller, world, wish, sample);
    }
    pd_apps_world_close(world);
    if (err) {
        pd_link_sample_drop(sample);
        return err;
    }
    *ret_sample = sample;
    return 0;
}

struct pd_app_world pd_link_sample_world(const struct pd_link_sample *sample)
{
    return (struct pd_app_world){.topology = sample->inventory->topology,
                                 .link_mbps = sample->link_mbps};
}

struct pd_link_sample *pd_link_sample_hold(struct pd_link_sample *sample)
{
    atomic_fetch_add_explicit(&sample->holders, 1, memory_order_relaxed);
    return sample;
}

void pd_link_sample_drop(struct pd_link_sample *sample)
{
    if (!sample || atomic_fetch_sub_explicit(&sample->holders, 1, memory_order_acq_rel) > 1) {
        return;
    }
    for (unsigned m = 0; m < PD_LINK_METRICS_MAX; m++) {
        free(sample->values[m]);
    }
    json_decref(sample->hosts);
    pd_controller_inventory_free(sample->inventory);
    free(sample);
}
