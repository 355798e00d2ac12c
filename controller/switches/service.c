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
#include "topology/topology.h"

#define MODULE "switches"

struct pd_switch_service {
    struct pd_switch_service_settings settings;
    struct pd_log_limit away_limit, differing_limit; /* the endpoint's thread only */
    pthread_rwlock_t lock; /* of all below: written while a topology replaces another */
    const struct pd_topology *topology; /* the caller's */
    struct pd_codec *codec;
    struct pd_switches *switches; /* NULL: no endpoint */
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

/* With the lock held, or before others know of the service. */
static int open_endpoint(struct pd_switch_service *service, struct pd_error *error)
{
    struct pd_switches_settings settings = {
        .listen = service->settings.listen,
        .depth = service->settings.depth,
        .context = service,
        .on_unknown = tell_unknown,
        .on_state = tell_state,
        .on_packet_in = tell_packet,
    };
    if (!settings.listen) {
        return 0;
    }
    int failed = pd_switches_open(service->codec, &settings, &service->switches, error);
    if (!failed) {
        pd_log(PD_LOG_INFO, MODULE, NULL, "%u switches are expected at %s",
               service->topology->switches_len, pd_switches_address(service->switches));
    }
    return failed;
}

static void close_endpoint(struct pd_switch_service *service)
{
    pd_switches_close(service->switches);
    service->switches = NULL;
}

int pd_switch_service_open(const struct pd_topology *topology,
                           const struct pd_switch_service_settings *settings,
                           struct pd_switch_service **ret_service, struct pd_error *error)
{
    struct pd_switch_service *service = calloc(1, sizeof *service);
    if (!service) {
        return pd_fail(error, -ENOMEM, "switches: out of memory");
    }
    service->settings = *settings;
    service->topology = topology;
    pthread_rwlock_init(&service->lock, NULL);
    int failed = settings->listen ? pd_codec_new(topology, &service->codec, error) : 0;
    if (!failed) {
        failed = open_endpoint(service, error);
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
    bool works = service->switches || !service->settings.listen;
    *ret_taken = false;
    if (works && is_same(service->topology, topology)) {
        return 0;
    }
    int failed = service->settings.listen ? pd_codec_new(topology, &codec, error) : 0;
    if (failed) {
        return failed;
    }
    pthread_rwlock_wrlock(&service->lock);
    close_endpoint(service);
    pd_codec_free(service->codec);
    service->codec = codec;
    service->topology = topology;
    *ret_taken = true;
    failed = open_endpoint(service, error);
    pthread_rwlock_unlock(&service->lock);
    return failed;
}

void pd_switch_service_close(struct pd_switch_service *service)
{
    if (!service) {
        return;
    }
    close_endpoint(service);
    pd_codec_free(service->codec);
    pthread_rwlock_destroy(&service->lock);
    free(service);
}

int pd_switch_service_packet_out(struct pd_switch_service *service, uint32_t switch_id,
                                 uint32_t in_port, const uint8_t *data, size_t bytes)
{
    pthread_rwlock_rdlock(&service->lock);
    int failed = service->switches ? pd_switches_packet_out(service->switches, switch_id, in_port,
                                                            PD_SWITCHES_PORT_TABLE, data, bytes)
                                   : -PD_E_NOT_FOUND;
    pthread_rwlock_unlock(&service->lock);
    return failed;
}

/* ---- reports */

json_t *pd_switch_service_json(struct pd_switch_service *service)
{
    pthread_rwlock_rdlock(&service->lock);
    json_t *document = pd_switches_json(service->switches, service->topology);
    pthread_rwlock_unlock(&service->lock);
    return document;
}

void pd_switch_service_metrics(struct pd_switch_service *service, struct pd_metrics *metrics)
{
    pthread_rwlock_rdlock(&service->lock);
    pd_switches_metrics(service->switches, service->topology, metrics);
    pthread_rwlock_unlock(&service->lock);
}

int pd_switch_service_dry_run(const char *topology_file, const char *listen, enum pd_depth depth,
                              uint64_t wait_ms, FILE *out, struct pd_error *error)
{
    struct pd_switches_settings settings = {.listen = listen, .depth = depth};
    struct pd_topology *topology = NULL;
    struct pd_codec *codec = NULL;
    if (!listen) {
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
