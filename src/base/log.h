/* SPDX-License-Identifier: Apache-2.0 */
/* Structured log lines on stderr: "2026-11-21T01:02:03.456Z level=warn module=intake msg="…"
 * key=value". */
#ifndef PD_BASE_LOG_H
#define PD_BASE_LOG_H

#include <stdint.h>

/* One line an event, logfmt, written with a single write(2) so that lines of threads do not mix.
 * Under systemd (JOURNAL_STREAM set) a "<N>" priority prefix replaces the time stamp, which the
 * journal has already.
 *
 * Thread safety: everything may be called from any thread; the level is an atomic. Not for the
 * packet path: there, count, and log through a struct pd_log_limit. */

enum pd_log_level { PD_LOG_ERROR, PD_LOG_WARN, PD_LOG_INFO, PD_LOG_DEBUG };

void pd_log_set_level(enum pd_log_level level);
int pd_log_level_parse(const char *text,
                       enum pd_log_level *ret_level); /* "error" … "debug"; 0 or -PD_E_VALUE */

/* The words are quoted and escaped as needed; pass further key=value pairs in `fields` ("" or NULL
 * when none). */
void pd_log(enum pd_log_level level, const char *module, const char *fields, const char *format,
            ...) __attribute__((format(printf, 4, 5)));

/* Lets one line a second pass; the next line that passes says how many were suppressed.
 * Zero-initialised. */
struct pd_log_limit {
    uint64_t next_ns;    /* monotonic; no line before */
    uint64_t suppressed; /* since the last line */
};
void pd_log_limited(struct pd_log_limit *limit, enum pd_log_level level, const char *module,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
