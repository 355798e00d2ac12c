/* SPDX-License-Identifier: Apache-2.0 */
/* A list of installed queries on a host of our own, whose runs the tests steer. */
#ifndef PD_TESTS_INSTALLED_FIXTURE_H
#define PD_TESTS_INSTALLED_FIXTURE_H

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>

#include "agent/installed/installed.h"
#include "base/clock.h"

#define PATIENT_NS (60 * PD_NS_PER_S)
#define ANSWER     "{\"flows\":[],\"complete\":true}"
#define COUNT      "\"query\":\"getCount\",\"args\":{\"src_port\":1024}"
#define PROGRAM    "\"program\":\"function run(args) return 7 end\""

extern char file[64], damaged[80];
extern struct pd_model *model;
extern struct pd_installed *installed;

/* What our host was asked, and what it is to do. */
struct our_host {
    pthread_mutex_t lock;
    unsigned queries, programs, searches, alarms, stops;
    atomic_int fail_with;   /* what runs return */
    atomic_uint run_ms;     /* how long they take */
    atomic_uint program_ms; /* how much longer programs take */
    atomic_bool echo;       /* programs raise an alarm */
    bool all_flow;          /* the last query was restricted to one flow */
    char rule[32], since[64];
    json_t *event; /* of the last program */
    struct pd_flow_id flow;
    struct pd_path path;
    atomic_int at_once;
};
extern struct our_host host;

/* Around each test, and around all of them. */
int set_up(void **state);
int tear_down(void **state);
int set_up_all(void **state);
int tear_down_all(void **state);
void open_list(void);
void close_list(void);

/* Waits for a number of `host`, for long. */
unsigned seen(const unsigned *number);
void wait_for(const unsigned *number, unsigned value);

void tell_installed(const char *reason); /* of an alarm */
int try_add(const char *body, uint64_t *ret_id, struct pd_error *error);
uint64_t add(const char *body);
json_t *get(uint64_t id);
json_int_t number_of(uint64_t id, const char *name);
size_t list_len(void);

#endif
