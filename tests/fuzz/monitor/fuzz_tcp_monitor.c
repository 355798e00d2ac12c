/* SPDX-License-Identifier: Apache-2.0 */
/* First byte: 0 netlink messages of sock_diag, 1 pieces of the ring one after another, else
 * /proc/net/snmp. What is read goes through the table. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "monitor/bpf/bpf.h"
#include "monitor/bpf/event.h"
#include "monitor/flow_table.h"
#include "monitor/inet_diag/diag.h"
#include "monitor/inet_diag/snmp.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define FLOWS_MAX 16

static void take(void *context, const struct pd_monitor_reading *reading)
{
    uint32_t fresh;
    struct pd_flow_entry *entry = pd_monitor_flow_table_take(context, reading, &fresh);

    if (entry && fresh > entry->last.retransmissions) {
        abort();
    }
    if (pd_monitor_flow_table_len(context) > FLOWS_MAX) {
        abort();
    }
}

static void read_netlink(struct pd_flow_table *table, const uint8_t *bytes, size_t len)
{
    struct pd_diag *diag = pd_inet_diag_offline();
    uint8_t *aligned = malloc(len ? len : 1);

    if (diag && aligned) {
        memcpy(aligned, bytes, len);
        pd_monitor_flow_table_dump_begin(table);
        (void)pd_inet_diag_read(diag, aligned, len, 1, take, table);
        pd_monitor_flow_table_dump_end(table, 2);
    }
    free(aligned);
    pd_inet_diag_close(diag);
}

static void read_ring(struct pd_flow_table *table, const uint8_t *bytes, size_t len)
{
    const struct pd_flow_labels labels = {.automatic = true};
    struct pd_monitor_reading reading;

    for (; len;
         bytes += len < sizeof(struct pd_monitor_event) ? len : sizeof(struct pd_monitor_event),
         len -= len < sizeof(struct pd_monitor_event) ? len : sizeof(struct pd_monitor_event)) {
        if (pd_monitor_event_read(bytes, len, &labels, &reading)) {
            take(table, &reading);
        }
    }
}

static void read_snmp(const uint8_t *bytes, size_t len)
{
    char *text = malloc(len + 1);
    uint64_t value;

    if (text) {
        memcpy(text, bytes, len);
        (void)pd_inet_diag_snmp_retransmissions(text, len, &value);
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct pd_flow_table *table;

    if (!len || pd_monitor_flow_table_new(FLOWS_MAX, &table)) {
        return 0;
    }
    pd_monitor_flow_table_ready(table);
    if (bytes[0] == 0) {
        read_netlink(table, bytes + 1, len - 1);
    } else if (bytes[0] == 1) {
        read_ring(table, bytes + 1, len - 1);
    } else {
        read_snmp(bytes + 1, len - 1);
    }
    pd_monitor_flow_table_free(table);
    return 0;
}
