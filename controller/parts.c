/* SPDX-License-Identifier: Apache-2.0 */
/* The parts that there are, opened in this order and closed in the opposite one. */
#include "controller/alarms/rest.h"
#include "controller/apps/apps.h"
#include "controller/audit/rest.h"
#include "controller/controller.h"
#include "controller/events/events.h"
#include "controller/execute.h"
#include "controller/installed/installed.h"
#include "controller/links/links.h"
#include "controller/map/map.h"
#include "controller/meters/meters.h"
#include "controller/openflow.h"
#include "controller/probes/probes.h"
#include "controller/pulse.h"
#include "controller/telemetry/telemetry.h"
#include "pd_extensions.h"

#define X(symbol) extern const struct pd_part symbol;
PD_EXTENSION_CONTROLLER_PART(X)
#undef X

const struct pd_part *const pd_controller_parts[] = {
    &pd_events_part, /* first: the others publish */
    &pd_audit_part,
    &pd_alarms_part, /* then: the others may raise some */
    &pd_controller_pulse_part,
    &pd_controller_execute_part,
    &pd_apps_part,
    &pd_links_part,
    &pd_controller_openflow_part,
    &pd_installed_part,
    &pd_telemetry_part,
    &pd_controller_probes_part,
    &pd_map_part,
    &pd_meters_part,
#define X(symbol) &(symbol),
    PD_EXTENSION_CONTROLLER_PART(X)
#undef X
        NULL,
};
