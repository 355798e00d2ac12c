/* SPDX-License-Identifier: Apache-2.0 */
/* The switches as a part of the controller: endpoint, topology and codec that it works by, reports,
 * reload. */
#ifndef PD_CONTROLLER_SWITCHES_SERVICE_H
#define PD_CONTROLLER_SWITCHES_SERVICE_H

#include "controller/switches/provider.h"
#include "controller/switches/report.h"

/* When another topology takes the place of the one it works by, the endpoint is closed and opened
 * anew: all switches come again and are compared with the rules of the new one.
 *
 *     struct pd_switch_service_settings settings = {.listen = "tcp:127.0.0.1:6653", .unknown = …};
 *     pd_switch_service_open(topology, &settings, &service, &error);
 *     json_t *document = pd_switch_service_json(service);
 *
 * Without `listen` there is no endpoint: the reports say that all switches are away.
 *
 * Thread safety: reports and packets from any thread; open, reload and close from one. */

struct pd_switch_service_settings {
    /* "tcp:127.0.0.1:6653", "tls:0.0.0.0:6653,unix:/PATH", or NULL; outlives the service */
    const char *listen;
    struct pd_credentials *credentials; /* for TLS; NULL: none; outlive the service */
    enum pd_depth depth;
    void *context;
    /* The own options of a provider that has some; NULL: none are set. */
    const void *(*options)(void *context, const struct pd_switch_provider_ops *ops);
    /* A switch that the topology does not know, at most once a minute for each; NULL: it is logged
     * only. In the endpoint's thread: returns soon. */
    void (*unknown)(void *context, uint64_t datapath_id, const char *peer);
    /* Who says that it is this switch, and has another's certificate; as `unknown`. */
    void (*refused)(void *context, uint32_t switch_id, const char *peer);
    /* The state of a switch is another one; NULL: nobody is told. In the endpoint's thread: returns
     * soon, and calls nothing of the service. */
    void (*changed)(void *context, const struct pd_topology *topology,
                    const struct pd_switch_status *status);
    /* A packet that a switch sent here; NULL: it is only counted. In the endpoint's thread: returns
     * soon, and calls nothing of the service. */
    void (*packet_in)(void *context, const struct pd_switches_packet_in *packet);
};

struct pd_switch_service;

/* The topology stays the caller's and must outlive the service, or be replaced. -PD_E_UNSUPPORTED
 * and the like when it has no codec, what pd_switches_open returns, -ENOMEM. */
int pd_switch_service_open(const struct pd_topology *topology,
                           const struct pd_switch_service_settings *settings,
                           struct pd_switch_service **ret_service, struct pd_error *error);

/* Nothing happens when the topology says the same as the one before. `ret_taken` is always set:
 * whether the service works by the new one from now on and the one before may go. When the endpoint
 * cannot be opened again there is none until the next reload. */
int pd_switch_service_reload(struct pd_switch_service *service, const struct pd_topology *topology,
                             bool *ret_taken, struct pd_error *error);

/* A provider hung when it was to be closed: topologies that the service has worked by have to stay
 * until the process ends. */
bool pd_switch_service_left_behind(const struct pd_switch_service *service);

/* False: one hangs, and what the service has worked by has to stay. NULL is fine. */
bool pd_switch_service_close(struct pd_switch_service *service);

/* The answer of GET /v1/switches; NULL without memory. */
json_t *pd_switch_service_json(struct pd_switch_service *service);

/* Sends a frame through the tables of a switch, as if it had come in at this port. -PD_E_NOT_FOUND:
 * it is not connected; what pd_switches_packet_out returns. */
int pd_switch_service_packet_out(struct pd_switch_service *service, uint32_t switch_id,
                                 uint32_t in_port, const uint8_t *data, size_t bytes);
/* Whether marks of hosts are stopped at a switch; unknown where the topology has none such. */
enum pd_switch_edge pd_switch_service_edge(struct pd_switch_service *service, uint32_t switch_id);
/* What a switch has counted. -PD_E_UNSUPPORTED: its provider cannot say; -PD_E_NOT_FOUND. */
int pd_switch_service_meters(struct pd_switch_service *service, uint32_t switch_id,
                             int (*visit)(void *context, const struct pd_switch_meter *meter),
                             void *context);
void pd_switch_service_metrics(struct pd_switch_service *service, struct pd_metrics *metrics);

/* --dry-run: prints what would change, changes nothing (dry_run.h). */
int pd_switch_service_dry_run(const char *topology_file,
                              const struct pd_switch_service_settings *settings, uint64_t wait_ms,
                              FILE *out, struct pd_error *error);

#endif
