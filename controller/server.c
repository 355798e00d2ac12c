/* SPDX-License-Identifier: Apache-2.0 */
/* Start and end of a controller, in this order and back. */
#include "controller/server.h"

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "controller/apps/apps.h"
#include "controller/rest.h"

void pd_controller_server_init(struct pd_controller_server *server,
                               const struct pd_controller_settings *settings)
{
    *server = (struct pd_controller_server){
        .controller = {.settings = settings, .state = {.fd = -1, .lock_fd = -1}},
        .listener = {.fd = -1},
        .parts = {.list = pd_controller_parts},
    };
    server->parts.daemon = &server->controller;
}

/* ---- start ---- */

static int open_hosts(struct pd_controller_server *server, struct pd_inventory *inventory,
                      struct pd_error *error)
{
    const struct pd_controller_settings *settings = server->controller.settings;
    int err = inventory ? 0
                        : pd_controller_inventory_read(settings->topology, settings->hosts,
                                                       &inventory, error);

    if (err) {
        return err;
    }
    err = pd_controller_hosts_new(inventory, &server->controller.hosts);
    if (err) {
        pd_controller_inventory_free(inventory);
    }
    return err;
}

static int open_parts(struct pd_controller_server *server, struct pd_error *error)
{
    struct pd_controller *controller = &server->controller;

    controller->fanout = pd_fleet_fanout_new();
    if (!controller->fanout) {
        return -ENOMEM;
    }
    pd_fleet_fanout_use(controller->fanout, controller->credentials);
    return pd_daemon_parts_open(&server->parts, pd_controller_joined(), controller->settings,
                                error);
}

int pd_controller_server_open(struct pd_controller_server *server, struct pd_inventory *inventory,
                              struct pd_error *error)
{
    struct pd_controller *controller = &server->controller;
    const struct pd_controller_settings *settings = controller->settings;
    int err;

    controller->started_ns = pd_clock_monotonic_ns();
    if (gethostname(controller->host, sizeof controller->host - 1)) {
        controller->host[0] = '\0';
    }
    err = pd_http_credentials_new(&settings->common.credentials, &controller->credentials, error);
    if (err) {
        pd_controller_inventory_free(inventory);
        return err;
    }
    err = open_hosts(server, inventory, error);
    if (!err) {
        err = pd_daemon_open_listen(&settings->common, settings->listen, &server->listener, error);
    }
    if (!err) {
        err = pd_controller_state_open(settings->state, &controller->state, error);
    }
    if (!err) {
        err = open_parts(server, error);
    }
    return err ? err : pd_daemon_parts_start(&server->parts, error);
}

int pd_controller_server_serve(struct pd_controller_server *server, struct pd_error *error)
{
    const struct pd_controller_settings *settings = server->controller.settings;
    struct pd_http_service service = pd_controller_service(&server->controller);
    int err;

    service.credentials = server->controller.credentials;
    service.allowed_hosts = settings->common.allowed_host;
    service.answer_budget_bytes = settings->common.answer_budget_bytes;
    err = pd_http_start(&service, &server->listener, &server->http);
    return err ? pd_fail(error, err, "listen: %s: %s", settings->listen, pd_error_text(err)) : 0;
}

int pd_controller_server_watch(struct pd_controller_server *server, const json_t *watch,
                               struct pd_error *error)
{
    return pd_apps_watch(&server->controller, watch, error);
}

/* ---- end ---- */

void pd_controller_server_close(struct pd_controller_server *server)
{
    struct pd_controller *controller = &server->controller;

    atomic_store_explicit(&controller->stopping, true, memory_order_relaxed);
    pd_daemon_parts_stop(&server->parts);
    pd_http_stop(server->http);
    pd_http_listen_close(&server->listener);
    pd_daemon_parts_close(&server->parts);
    if (controller->fanout) {
        pd_fleet_fanout_free(controller->fanout);
    }
    pd_http_credentials_free(controller->credentials);
    pd_controller_hosts_free(controller->hosts);
    pd_controller_state_close(&controller->state);
}
