/* SPDX-License-Identifier: Apache-2.0 */
/* From a request to its answer. */
#ifndef PD_CONTROLLER_REST_H
#define PD_CONTROLLER_REST_H

#include "controller/controller.h"
#include "http/answer.h"
#include "http/server.h"

/* The longest body: a list of 100,000 hosts and a program. */
#define PD_CONTROLLER_BODY_BYTES ((size_t)4 << 20)

/* At work at once, people's streams of events among them. */
#define PD_CONTROLLER_REQUESTS_MAX  512
#define PD_CONTROLLER_STREAMS_MAX   128
#define PD_CONTROLLER_STREAM_TAKE_S 20

/* All routes: those of the table, then those of parts. The first call, from the main thread, makes
 * it. */
const struct pd_rest *pd_controller_rest(void);

/* Fills the answer (initialised by the caller), with a problem document when something is wrong.
 * From any thread. */
void pd_controller_answer(struct pd_controller *controller, const struct pd_http_request *request,
                          struct pd_answer *answer);

/* The same for the HTTP server; its counters become the controller's. */
struct pd_http_service pd_controller_service(struct pd_controller *controller);

#endif
