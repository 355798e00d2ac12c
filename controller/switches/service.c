/* SPDX-License-Identifier: Apache-2.0 */
/* Endpoint, topology and codec under one lock, and what is logged of them. */
#include "controller/switches/service.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "controller/switches/dry_run.h"
#include "controller/switches/edge.h"
#include "controller/switches/runner.h"
#include "topology/topology.h"

#define MODULE "switches"

struct pd_switch_service {
    struct pd_switch_service_settings settings;
    struct pd_log_limit away_limit, differing_limit; /* the endpoint's thread only */
    pthread_rwlock_t lock; /* of all below: written while a topology replaces another */
    const struct pd_topology *topology; /* the caller's */
    struct pd_codec *codec;
    struct pd_switch_runner *runners[PD_SWITCH_PROVIDERS_MAX];
    unsigned runners_len;
    bool left_behind; /* a provider hangs: what it works by has to stay */
};

static char *text_of(const struct pd_topology *topology, size_t *ret_bytes)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, ret_bytes);
    if (!out) {
        return NULL;
    }
    bool written = !pd_topology_write(topology, out);
    if (!fclose(out) && written) {
        return text;
    }
    free(text);
    return NULL;
}

static bool is_same(const struct pd_topology *a, const struct pd_topology *b)
{
    size_t a_bytes = 0, b_bytes = 0;
    char *a_text = text_of(a, &a_bytes), *b_text = text_of(b, &b_bytes);
    bool same = a_text && b_text && a_bytes == b_bytes && !memcmp(a_text, b_text, a_bytes);
    free(a_text);
    free(b_text);
    return same;
}

/* ---- what the endpoint tells */

static void tell_unknown(void *context, uint64_t datapath_id, const char *peer)
{
    struct pd_switch_service *service = context;
    pd_log(PD_LOG_WARN, MODULE, NULL,
           "a switch that the topology does not know, datapath ID %" PRIu64
           ", came from %s: nothing is installed there",
           datapath_id, peer);
    if (service->settings.unknown) {
        service->settings.unknown(service->settings.context, datapath_id, peer);
    }
}

static void tell_refused(void *context, uint32_t switch_id, const char *peer)
{
    struct pd_switch_service *service = context;
    pd_log(PD_LOG_ERROR, MODULE, NULL,
           "%s says that it is switch %u, but its certificate is another's: it is refused", peer,
           switch_id);
    if (service->settings.refused) {
        service->settings.refused(service->settings.context, switch_id, peer);
    }
}

static void tell_state(void *context, const struct pd_switch_status *status)
{
    struct pd_switch_service *service = context;
    const char *why = status->last_error[0] ? status->last_error : "its connection ended";
    if (service->settings.changed) {
        service->settings.changed(service->settings.context, service->topology, status);
    }
    if (status->state == PD_SWITCH_AWAY) {
        pd_log_limited(&service->away_limit, PD_LOG_WARN, MODULE, "switch %u is away: %s",
                       status->id, why);
    } else if (status->state == PD_SWITCH_DIFFERING) {
        pd_log_limited(&service->differing_limit, PD_LOG_ERROR, MODULE,
                       "switch %u does not have the %u rules that it should: %u missing, %u "
                       "differing, %u surplus, %u blocked; %s",
                       status->id, status->rules, status->missing, status->differing,
                       status->surplus, status->blocked, status->last_error);
    } else {
        pd_log(PD_LOG_DEBUG, MODULE, NULL, "switch %u is %s, %u rules", status->id,
               pd_switch_state_name(status->state), status->rules);
    }
}

static void tell_packet(void *context, const struct pd_switches_packet_in *packet)
{
    struct pd_switch_service *service = context;
    if (service->settings.packet_in) {
        service->settings.packet_in(service->settings.context, packet);
    }
}

/* ---- open, reload, close */

static struct pd_switch_provider_config config_of(struct pd_switch_service *service,
                                                  const struct pd_switch_provider_ops *ops)
{
    return (struct pd_switch_provider_config){
        .topology = service->topology,
        .codec = service->codec,
        .listen = service->settings.listen,
        .depth = service->settings.depth,
        .options = service->settings.options && ops->options
                       ? service->settings.options(service->settings.context, ops)
                       : NULL,
        .credentials = service->settings.credentials,
        .events = {.context = service,
                   .unknown = tell_unknown,
                   .refused = tell_refused,
                   .state = tell_state,
                   .packet_in = tell_packet},
    };
}

static bool is_wanted(struct pd_switch_service *service, const struct pd_switch_provider_ops *ops)
{
    const struct pd_switch_provider_config config = config_of(service, ops);

    return ops->wanted(&config);
}

static bool any_wanted(struct pd_switch_service *service)
{
    for (size_t i = 0; pd_switch_providers[i]; i++) {
        if (is_wanted(service, pd_switch_providers[i])) {
            return true;
        }
    }
    return false;
}

