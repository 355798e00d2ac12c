/* SPDX-License-Identifier: Apache-2.0 */
/* sr-int: the UDP payload of a probe that carries its own way. */
#ifndef PD_TELEMETRY_SR_INT_H
#define PD_TELEMETRY_SR_INT_H

#include "base/siphash.h"
#include "telemetry/bytes.h"
#include "telemetry/telemetry.h"

/* Paper 001, section II-C, with 64 labels of 8 bits for its 128 of 4 (docs/formats/probes.md): a
 * head of 32 bytes, 64 bytes of labels, then one entry of 22 bytes for each switch crossed, the
 * newest first. Numbers are big-endian. */
enum {
    PD_SR_INT_MAGIC = 0x5044,
    PD_SR_INT_VERSION = 1,
    PD_SR_INT_HEAD_BYTES = 32,
    PD_SR_INT_LABELS = 64,
    PD_SR_INT_ENTRIES_AT = 96,
    PD_SR_INT_ENTRY_BYTES = 22,
};
#define PD_SR_INT_ISOLATION 1 /* flag */

/* Writes a head with its hash. */
void pd_sr_int_write_head(const struct pd_telemetry_probe *head,
                          const uint8_t key[PD_SIPHASH_KEY_BYTES],
                          uint8_t ret_bytes[PD_SR_INT_HEAD_BYTES]);
/* Magic and version have to be right; the hash is not looked at. */
bool pd_sr_int_read_head(const uint8_t *bytes, size_t len, struct pd_telemetry_probe *ret_head);
bool pd_sr_int_is_genuine(const uint8_t bytes[PD_SR_INT_HEAD_BYTES],
                          const uint8_t key[PD_SIPHASH_KEY_BYTES]);

/* A whole payload. -PD_E_SYNTAX when it ends within labels or an entry. */
int pd_sr_int_read(struct pd_bytes payload, struct pd_telemetry *telemetry);

#endif
