/* SPDX-License-Identifier: Apache-2.0 */
/* A running controller: its parts and the HTTP server in front of them, from start to end. */
#ifndef PD_CONTROLLER_SERVER_H
#define PD_CONTROLLER_SERVER_H

#include "controller/controller.h"
#include "http/listen.h"
#include "http/server.h"

/* Two programs run one: pathdump-controller, whose world is the fleet, and `pathdump simulate
 * --serve`, whose world is the simulator.
 *
 *     struct pd_controller_server server;
 *     pd_controller_server_init(&server, &settings);
 *     err = pd_controller_server_open(&server, inventory, &error);
 *     if (!err) { err = pd_controller_server_serve(&server, &error); }
 *     …
 *     pd_controller_server_close(&server);
 *
 * Thread safety: the main thread alone, with signals held (daemon/signals.h). */

struct pd_controller_server {
    struct pd_controller controller;
    struct pd_listener listener;
    struct pd_http *http;
    struct pd_parts parts;
};

/* `settings` stay the caller's, and as they are until the end. */
void pd_controller_server_init(struct pd_controller_server *server,
                               const struct pd_controller_settings *settings);

/* What is refused comes before what leaves traces. The inventory becomes the server's, also after
 * an error; NULL: read from the files that the settings name. Negative errors in words. */
int pd_controller_server_open(struct pd_controller_server *server, struct pd_inventory *inventory,
                              struct pd_error *error);

/* Requests are answered from now on. */
int pd_controller_server_serve(struct pd_controller_server *server, struct pd_error *error);

/* What POST /v1/watches does, but for the file: gone with the process. `watch`: its body. */
int pd_controller_server_watch(struct pd_controller_server *server, const json_t *watch,
                               struct pd_error *error);

/* Also what was opened half. */
void pd_controller_server_close(struct pd_controller_server *server);

#endif
