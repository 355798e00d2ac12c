/* SPDX-License-Identifier: Apache-2.0 */
/* A store of alarms in a folder of its own. */
#include "alarm_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controller/alarms/store.h"
#include "tests/shared/folder.h"

char alarm_store_folder[64];

int alarm_store_set_up(void **state)
{
    (void)state;
    snprintf(alarm_store_folder, sizeof alarm_store_folder, "/tmp/pd-alarms-XXXXXX");
    assert_non_null(mkdtemp(alarm_store_folder));
    return 0;
}

int alarm_store_tear_down(void **state)
{
    (void)state;
    return folder_remove(alarm_store_folder);
}

struct pd_alarm_store *alarm_store_open_with(uint64_t max_alarms, uint64_t max_age_s)
{
    struct pd_alarm_store_config config = {.directory = alarm_store_folder,
                                           .max_alarms = max_alarms,
                                           .max_age_s = max_age_s,
                                           .map_bytes = UINT64_C(64) << 20};
    struct pd_alarm_store *store = NULL;
    struct pd_error error = {0};

    if (pd_alarm_store_open(&config, &store, &error)) {
        fail_msg("%s", error.text);
    }
    return store;
}

struct pd_alarm_store *alarm_store_open(void)
{
    return alarm_store_open_with(1000000, 0);
}

struct pd_alarm_message alarm_store_message(const char *reason, uint64_t number)
{
    struct pd_alarm_message message = {.time_us = number, .paths_len = 1};

    snprintf(message.reason, sizeof message.reason, "%s", reason);
    snprintf(message.detail, sizeof message.detail, "n%llu", (unsigned long long)number);
    message.paths[0] = (struct pd_path){.len = 2, .switches = {1, 9}};
    return message;
}

/* seq and time are the number. */
int alarm_store_add(struct pd_alarm_store *store, uint64_t spool, uint64_t first, size_t len,
                    const char *reason, uint64_t *ret_last)
{
    static __thread struct pd_alarm_message messages[256];
    uint64_t seqs[256];
    struct pd_alarm_delivery delivery = {ALARM_STORE_HOST, spool, len, messages, seqs};

    for (size_t i = 0; i < len; i++) {
        seqs[i] = first + i;
        messages[i] = alarm_store_message(reason, first + i);
    }
    return pd_alarm_store_add(store, &delivery, ret_last);
}

int alarm_store_see(void *context, uint64_t id, const char *json, size_t len)
{
    struct alarm_store_seen *seen = context;
    char text[20000] = "{";
    json_t *object;

    if (seen->len == seen->most) {
        return 1;
    }
    memcpy(text + 1, json, len);
    object = json_loadb(text, len + 1, JSON_REJECT_DUPLICATES, NULL);
    assert_int_equal(json_object_size(object), 9);
    assert_true(id > seen->last_id);
    seen->first_id = seen->len ? seen->first_id : id;
    seen->last_id = id;
    if (seen->len < 2000) {
        seen->times[seen->len] = (uint64_t)json_integer_value(json_object_get(object, "time_us"));
    }
    seen->len++;
    json_decref(object);
    return 0;
}

struct alarm_store_seen alarm_store_read_all(struct pd_alarm_store *store, uint64_t since,
                                             const char *reason, size_t most)
{
    static struct alarm_store_seen seen;
    uint64_t next;
    bool more;

    seen = (struct alarm_store_seen){.most = SIZE_MAX};
    assert_int_equal(
        pd_alarm_store_read(store, since, reason, most, alarm_store_see, &seen, &next, &more), 0);
    assert_int_equal(next, seen.len ? seen.last_id : since);
    if (seen.len < most) {
        assert_false(more);
    }
    return seen;
}

struct pd_alarm_store_stat alarm_store_stat(struct pd_alarm_store *store)
{
    struct pd_alarm_store_stat stat;

    pd_alarm_store_stat(store, &stat);
    return stat;
}
