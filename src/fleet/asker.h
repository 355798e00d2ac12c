/* SPDX-License-Identifier: Apache-2.0 */
/* Asker: the person behind a question that others carry on. */
#ifndef PD_FLEET_ASKER_H
#define PD_FLEET_ASKER_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "http/role.h"

/* The controller asks hosts with its own credentials, whoever asked it. So that programs do at a
 * host no more than that person may, a document to hosts carries "asker":{"name","role"}. Who may
 * name one is the reader's to check: only a controller.
 *
 * Thread safety: pure. */

#define PD_FLEET_ASKER_BYTES 64

struct pd_fleet_asker {
    enum pd_role role;
    char name[PD_FLEET_ASKER_BYTES]; /* "": not known */
};

/* Of a request. */
struct pd_fleet_asker pd_fleet_asker_of(const struct pd_http_request *request);

json_t *pd_fleet_asker_json(const struct pd_fleet_asker *asker); /* NULL without memory */

/* -PD_E_VALUE in words. */
int pd_fleet_asker_read(const json_t *value, struct pd_fleet_asker *ret_asker,
                        struct pd_error *error);

/* May his programs raise alarms? */
bool pd_fleet_asker_may_alarm(const struct pd_fleet_asker *asker);

#endif
