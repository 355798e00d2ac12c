/* SPDX-License-Identifier: Apache-2.0 */
/* Several intakes of one owner as one. */
#ifndef PD_INTAKE_SET_H
#define PD_INTAKE_SET_H

#include "intake/intake.h"

/* They share an owner, a sink and a thread: each is polled in turn. One alone sleeps as long as it
 * is told to; several sleep for a few milliseconds each while none of them has anything to do, and
 * not at all while one has. One that has ended is asked no more; the others go on.
 *
 * Thread safety: as with an intake. */

#define PD_INTAKES_MAX PD_OPTION_LIST_MAX

struct pd_intake_member {
    char *spec;
    struct pd_intake *intake;
    int end; /* what its last poll said; 0: it goes on */
};

struct pd_intake_set {
    struct pd_intake_member members[PD_INTAKES_MAX];
    unsigned len, at; /* at: the one that is at work now */
    uint64_t busy;    /* what they had counted when last looked at */
    bool idle;
};

/* Whether these may be opened side by side: each kind is known, and no source is there twice.
 * "none" stands for no intake, alone. -PD_E_VALUE in words. */
int pd_intake_set_check(const char *const *specs, unsigned len, struct pd_error *error);

/* Opens them all, or none. `options` gives the options of a kind. */
int pd_intake_set_open(const char *const *specs, unsigned len,
                       const struct pd_intake_config *config,
                       const void *(*options)(void *context, const struct pd_intake_ops *ops),
                       void *context, const struct pd_trajectory_sink *sink,
                       struct pd_intake_set *ret_set, struct pd_error *error);
void pd_intake_set_close(struct pd_intake_set *set);

/* Polls each that has not ended, once. `ended` is told of each that ends now. False: there is none
 * left, and nothing was waited for. */
bool pd_intake_set_poll(struct pd_intake_set *set, int timeout_ms,
                        void (*ended)(void *context, unsigned member, int err), void *context);
unsigned pd_intake_set_left(const struct pd_intake_set *set); /* that have not ended */
void pd_intake_set_flush(struct pd_intake_set *set);
void pd_intake_set_walk(struct pd_intake_set *set,
                        void (*visit)(void *context, const struct pd_trajectory_record *record),
                        void *context);
void pd_intake_set_positions(struct pd_intake_set *set,
                             void (*visit)(void *context, uint64_t key, uint64_t position),
                             void *context);
void pd_intake_set_committed(struct pd_intake_set *set, uint64_t key, uint64_t position);
bool pd_intake_set_keeps(const struct pd_intake_set *set); /* any of them */
/* In the sink: whether the record comes from an intake that keeps it until it is stored. */
bool pd_intake_set_kept(const struct pd_intake_set *set);

/* All of them as one: counters are sums; the state is that of the worst off. Zeroed at first. */
void pd_intake_status_add(struct pd_intake_status *sum, const struct pd_intake_status *status);

#endif
