/* SPDX-License-Identifier: Apache-2.0 */
/* Admission queue: at most so many at work at once, and a bounded, fair queue for those who wait.
 */
#ifndef PD_DAEMON_ADMISSION_H
#define PD_DAEMON_ADMISSION_H

#include <jansson.h>
#include <stdint.h>

/* Fair between clients: of those who wait, the client comes first that has the fewest at work, then
 * the one that was served longest ago; each client's own wait in the order in which they came. So a
 * client with a hundred questions delays another one's by one turn at most. A client is whoever
 * gives the same name.
 *
 * Only what needs the processor or the store holds a turn, and nobody who holds one waits for
 * another host: so a host that is in several trees at once, above itself even, cannot lock up.
 *
 * Thread safety: all functions may be called from any thread. */

#define PD_DAEMON_ADMISSION_CLIENT_BYTES                    \
    64 /* of a client's name that count, with the final NUL \
        */

struct pd_daemon_admission_limits {
    unsigned working;            /* at once */
    unsigned waiting;            /* in all */
    unsigned waiting_per_client; /* of these */
};

struct pd_daemon_admission_counters {
    uint64_t taken;
    uint64_t waited;           /* of these: not at once */
    uint64_t refused;          /* too many were waiting already */
    uint64_t late;             /* the deadline passed while they waited */
    uint64_t wait_us;          /* that those who waited and got a turn did so, summed */
    unsigned working, waiting; /* now */
};

struct pd_daemon_admission;

int pd_daemon_admission_new(const struct pd_daemon_admission_limits *limits,
                            struct pd_daemon_admission **ret_admission); /* 0 or -ENOMEM */
void pd_daemon_admission_free(
    struct pd_daemon_admission *admission); /* nobody works or waits any more; NULL is fine */

/* Waits for a turn until `deadline_ns` (monotonic). -PD_E_BUSY: too many wait already;
 * -PD_E_DEADLINE. */
int pd_daemon_admission_take(struct pd_daemon_admission *admission, const char *client,
                             uint64_t deadline_ns);
void pd_daemon_admission_give(struct pd_daemon_admission *admission,
                              const char *client); /* the same name */

void pd_daemon_admission_counters(struct pd_daemon_admission *admission,
                                  struct pd_daemon_admission_counters *ret_counters);

/* The same as a member of a status document. The caller's; NULL without memory. */
json_t *pd_daemon_admission_json(struct pd_daemon_admission *admission);

#endif
