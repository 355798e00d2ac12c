/* SPDX-License-Identifier: Apache-2.0 */
/* Alarms of a flow that are told again within a minute: one alarm with a count. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "controller/alarms/private.h"

/* What was stored lately, found by its hash; what falls on the same place is forgotten, and then
 * the next one is an alarm of its own. Whether it is the same is asked of the store. */
#define PLACES    65536u
#define WITHIN_US (60 * PD_US_PER_S)

struct pd_alarm_recent {
    uint64_t hash, id, until_us; /* wall time */
};

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return pd_hash_mix(hash ^ pd_hash(text, strlen(text)));
}

static uint64_t hash_of(uint32_t host, const struct pd_alarm_message *message)
{
    uint64_t hash = pd_hash_mix(pd_flow_id_hash(&message->flow) ^ host);

    for (unsigned i = 0; i < message->paths_len; i++) {
        hash = pd_hash_mix(hash ^ pd_path_hash(&message->paths[i]));
    }
    return hash_text(hash_text(hash_text(hash, message->reason), message->by), message->detail);
}

static bool same(const struct pd_alarm_message *a, const struct pd_alarm_message *b)
{
    bool equal = a->origin == b->origin && a->unverified == b->unverified &&
                 a->paths_len == b->paths_len && !strcmp(a->reason, b->reason) &&
                 !strcmp(a->by, b->by) && !strcmp(a->detail, b->detail) &&
                 !memcmp(&a->flow, &b->flow, sizeof a->flow);

    for (unsigned i = 0; i < a->paths_len && equal; i++) {
        equal = a->paths[i].len == b->paths[i].len &&
                !memcmp(a->paths[i].switches, b->paths[i].switches,
                        a->paths[i].len * sizeof a->paths[i].switches[0]);
    }
    return equal;
}

/* The stored alarm; false: it is not there any more, or cannot be read. */
static bool read_stored(struct pd_alarm_store *store, MDB_txn *txn, uint64_t id,
                        struct pd_alarm_value_head *ret_head, struct pd_alarm_message *ret_message)
{
    uint64_t id_be = htobe64(id);
    MDB_val key = {sizeof id_be, &id_be}, value;
    char text[PD_ALARM_MESSAGE_MAX_BYTES + 64] = "{";
    size_t at = sizeof *ret_head;
    json_t *object;
    bool read;

    if (mdb_get(txn, store->alarms_db, &key, &value) || value.mv_size < at) {
        return false;
    }
    memcpy(ret_head, value.mv_data, sizeof *ret_head);
    at += ret_head->reason_len;
    if (value.mv_size <= at || value.mv_size - at >= sizeof text - 1) {
        return false;
    }
    memcpy(text + 1, (const char *)value.mv_data + at, value.mv_size - at);
    object = json_loadb(text, value.mv_size - at + 1, 0, NULL);
    json_object_del(object, "host");
    read = !pd_fleet_alarm_message_read(object, NULL, ret_message, NULL, NULL);
    json_decref(object);
    return read;
}

static void tell_again(struct pd_alarm_store *store, uint64_t id, uint32_t host,
                       const struct pd_alarm_message *message)
{
    struct pd_alarm_retold *retold = malloc(sizeof *retold);

    if (retold) {
        *retold = (struct pd_alarm_retold){store->retold, id, host, *message};
        store->retold = retold;
    }
}

int pd_alarm_repeat(struct pd_alarm_store *store, MDB_txn *txn, uint32_t host,
                    const struct pd_alarm_message *message)
{
    struct pd_alarm_message *stored = message->flow.ip_version ? malloc(sizeof *stored) : NULL;
    uint64_t hash = stored ? hash_of(host, message) : 0;
    const struct pd_alarm_recent *recent = store->recent ? &store->recent[hash % PLACES] : NULL;
    struct pd_alarm_value_head head;
    int err = -PD_E_NOT_FOUND;

    if (stored && recent && recent->hash == hash && recent->until_us > pd_clock_wall_us() &&
        read_stored(store, txn, recent->id, &head, stored) && le32toh(head.host) == host &&
        same(stored, message)) {
        stored->count += message->count;
        stored->time_us = message->time_us;
        err = pd_alarm_put_again(store, txn, recent->id, host, &head, stored);
        if (!err) {
            tell_again(store, recent->id, host, stored);
        }
    }
    free(stored);
    return err;
}

void pd_alarm_remember(struct pd_alarm_store *store, uint64_t id, uint32_t host,
                       const struct pd_alarm_message *message)
{
    uint64_t hash = hash_of(host, message);

    if (!message->flow.ip_version) {
        return;
    }
    if (!store->recent) {
        store->recent = calloc(PLACES, sizeof *store->recent);
    }
    if (store->recent) {
        store->recent[hash % PLACES] =
            (struct pd_alarm_recent){hash, id, pd_clock_wall_us() + WITHIN_US};
    }
}

void pd_alarm_retold_free(struct pd_alarm_retold *retold)
{
    while (retold) {
        struct pd_alarm_retold *next = retold->next;

        free(retold);
        retold = next;
    }
}
