/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of queries: flows, times and hosts as JSON. */
#include "apps/flow_args.h"

#include <inttypes.h>
#include <stdio.h>

/* Seconds with six places, which is exact. */
static void set_time(json_t *args, const char *name, uint64_t time_us)
{
    char text[40];

    snprintf(text, sizeof text, "%" PRIu64 ".%06" PRIu64, time_us / 1000000, time_us % 1000000);
    json_object_set_new(args, name, json_string(text));
}

static void set_addr(json_t *args, const char *name, const struct pd_addr *addr, uint8_t version)
{
    char text[PD_ADDR_TEXT_BYTES];

    json_object_set_new(args, name, json_string(pd_addr_format(addr, version, text)));
}

json_t *pd_app_flow_args(const struct pd_flow_id *flow, uint64_t from_us, uint64_t to_us)
{
    json_t *args = json_pack("{s:b}", "live", 1);

    if (from_us) {
        set_time(args, "from", from_us);
    }
    if (to_us != UINT64_MAX) {
        set_time(args, "to", to_us);
    }
    if (!flow) {
        return args;
    }
    set_addr(args, "src_ip", &flow->src, flow->ip_version);
    set_addr(args, "dst_ip", &flow->dst, flow->ip_version);
    json_object_set_new(args, "src_port", json_integer(flow->src_port));
    json_object_set_new(args, "dst_port", json_integer(flow->dst_port));
    json_object_set_new(args, "protocol", json_integer(flow->protocol));
    return args;
}

json_t *pd_app_host_list(uint32_t host)
{
    return json_pack("[I]", (json_int_t)host);
}
