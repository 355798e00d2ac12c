/* SPDX-License-Identifier: Apache-2.0 */
/* Piece of the ring -> reading. */
#include "monitor/bpf/event.h"

#include <string.h>
#include <sys/socket.h>

#include <netinet/in.h>

#include "monitor/bpf/bpf.h"

static bool is_mapped(const uint8_t bytes[16])
{
    static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

    return !memcmp(bytes, prefix, sizeof prefix);
}

static void read_addr(const uint8_t bytes[16], bool four, struct pd_addr *ret_addr)
{
    memset(ret_addr, 0, sizeof *ret_addr);
    if (!four) {
        memcpy(ret_addr->bytes, bytes, 16);
    } else {
        memcpy(ret_addr->bytes, bytes, 4);
    }
}

static bool read_flow(const struct pd_monitor_event *event, struct pd_flow_id *ret_flow)
{
    bool mapped = event->family == AF_INET6 && is_mapped(event->dst);
    bool four = event->family == AF_INET || mapped;

    if (event->family != AF_INET && event->family != AF_INET6) {
        return false;
    }
    if (mapped && !is_mapped(event->src)) {
        return false;
    }
    memset(ret_flow, 0, sizeof *ret_flow);
    read_addr(event->src + (mapped ? 12 : 0), four, &ret_flow->src);
    read_addr(event->dst + (mapped ? 12 : 0), four, &ret_flow->dst);
    ret_flow->src_port = event->src_port;
    ret_flow->dst_port = event->dst_port;
    ret_flow->protocol = IPPROTO_TCP;
    ret_flow->ip_version = four ? 4 : 6;
    /* Nobody ever connected it. */
    return event->src_port && event->dst_port;
}

static bool read_kind(const struct pd_monitor_event *event, struct pd_monitor_reading *reading)
{
    switch (event->kind) {
    case PD_EVENT_RETRANSMISSION:
    case PD_EVENT_SYN_ACK: reading->kind = PD_MONITOR_RETRANSMISSION; return true;
    case PD_EVENT_CLOSED:
        reading->closed = true;
        reading->kind = PD_MONITOR_CHANGE;
        return true;
    case PD_EVENT_OPENED: reading->kind = PD_MONITOR_CHANGE; return true;
    default: return false;
    }
}

/* The kernel's own (ip6_make_flowlabel): what the socket asked for, else bits of its hash where the
 * system makes labels by itself. */
static uint32_t flow_label(const struct pd_monitor_event *event,
                           const struct pd_flow_labels *labels)
{
    uint32_t hash = event->txhash << 16 | event->txhash >> 16, label = event->flow_label & 0xfffff;

    if (label || !labels->automatic) {
        return label;
    }
    return (ntohl(hash) & 0xfffff) | (labels->stateless ? 0x80000 : 0);
}

/* The kernel's own formula (tcp_compute_delivery_rate). */
static uint64_t throughput_bps(const struct pd_monitor_event *event)
{
    if (!event->delivered_us || event->mss_bytes > 65535) {
        return 0;
    }
    return (uint64_t)event->delivered_pkts * event->mss_bytes * 8 / event->delivered_us * 1000000;
}

bool pd_monitor_event_read(const void *bytes, size_t len, const struct pd_flow_labels *labels,
                           struct pd_monitor_reading *ret_reading)
{
    struct pd_monitor_reading reading = {.kind = PD_MONITOR_CHANGE};
    struct pd_monitor_event event;

    if (len < sizeof event) {
        return false;
    }
    memcpy(&event, bytes, sizeof event);
    reading.state = (enum pd_monitor_state)event.state;
    if (!pd_monitor_state_id(reading.state) || !read_kind(&event, &reading) ||
        !read_flow(&event, &reading.flow)) {
        return false;
    }
    reading.has_info = event.kind != PD_EVENT_SYN_ACK;
    reading.cookie = event.cookie;
    reading.time_ns = event.time_ns;
    reading.retransmissions = event.retransmissions;
    reading.outstanding = event.outstanding;
    reading.timeouts = event.timeouts; /* PD_EVENT_NO_TIMEOUTS is UINT32_MAX */
    reading.unanswered = event.unanswered;
    reading.backoff = event.backoff;
    reading.srtt_us = event.srtt_us;
    reading.cwnd_pkts = event.cwnd_pkts;
    reading.mss_bytes = event.mss_bytes;
    reading.pkts_out = event.pkts_out;
    reading.duplicates = event.duplicates;
    reading.traffic_class =
        (uint8_t)(reading.flow.ip_version == 4 ? event.tos : event.traffic_class);
    reading.has_label = reading.flow.ip_version == 6 && event.txhash;
    reading.flow_label = reading.has_label ? flow_label(&event, labels) : 0;
    reading.bytes_acked = event.bytes_acked;
    reading.is_empty = event.empty;
    reading.throughput_bps = throughput_bps(&event);
    *ret_reading = reading;
    return true;
}
