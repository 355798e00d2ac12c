/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of the TCP monitor as JSON. */
#ifndef PD_MONITOR_JSON_H
#define PD_MONITOR_JSON_H

#include <jansson.h>

#include "monitor/monitor.h"

/* getPoorTCPFlows answers
 *
 *   {"flows":[FLOW…],"complete":bool,"source":"bpf"|"inet_diag"|"none","since_us":N,"forgotten":N}
 *
 * and a FLOW, whose source is the host that answers, is
 *
 *   {"flow_id":{"src_ip","dst_ip","src_port","dst_port","protocol":6},
 *    "state":"established"|"syn_sent"|"syn_recv"|"fin_wait1"|…|"closed",
 *    "retransmissions":N, "duplicates":N, "consecutive":N,
 *    "recent":N,                                              only with "from"
 *    "timeouts":N, "backoff":N, "srtt_us":N, "rto_us":N, "throughput_bps":N, "bytes_acked":N,
 *    "cwnd_pkts":N, "mss_bytes":N, "pkts_out":N, "first_us":N, "last_retransmission_us":N|null,
 *    "opened_us":N|null, "closed_us":N|null}
 *
 * A flow that is closed and was never established has "opened_us":null, "bytes_acked":0.
 * "throughput_bps": bits a second.
 *
 * Thread safety: pure. */

json_t *pd_monitor_flow_json(const struct pd_monitor_flow *flow,
                             bool recent); /* NULL without memory */
json_t *pd_monitor_list_json(const struct pd_monitor_list *list, bool recent);

#endif