static void announce(struct pd_switch_service *service, struct pd_switch_runner *runner)
{
    void *provider = pd_switch_runner_provider(runner);
    const struct pd_switch_provider_ops *ops = pd_switch_runner_ops(runner);
    const char *address = provider && ops->address ? ops->address(provider) : NULL;

    if (address) {
        pd_log(PD_LOG_INFO, MODULE, NULL, "%u switches are expected at %s",
               service->topology->switches_len, address);
    }
}

static int open_provider(struct pd_switch_service *service,
                         const struct pd_switch_provider_ops *ops, struct pd_error *error)
{
    const struct pd_switch_provider_config config = config_of(service, ops);
    struct pd_switch_runner **runner = &service->runners[service->runners_len];
    int failed = ops->wanted(&config) ? pd_switch_runner_open(ops, &config, runner, error) : 0;

    if (!failed && *runner) {
        service->runners_len++;
        announce(service, *runner);
    }
    return failed;
}

static void close_providers(struct pd_switch_service *service)
{
    while (service->runners_len) {
        struct pd_switch_runner *runner = service->runners[--service->runners_len];

        service->runners[service->runners_len] = NULL;
        service->left_behind |= !pd_switch_runner_close(runner);
    }
}

/* With the lock held, or before others know of the service. */
static int open_providers(struct pd_switch_service *service, struct pd_error *error)
{
    int failed = 0;

    for (size_t i = 0; pd_switch_providers[i] && !failed; i++) {
        failed = open_provider(service, pd_switch_providers[i], error);
    }
    if (failed) {
        close_providers(service);
    }
    return failed;
}

/* Nothing is programmed by a topology without a codec; the endpoint needs one. */
static int make_codec(struct pd_switch_service *service, const struct pd_topology *topology,
                      struct pd_codec **ret_codec, struct pd_error *error)
{
    if (service->settings.listen) {
        return pd_codec_new(topology, ret_codec, error);
    }
    if (!any_wanted(service) || pd_codec_new(topology, ret_codec, NULL)) {
        *ret_codec = NULL;
    }
    return 0;
}

int pd_switch_service_open(const struct pd_topology *topology,
                           const struct pd_switch_service_settings *settings,
                           struct pd_switch_service **ret_service, struct pd_error *error)
{
    struct pd_switch_service *service = calloc(1, sizeof *service);
    if (!service) {
        return pd_fail(error, -ENOMEM, "switches: no memory");
    }
    service->settings = *settings;
    service->topology = topology;
    pthread_rwlock_init(&service->lock, NULL);
    int failed = make_codec(service, topology, &service->codec, error);
    if (!failed) {
        failed = open_providers(service, error);
    }
    if (failed) {
        pd_switch_service_close(service);
    } else {
        *ret_service = service;
    }
    return failed;
}

int pd_switch_service_reload(struct pd_switch_service *service, const struct pd_topology *topology,
                             bool *ret_taken, struct pd_error *error)
{
    struct pd_codec *codec = NULL;
    bool works = service->runners_len || !any_wanted(service);
    *ret_taken = false;
    if (works && is_same(service->topology, topology)) {
        return 0;
    }
    int failed = make_codec(service, topology, &codec, error);
    if (failed) {
        return failed;
    }
    pthread_rwlock_wrlock(&service->lock);
    close_providers(service);
    if (!service->left_behind) {
        pd_codec_free(service->codec);
    }
    service->codec = codec;
    service->topology = topology;
    *ret_taken = true;
    failed = open_providers(service, error);
    pthread_rwlock_unlock(&service->lock);
    return failed;
}

bool pd_switch_service_left_behind(const struct pd_switch_service *service)
{
    return service && service->left_behind;
}

/* What a provider that hangs was left behind with stays until the process ends. */
bool pd_switch_service_close(struct pd_switch_service *service)
{
    if (!service) {
        return true;
    }
    close_providers(service);
    if (service->left_behind) {
        return false;
    }
    pd_codec_free(service->codec);
    pthread_rwlock_destroy(&service->lock);
    free(service);
    return true;
}

/* With the lock held: the provider that has the switch now. NULL: none has. */
static struct pd_switch_runner *runner_of(struct pd_switch_service *service, uint32_t index,
                                          struct pd_switch_status *ret_status)
{
    for (unsigned i = 0; i < service->runners_len; i++) {
        pd_switch_runner_status(service->runners[i], index, ret_status);
        if (ret_status->state != PD_SWITCH_AWAY) {
            return service->runners[i];
        }
    }
    return NULL;
}

