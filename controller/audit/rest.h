/* SPDX-License-Identifier: Apache-2.0 */
/* The audit as one of the controller's parts, and as the witness of requests. */
#ifndef PD_CONTROLLER_AUDIT_REST_H
#define PD_CONTROLLER_AUDIT_REST_H

#include "controller/controller.h"
#include "daemon/rest.h"

extern const struct pd_part pd_audit_part;

/* Notes programs, applications, and whatever needs the role install or admin to change something:
 * routes of extensions, too, without a line here. */
extern const struct pd_rest_witness pd_audit_witness;

/* A reload, by a signal: before it, -PD_E_FULL where it could not be noted; after it, its outcome.
 */
int pd_audit_reload_begin(struct pd_controller *controller, struct pd_error *error);
void pd_audit_reload_end(struct pd_controller *controller, const char *outcome);

#endif
