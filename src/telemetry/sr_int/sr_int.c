/* SPDX-License-Identifier: Apache-2.0 */
/* sr-int read and written. */
#include <string.h>

#include "telemetry/sr_int/sr_int.h"

enum { HASH_AT = 24 };

void pd_sr_int_write_head(const struct pd_telemetry_probe *head,
                          const uint8_t key[PD_SIPHASH_KEY_BYTES],
                          uint8_t ret_bytes[PD_SR_INT_HEAD_BYTES])
{
    pd_bytes_put(ret_bytes, 2, PD_SR_INT_MAGIC);
    ret_bytes[2] = PD_SR_INT_VERSION;
    ret_bytes[3] = head->flags;
    pd_bytes_put(ret_bytes + 4, 4, head->plan);
    pd_bytes_put(ret_bytes + 8, 4, head->number);
    pd_bytes_put(ret_bytes + 12, 4, head->seq);
    pd_bytes_put(ret_bytes + 16, 8, head->sent_ns);
    pd_bytes_put(ret_bytes + HASH_AT, 8, pd_siphash(key, ret_bytes, HASH_AT));
}

bool pd_sr_int_read_head(const uint8_t *bytes, size_t len, struct pd_telemetry_probe *ret_head)
{
    if (len < PD_SR_INT_HEAD_BYTES || pd_bytes_number(bytes, 2) != PD_SR_INT_MAGIC ||
        bytes[2] != PD_SR_INT_VERSION) {
        return false;
    }
    *ret_head = (struct pd_telemetry_probe){.flags = bytes[3],
                                            .plan = (uint32_t)pd_bytes_number(bytes + 4, 4),
                                            .number = (uint32_t)pd_bytes_number(bytes + 8, 4),
                                            .seq = (uint32_t)pd_bytes_number(bytes + 12, 4),
                                            .sent_ns = pd_bytes_number(bytes + 16, 8),
                                            .hash = pd_bytes_number(bytes + HASH_AT, 8)};
    return true;
}

bool pd_sr_int_is_genuine(const uint8_t bytes[PD_SR_INT_HEAD_BYTES],
                          const uint8_t key[PD_SIPHASH_KEY_BYTES])
{
    return pd_bytes_number(bytes + HASH_AT, 8) == pd_siphash(key, bytes, HASH_AT);
}

static void read_entry(const uint8_t *at, struct pd_telemetry_hop *hop)
{
    *hop = (struct pd_telemetry_hop){
        .node = (uint32_t)pd_bytes_number(at, 4),
        .in_port = at[4],
        .out_port = at[5],
        .ingress_ns = pd_bytes_number(at + 6, 6),
        .residence_ns = (uint32_t)pd_bytes_number(at + 12, 4),
        .queue_bytes = (uint32_t)pd_bytes_number(at + 16, 4),
        .known = PD_TELEMETRY_NODE | PD_TELEMETRY_IN_PORT | PD_TELEMETRY_OUT_PORT |
                 PD_TELEMETRY_INGRESS | PD_TELEMETRY_RESIDENCE | PD_TELEMETRY_QUEUE,
    };
}

int pd_sr_int_read(struct pd_bytes payload, struct pd_telemetry *telemetry)
{
    const uint8_t *head = pd_bytes_take(&payload, PD_SR_INT_ENTRIES_AT), *entry;
    if (!head || !pd_sr_int_read_head(head, PD_SR_INT_HEAD_BYTES, &telemetry->head) ||
        payload.left % PD_SR_INT_ENTRY_BYTES) {
        return -PD_E_SYNTAX;
    }
    size_t entries = payload.left / PD_SR_INT_ENTRY_BYTES;
    telemetry->kind = PD_TELEMETRY_SR_INT;
    telemetry->probe = true;
    telemetry->cut = entries > PD_TELEMETRY_HOPS_MAX;
    telemetry->hops_len = telemetry->cut ? PD_TELEMETRY_HOPS_MAX : (uint32_t)entries;
    for (uint32_t n = telemetry->hops_len; n-- > 0;) {
        entry = pd_bytes_take(&payload, PD_SR_INT_ENTRY_BYTES);
        read_entry(entry, &telemetry->hops[n]);
    }
    return 0;
}