int pd_switch_service_packet_out(struct pd_switch_service *service, uint32_t switch_id,
                                 uint32_t in_port, const uint8_t *data, size_t bytes)
{
    struct pd_switch_status status;
    pthread_rwlock_rdlock(&service->lock);
    uint32_t index = pd_topology_switch(service->topology, switch_id);
    struct pd_switch_runner *runner = index == PD_NONE ? NULL : runner_of(service, index, &status);
    int failed = runner ? pd_switch_runner_packet_out(runner, switch_id, in_port, data, bytes)
                        : -PD_E_NOT_FOUND;
    pthread_rwlock_unlock(&service->lock);
    return failed;
}

enum pd_switch_edge pd_switch_service_edge(struct pd_switch_service *service, uint32_t switch_id)
{
    enum pd_switch_edge edge = PD_SWITCH_EDGE_UNKNOWN;
    pthread_rwlock_rdlock(&service->lock);
    uint32_t index = pd_topology_switch(service->topology, switch_id);
    if (index != PD_NONE) {
        struct pd_switch_status status;
        edge = runner_of(service, index, &status)
                   ? status.edge
                   : pd_switch_edge_of(service->topology, index, NULL);
    }
    pthread_rwlock_unlock(&service->lock);
    return edge;
}

/* ---- reports */

/* With the lock held. NULL: there is none, or it is not open. */
static struct pd_switches *endpoint_of(struct pd_switch_service *service)
{
    for (unsigned i = 0; i < service->runners_len; i++) {
        if (pd_switch_runner_ops(service->runners[i]) == &pd_switch_openflow) {
            return pd_switch_runner_provider(service->runners[i]);
        }
    }
    return NULL;
}

/* Switches that another provider has, and all providers: only where there is another one. */
static void add_others(struct pd_switch_service *service, json_t *document)
{
    json_t *list = json_object_get(document, "switches"), *providers = json_array();

    for (uint32_t i = 0; i < service->topology->switches_len; i++) {
        struct pd_switch_status status;
        struct pd_switch_runner *runner = runner_of(service, i, &status);
        json_t *json = runner && pd_switch_runner_ops(runner) != &pd_switch_openflow
                           ? pd_switch_status_json(service->topology, &status)
                           : NULL;

        if (json) {
            json_object_set_new(json, "provider", json_string(pd_switch_runner_ops(runner)->name));
            json_array_set_new(list, i, json);
        }
    }
    for (unsigned i = 0; i < service->runners_len; i++) {
        json_array_append_new(providers,
                              json_pack("{s:s, s:s}", "name",
                                        pd_switch_runner_ops(service->runners[i])->name, "state",
                                        pd_switch_runner_state(service->runners[i])));
    }
    json_object_set_new(document, "providers", providers);
}

json_t *pd_switch_service_json(struct pd_switch_service *service)
{
    pthread_rwlock_rdlock(&service->lock);
    struct pd_switches *endpoint = endpoint_of(service);
    json_t *document = pd_switches_json(endpoint, service->topology);
    if (document && service->runners_len > (endpoint != NULL)) {
        add_others(service, document);
    }
    pthread_rwlock_unlock(&service->lock);
    return document;
}

void pd_switch_service_metrics(struct pd_switch_service *service, struct pd_metrics *metrics)
{
    pthread_rwlock_rdlock(&service->lock);
    pd_switches_metrics(endpoint_of(service), service->topology, metrics);
    pthread_rwlock_unlock(&service->lock);
}

int pd_switch_service_meters(struct pd_switch_service *service, uint32_t switch_id,
                             int (*visit)(void *context, const struct pd_switch_meter *meter),
                             void *context)
{
    struct pd_switch_status status;
    pthread_rwlock_rdlock(&service->lock);
    uint32_t index = pd_topology_switch(service->topology, switch_id);
    struct pd_switch_runner *runner = index == PD_NONE ? NULL : runner_of(service, index, &status);
    int failed =
        runner ? pd_switch_runner_meters(runner, switch_id, visit, context) : -PD_E_NOT_FOUND;
    pthread_rwlock_unlock(&service->lock);
    return failed;
}

int pd_switch_service_dry_run(const char *topology_file,
                              const struct pd_switch_service_settings *wanted, uint64_t wait_ms,
                              FILE *out, struct pd_error *error)
{
    struct pd_switches_settings settings = {
        .listen = wanted->listen, .credentials = wanted->credentials, .depth = wanted->depth};
    struct pd_topology *topology = NULL;
    struct pd_codec *codec = NULL;
    if (!wanted->listen) {
        return pd_fail(error, -PD_E_VALUE,
                       "--dry-run says what would change on switches: give --openflow");
    }
    int failed = pd_topology_read(topology_file, &topology, error);
    if (!failed) {
        failed = pd_codec_new(topology, &codec, error);
    }
    if (!failed) {
        failed = pd_switches_dry_run(codec, &settings, wait_ms, out, error);
    }
    pd_codec_free(codec);
    pd_topology_free(topology);
    return failed;
}
