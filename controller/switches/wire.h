/* SPDX-License-Identifier: Apache-2.0 */
/* OpenFlow 1.3 on the wire: the numbers of the specification that we use, and how bytes are read
 * and written. */
#ifndef PD_CONTROLLER_SWITCHES_WIRE_H
#define PD_CONTROLLER_SWITCHES_WIRE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* Names and section numbers are those of "OpenFlow Switch Specification 1.3.5". All numbers are
 * big-endian. Reading goes through a bounded cursor that turns `failed` at the first byte too many
 * and gives zeros from then on.
 *
 * Internal to controller/switches/. Thread safety: on the caller's memory only. */

#define OF_VERSION        4 /* 1.3 */
#define OF_HEADER_BYTES   8
#define OF_MESSAGE_MAX    65535 /* the length field has 16 bits */
#define OF_NO_BUFFER      UINT32_MAX
#define OF_PORT_MAX       UINT32_C(0xffffff00)
#define OF_PORT_TABLE     UINT32_C(0xfffffff9)
#define OF_PORT_CONTROL   UINT32_C(0xfffffffd) /* OFPP_CONTROLLER */
#define OF_ANY            UINT32_MAX           /* OFPP_ANY, OFPG_ANY */
#define OF_MULTIPART_FLOW 1
#define OF_MORE           1 /* OFPMPF_REPLY_MORE */

enum of_type {
    OF_HELLO = 0,
    OF_ERROR = 1,
    OF_ECHO_REQUEST = 2,
    OF_ECHO_REPLY = 3,
    OF_FEATURES_REQUEST = 5,
    OF_FEATURES_REPLY = 6,
    OF_PACKET_IN = 10,
    OF_PACKET_OUT = 13,
    OF_FLOW_MOD = 14,
    OF_MULTIPART_REQUEST = 18,
    OF_MULTIPART_REPLY = 19,
    OF_BARRIER_REQUEST = 20,
    OF_BARRIER_REPLY = 21,
    OF_TYPE_LAST = 29
};

enum of_command { OF_ADD = 0, OF_DELETE_STRICT = 4 };
enum of_instruction { OF_GOTO_TABLE = 1, OF_APPLY_ACTIONS = 4 };
enum of_action { OF_OUTPUT = 0, OF_PUSH_VLAN = 17, OF_POP_VLAN = 18, OF_SET_FIELD = 25 };

#define OF_OXM_BASIC        0x8000U
#define OF_OXM_EXPERIMENTER 0xffffU
#define OF_VLAN_PRESENT     0x1000U /* OFPVID_PRESENT: the bit beside the number */

enum of_field {
    OF_IN_PORT = 0,
    OF_ETH_TYPE = 5,
    OF_VLAN_VID = 6,
    OF_VLAN_PCP = 7,
    OF_IP_DSCP = 8,
    OF_IPV4_SRC = 11,
    OF_IPV4_DST = 12,
    OF_IPV6_SRC = 26,
    OF_IPV6_DST = 27
};

/* ---- reading */

struct of_reader {
    const uint8_t *at;
    size_t left;
    bool failed;
};

static inline const uint8_t *of_read(struct of_reader *reader, size_t bytes)
{
    const uint8_t *at = reader->at;
    if (reader->failed || bytes > reader->left) {
        reader->failed = true;
        return NULL;
    }
    reader->at += bytes;
    reader->left -= bytes;
    return at;
}

static inline uint64_t of_read_number(struct of_reader *reader, unsigned bytes)
{
    const uint8_t *at = of_read(reader, bytes);
    uint64_t number = 0;
    for (unsigned i = 0; at && i < bytes; i++) {
        number = number << 8 | at[i];
    }
    return number;
}

static inline uint64_t of_number(const uint8_t *at, unsigned bytes)
{
    struct of_reader reader = {at, bytes, false};
    return of_read_number(&reader, bytes);
}

/* ---- writing: into memory that grows; after a failure nothing is added and `error` stays */

struct of_buffer {
    uint8_t *data;
    size_t bytes, room;
    int error; /* -ENOMEM */
};

static inline uint8_t *of_write(struct of_buffer *buffer, size_t bytes)
{
    if (!buffer->error) { /* one more: an empty buffer has a place, too */
        buffer->error = PD_GROW(buffer->data, buffer->room, buffer->bytes + bytes + 1);
    }
    if (buffer->error) {
        return NULL;
    }
    uint8_t *at = buffer->data + buffer->bytes;
    memset(at, 0, bytes);
    buffer->bytes += bytes;
    return at;
}

static inline void of_write_bytes(struct of_buffer *buffer, const void *data, size_t bytes)
{
    uint8_t *at = of_write(buffer, bytes);
    if (at && bytes) {
        memcpy(at, data, bytes);
    }
}

static inline void of_write_number(struct of_buffer *buffer, uint64_t number, unsigned bytes)
{
    uint8_t *at = of_write(buffer, bytes);
    for (unsigned i = bytes; at && i-- > 0; number >>= 8) {
        at[i] = (uint8_t)number;
    }
}

/* Begins a message; returns where, for of_end, which fills in the length. */
static inline size_t of_begin(struct of_buffer *buffer, enum of_type type, uint32_t xid)
{
    size_t start = buffer->bytes;
    of_write_number(buffer, OF_VERSION, 1);
    of_write_number(buffer, type, 1);
    of_write_number(buffer, 0, 2);
    of_write_number(buffer, xid, 4);
    return start;
}

/* Also lengths of parts of a message: the 2 bytes at `start` + 2 become the bytes since `start`. */
static inline void of_end(struct of_buffer *buffer, size_t start)
{
    if (buffer->error) {
        return;
    }
    size_t bytes = buffer->bytes - start;
    buffer->data[start + 2] = (uint8_t)(bytes >> 8);
    buffer->data[start + 3] = (uint8_t)bytes;
}

static inline void of_pad8(struct of_buffer *buffer, size_t start)
{
    if (!buffer->error) {
        of_write(buffer, (8 - (buffer->bytes - start) % 8) % 8);
    }
}

static inline void of_buffer_done(struct of_buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct of_buffer){0};
}

#endif
