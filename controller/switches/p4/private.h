/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share: the provider, and a switch as it sees it. */
#ifndef PD_CONTROLLER_SWITCHES_P4_PRIVATE_H
#define PD_CONTROLLER_SWITCHES_P4_PRIVATE_H

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>

#include "controller/switches/provider.h"
#include "fleet/fanout.h"
#include "http/url.h"

/* A thread asks each control of pathdump-switch a few times a second which switches it runs, and
 * how many packets each has punted; it reads new punts, and compares tables now and then. All of
 * that is the thread's own but `status`, which `lock` guards: the thread writes, others read. */

#define PD_P4_PROGRAM_BYTES 128u
#define PD_P4_CONTROLS_MAX  64u

struct pd_p4_seat {
    uint32_t control; /* index + 1 of the control that has it; 0: none has */
    bool listed;      /* in the answer at hand */
    char program[PD_P4_PROGRAM_BYTES];
    uint64_t punted;     /* as it said last */
    uint64_t offset;     /* of the next byte of its punts */
    bool caught_up;      /* what was punted before it was met has been passed over */
    uint64_t checked_ns; /* when its tables were looked at; 0: not yet */
    uint64_t second; /* packets are limited by the second: the one at hand, and how many in it */
    uint32_t taken;
    struct pd_switch_status status;
};

struct pd_p4_provider {
    struct pd_switch_provider_config config;
    struct pd_fanout *fanout;
    char controls[PD_P4_CONTROLS_MAX][PD_HTTP_URL_BYTES];
    uint32_t controls_len;
    struct pd_p4_seat *seats; /* by the topology's index */
    pthread_mutex_t lock;
    pthread_cond_t ended; /* with `lock`: `stopped` has become true */
    pthread_t thread;
    atomic_bool stopped;
};

/* ask.c: one request to the control of a switch, or to a control. The caller owns the answer, a
 * text of `ret_len` bytes. `body` NULL: a GET, else it is put. Negative errors in words. */
int pd_switch_p4_ask(struct pd_p4_provider *p4, uint32_t control, const char *route,
                     const char *body, char **ret_answer, size_t *ret_len, struct pd_error *error);
/* The same, as a JSON object. */
int pd_switch_p4_ask_json(struct pd_p4_provider *p4, uint32_t control, const char *route,
                          const json_t *body, json_t **ret_answer, struct pd_error *error);

/* punts.c: hands on what the switch has punted since. A negative error in words; what was read by
 * then is not read again. */
int pd_switch_p4_punts(struct pd_p4_provider *p4, uint32_t index, struct pd_error *error);

/* check.c: compares its tables and puts those that differ. `status` gets what was found. */
int pd_switch_p4_check(struct pd_p4_provider *p4, uint32_t index, struct pd_switch_status *status,
                       struct pd_error *error);

#endif
