/* SPDX-License-Identifier: Apache-2.0 */
/* Orders to hosts: made with the lock, given without it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "controller/probes/private.h"
#include "daemon/count.h"
#include "fleet/collect.h"

#define MODULE       "probes"
#define ATTEMPT_NS   (2 * PD_NS_PER_S)
#define AT_ONCE      64
#define ANSWER_BYTES (1u << 20)
#define REFUSALS_MAX 7u /* then 20 minutes */

/* One request to some hosts. */
struct errand {
    const char *method;
    struct pd_inventory *inventory; /* held: URLs are its */
    struct one {
        uint32_t id;
        char *url, *body;
        uint64_t hash; /* of the ways in the body */
    } *hosts;
    struct pd_collected *got; /* by host; once it has run */
    size_t len;
};

static void errand_done(struct errand *errand)
{
    for (size_t i = 0; i < errand->len; i++) {
        free(errand->hosts[i].url);
        free(errand->hosts[i].body);
    }
    if (errand->got) {
        pd_fleet_collected_done(errand->got, errand->len);
    }
    free(errand->got);
    free(errand->hosts);
}

/* 0, or -ENOMEM: then there is nothing of any host. */
static int run(struct errand *errand)
{
    const struct pd_fanout_request request = {.method = errand->method,
                                              .route = "/v1/probes",
                                              .type = "application/json",
                                              .accept = "application/json",
                                              .deadline_ns = pd_clock_monotonic_ns() + ATTEMPT_NS,
                                              .max_bytes = ANSWER_BYTES,
                                              .at_once = AT_ONCE,
                                              .cancelled = &pd_probes.cancelled};

    errand->got = calloc(errand->len + 1, sizeof *errand->got);
    for (size_t i = 0; errand->got && i < errand->len; i++) {
        errand->got[i] =
            (struct pd_collected){.url = errand->hosts[i].url, .body = errand->hosts[i].body};
    }
    return errand->got
               ? pd_fleet_collect(pd_probes.fanout, &request, errand->got, errand->len, NULL, NULL)
               : -ENOMEM;
}

/* With the lock. */
static struct pd_probes_host *find_host(uint32_t id)
{
    for (size_t i = 0; i < pd_probes.hosts_len; i++) {
        if (pd_probes.hosts[i].id == id) {
            return &pd_probes.hosts[i];
        }
    }
    return NULL;
}

static int add_host(struct errand *errand, const struct pd_probes_host *host, char *body,
                    uint64_t hash)
{
    struct one *one = &errand->hosts[errand->len];
    char *url = strdup(host->url);

    if (!url) {
        free(body);
        return -ENOMEM;
    }
    *one = (struct one){.id = host->id, .url = url, .body = body, .hash = hash};
    errand->len++;
    return 0;
}

/* ---- who can take part ---- */

static void note_able(const struct pd_collected *got, struct pd_probes_host *host, bool *changed)
{
    json_t *status = got->error.code ? NULL : json_loadb(got->answer, got->len, 0, NULL);
    bool able = json_is_true(json_object_get(status, "able"));

    json_decref(status);
    *changed |= able != host->able;
    host->able = able;
    host->heard_ns = able ? pd_clock_monotonic_ns() : 0;
    snprintf(host->reason, sizeof host->reason, "%.110s",
             got->error.code ? got->error.text
             : able          ? ""
                             : "it has no live intake, or does not know its ID");
}

