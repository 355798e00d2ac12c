/* SPDX-License-Identifier: Apache-2.0 */
/* A store of alarms for tests, and what is in it. */
#ifndef PD_TESTS_ALARM_STORE_H
#define PD_TESTS_ALARM_STORE_H

#include "controller/alarms/store.h"

enum { ALARM_STORE_HOST = 21 };

extern char alarm_store_folder[64];

struct alarm_store_seen {
    size_t len, most;
    uint64_t first_id, last_id;
    uint64_t times[2000];
};

int alarm_store_set_up(void **state);
int alarm_store_tear_down(void **state);
struct pd_alarm_store *alarm_store_open_with(uint64_t max_alarms, uint64_t max_age_s);
struct pd_alarm_store *alarm_store_open(void);
struct pd_alarm_message alarm_store_message(const char *reason, uint64_t number);
int alarm_store_add(struct pd_alarm_store *store, uint64_t spool, uint64_t first, size_t len,
                    const char *reason, uint64_t *ret_last);
int alarm_store_see(void *context, uint64_t id, const char *json, size_t len);
struct alarm_store_seen alarm_store_read_all(struct pd_alarm_store *store, uint64_t since,
                                             const char *reason, size_t most);
struct pd_alarm_store_stat alarm_store_stat(struct pd_alarm_store *store);

#endif
