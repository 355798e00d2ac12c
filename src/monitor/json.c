/* SPDX-License-Identifier: Apache-2.0 */
/* Lists to JSON. */
#include "monitor/json.h"

/* 0 is "never". */
static json_t *time_json(uint64_t time_us)
{
    return time_us ? json_integer((json_int_t)time_us) : json_null();
}

static json_t *flow_id_json(const struct pd_flow_id *flow)
{
    char src[PD_ADDR_TEXT_BYTES], dst[PD_ADDR_TEXT_BYTES];

    return json_pack(
        "{s:s, s:s, s:i, s:i, s:i}", "src_ip", pd_addr_format(&flow->src, flow->ip_version, src),
        "dst_ip", pd_addr_format(&flow->dst, flow->ip_version, dst), "src_port",
        (int)flow->src_port, "dst_port", (int)flow->dst_port, "protocol", (int)flow->protocol);
}

#define INTEGER(name) #name, (json_int_t)flow->name

json_t *pd_monitor_flow_json(const struct pd_monitor_flow *flow, bool recent)
{
    json_t *object = json_pack(
        "{s:o, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
        "flow_id", flow_id_json(&flow->flow), "state",
        pd_monitor_state_id(flow->closed ? PD_MONITOR_CLOSED : flow->state),
        INTEGER(retransmissions), INTEGER(duplicates), INTEGER(empty), INTEGER(consecutive),
        INTEGER(timeouts), INTEGER(backoff), INTEGER(srtt_us), INTEGER(rto_us),
        INTEGER(throughput_bps), INTEGER(bytes_acked), INTEGER(cwnd_pkts), INTEGER(mss_bytes),
        INTEGER(pkts_out), INTEGER(first_us));

    if (object && recent) {
        json_object_set_new(object, "recent", json_integer((json_int_t)flow->recent));
    }
    json_object_set_new(object, "last_retransmission_us", time_json(flow->last_retransmission_us));
    json_object_set_new(object, "opened_us", time_json(flow->opened_us));
    json_object_set_new(object, "closed_us", time_json(flow->closed_us));
    return object;
}

json_t *pd_monitor_list_json(const struct pd_monitor_list *list, bool recent)
{
    json_t *flows = json_array();

    for (size_t i = 0; flows && i < list->len; i++) {
        if (json_array_append_new(flows, pd_monitor_flow_json(&list->flows[i], recent))) {
            json_decref(flows);
            return NULL;
        }
    }
    return json_pack("{s:o, s:b, s:s, s:I, s:I}", "flows", flows, "complete", (int)list->complete,
                     "source", pd_monitor_source_id(list->stat.source), "since_us",
                     (json_int_t)list->stat.since_us, "forgotten",
                     (json_int_t)list->stat.flows_forgotten);
}