int pd_probes_ask_hosts(bool all, bool *ret_changed)
{
    const uint64_t now_ns = pd_clock_monotonic_ns();
    struct errand errand = {.method = "GET"};
    int err = 0;

    *ret_changed = false;
    pthread_mutex_lock(&pd_probes.lock);
    errand.hosts = calloc(pd_probes.hosts_len + 1, sizeof *errand.hosts);
    err = errand.hosts ? 0 : -ENOMEM;
    for (size_t i = 0; i < pd_probes.hosts_len && !err; i++) {
        if (all || (!pd_probes.hosts[i].able && now_ns >= pd_probes.hosts[i].again_ns)) {
            err = add_host(&errand, &pd_probes.hosts[i], NULL, 0);
        }
    }
    pthread_mutex_unlock(&pd_probes.lock);
    err = err ? err : run(&errand);
    pthread_mutex_lock(&pd_probes.lock);
    for (size_t i = 0; i < errand.len && !err; i++) {
        struct pd_probes_host *host = find_host(errand.hosts[i].id);

        if (host) {
            note_able(&errand.got[i], host, ret_changed);
        }
    }
    pthread_mutex_unlock(&pd_probes.lock);
    errand_done(&errand);
    return err;
}

/* ---- orders ---- */

json_t *pd_probes_path_json(const struct pd_probe_way *way)
{
    json_t *path = json_array();

    for (uint32_t i = 1; i + 1 < way->nodes_len; i++) {
        json_array_append_new(path, json_integer(way->nodes[i]));
    }
    return path;
}

static json_t *way_json(const struct pd_probe_way *way)
{
    return json_pack("{s:I, s:o, s:I, s:I, s:b}", "number", (json_int_t)way->number, "path",
                     pd_probes_path_json(way), "from_host", (json_int_t)way->nodes[0], "to_host",
                     (json_int_t)way->nodes[way->nodes_len - 1], "isolates", way->isolates);
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = (*(struct pd_probe_way *const *)a)->number;
    uint32_t y = (*(struct pd_probe_way *const *)b)->number;

    return (x > y) - (x < y);
}

/* Those of a host, ascending, and a hash that changes with them. NULL: no memory. */
static json_t *ways_of(uint32_t host, uint64_t *ret_hash)
{
    size_t most = pd_probe_watch_ways_len(pd_probes.watch), len = 0;
    struct pd_probe_way **own = calloc(most + 1, sizeof(void *)), *way;
    json_t *list = own ? json_array() : NULL;

    *ret_hash = pd_probes.plan;
    for (size_t i = 0; own && (way = pd_probe_watch_way(pd_probes.watch, i)); i++) {
        if (way->src == host || way->dst == host) {
            own[len++] = way;
        }
    }
    if (own) {
        qsort(own, len, sizeof(void *), by_number);
    }
    for (size_t i = 0; i < len; i++) {
        json_array_append_new(list, way_json(own[i]));
        *ret_hash = pd_hash_mix(*ret_hash ^ (own[i]->number + 1));
    }
    free(own);
    return list;
}

static void key_text(char text[2 * PD_SIPHASH_KEY_BYTES + 1])
{
    for (size_t i = 0; i < PD_SIPHASH_KEY_BYTES; i++) {
        snprintf(text + 2 * i, 3, "%02x", pd_probes.key[i]);
    }
}

static char *body_of(json_t *ways, uint32_t hold_from)
{
    char key[2 * PD_SIPHASH_KEY_BYTES + 1];
    char *text;

    key_text(key);
    json_t *document = json_pack(
        "{s:I, s:I, s:s, s:I, s:I, s:s, s:O, s:I}", "plan", (json_int_t)pd_probes.plan, "order",
        (json_int_t)pd_probes.order, "carrier", pd_probes.carrier->name, "rate_hz",
        (json_int_t)pd_probes.rate_hz, "lease_ms", (json_int_t)PD_PROBES_LEASE_MS, "key", key,
        "ways", ways, "hold_from", (json_int_t)hold_from);
    text = document ? json_dumps(document, JSON_COMPACT) : NULL;
    json_decref(document);
    return text;
}

