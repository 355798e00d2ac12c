/* SPDX-License-Identifier: Apache-2.0 */
/* Writer of the text format of Prometheus: one line of help, one of type, one or more samples for
 * each metric. */
#ifndef PD_DAEMON_METRICS_H
#define PD_DAEMON_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "http/answer.h"

/* Names come without their prefix "pathdump_". Thread safety: works on the caller's memory only. */

#define PD_METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct pd_metrics {
    struct pd_answer *answer;
    int error; /* the first one; then nothing is written any more */
};

void pd_daemon_metrics_put(struct pd_metrics *metrics, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Help and type ("gauge", "counter") of samples that follow with labels. */
void pd_daemon_metrics_head(struct pd_metrics *metrics, const char *name, const char *type,
                            const char *help);
void pd_daemon_metrics_labelled(struct pd_metrics *metrics, const char *name, const char *label,
                                const char *text, uint64_t value);

/* A metric of one sample. */
void pd_daemon_metrics_gauge(struct pd_metrics *metrics, const char *name, const char *help,
                             uint64_t value);
void pd_daemon_metrics_counter(struct pd_metrics *metrics, const char *name, const char *help,
                               uint64_t value);

/* A label's value from outside: backslash and quote escaped, control characters replaced. Returns
 * `buffer`. */
const char *pd_daemon_metrics_label(const char *text, char *buffer, size_t bytes);

#endif
