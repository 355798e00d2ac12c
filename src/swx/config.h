/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of pathdump-switch: which switches it runs, with which ports. */
#ifndef PD_SWX_CONFIG_H
#define PD_SWX_CONFIG_H

#include <jansson.h>

#include "base/error.h"
#include "swx/pipeline.h"

/* {"control":"unix:PATH"?, "switches":[{"id","program","spec"?,"tables","icmp_per_s"?,"punts"?,
 *   "ports":{"1":{"pcap":[IN|null,OUT|null]} | {"interface":NAME} | {"tap":NAME} |
 * {"to":"17:1"}}}]}
 *
 * Texts lie in `json`, which the configuration holds. Thread safety: pure. */

#define PD_SWX_SWITCHES_MAX 1024u
#define PD_SWX_ICMP_PER_S   100u

enum pd_swx_port_kind { PD_SWX_NO_KIND, PD_SWX_CAPTURE, PD_SWX_INTERFACE, PD_SWX_TAP, PD_SWX_TO };

struct pd_swx_port_config {
    enum pd_swx_port_kind kind;
    const char *in, *out; /* of a capture; may be NULL. `in` is the name of an interface or tap */
    uint32_t to_switch;   /* place in the list of switches */
    uint16_t to_port;
};

struct pd_swx_config_switch {
    uint32_t id, icmp_per_s, ports_max;
    const char *program, *spec, *tables, *punts; /* spec and punts may be NULL */
    struct pd_swx_port_config ports[PD_SWX_PORT_MAX + 1];
};

struct pd_swx_config {
    json_t *json;
    const char *control; /* NULL: none */
    struct pd_swx_config_switch *switches;
    uint32_t switches_len;
    bool captures; /* all ports are captures, or lead to other switches */
};

/* -PD_E_SYNTAX, -PD_E_VALUE, -PD_E_UNKNOWN_KEY, -ENOMEM or -errno, with file and place. */
int pd_swx_config_read(const char *file, struct pd_swx_config *ret_config, struct pd_error *error);
void pd_swx_config_done(struct pd_swx_config *config); /* works on a zeroed one, too */

#endif