/* With the lock: who has to be told. */
static int make_orders(struct errand *errand, bool all, uint32_t hold_from)
{
    int err =
        (errand->hosts = calloc(pd_probes.hosts_len + 1, sizeof *errand->hosts)) ? 0 : -ENOMEM;

    for (size_t i = 0; i < pd_probes.hosts_len && !err; i++) {
        const struct pd_probes_host *host = &pd_probes.hosts[i];
        uint64_t hash = 0;
        json_t *ways = host->able ? ways_of(host->index, &hash) : NULL;

        if (ways && (all || hash != host->told)) {
            char *body = body_of(ways, hold_from);
            err = body ? add_host(errand, host, body, hash) : -ENOMEM;
        }
        json_decref(ways);
    }
    return err;
}

/* A host that cannot be told is none that takes part. Each time it is left alone for twice as long:
 * its coming and going is a new plan for all. */
static void note_told(const struct one *one, const struct pd_error *error, bool last)
{
    struct pd_probes_host *host = find_host(one->id);

    pd_count(error->code ? &pd_probes_counts.orders_failed : &pd_probes_counts.orders, 1);
    if (!host) {
        return;
    }
    if (!error->code) {
        host->told = last ? one->hash : host->told;
        host->overruled = false;
        host->refusals = last ? 0 : host->refusals;
        return;
    }
    snprintf(host->reason, sizeof host->reason, "%.110s", error->text);
    host->able = false;
    host->told = 0;
    host->again_ns = pd_clock_monotonic_ns() + (PD_PROBES_AGAIN_NS << host->refusals);
    host->refusals += host->refusals < REFUSALS_MAX;
    pd_probes.replan = true;
    host->overruled = error->code == -PD_E_CONFLICT && !strncmp(error->text, "plan:", 5);
}

/* Another controller has told most hosts. What a few say is left out: one that lies would end the
 * probes of all. */
static bool is_overruled(void)
{
    size_t others = 0, ours = 0;

    for (size_t i = 0; i < pd_probes.hosts_len; i++) {
        others += pd_probes.hosts[i].overruled;
        ours += pd_probes.hosts[i].able;
    }
    return others > ours;
}

static int give(bool all, bool last, uint32_t *numbers)
{
    struct errand errand = {.method = "POST"};
    struct pd_probe_way *way;

    pthread_mutex_lock(&pd_probes.lock);
    bool on = pd_probes.on && pd_probes.watch;
    pd_probes.order++;
    for (size_t i = 0; on && !last && (way = pd_probe_watch_way(pd_probes.watch, i)); i++) {
        *numbers = way->number >= *numbers ? way->number + 1 : *numbers;
    }
    int err = on ? make_orders(&errand, all, last ? *numbers : pd_probes.ordered) : 0;
    pthread_mutex_unlock(&pd_probes.lock);
    err = err ? err : run(&errand);
    pthread_mutex_lock(&pd_probes.lock);
    for (size_t i = 0; i < errand.len && !err; i++) {
        note_told(&errand.hosts[i], &errand.got[i].error, last);
    }
    pd_probes.overruled |= is_overruled();
    if (last && *numbers > pd_probes.ordered) {
        pd_probes.ordered = *numbers;
    }
    pthread_mutex_unlock(&pd_probes.lock);
    errand_done(&errand);
    return err;
}

/* What is new begins to be sent when all that collect it have been told; what came up meanwhile
 * waits for the next time. */
int pd_probes_give_orders(bool all)
{
    uint32_t numbers = 0;
    int err = give(all, false, &numbers);

    return err ? err : give(all, true, &numbers);
}

void pd_probes_end_all(void)
{
    struct errand errand = {.method = "DELETE"};
    int err;

    pthread_mutex_lock(&pd_probes.lock);
    errand.hosts = calloc(pd_probes.hosts_len + 1, sizeof *errand.hosts);
    err = errand.hosts ? 0 : -ENOMEM;
    for (size_t i = 0; i < pd_probes.hosts_len && !err; i++) {
        if (pd_probes.hosts[i].able) {
            err = add_host(&errand, &pd_probes.hosts[i], NULL, 0);
        }
    }
    pthread_mutex_unlock(&pd_probes.lock);
    if (!err) {
        run(&errand);
    }
    errand_done(&errand);
}
