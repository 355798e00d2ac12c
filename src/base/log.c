/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines: level filter, logfmt quoting, one write per line. */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

static const struct {
    const char *id;
    int syslog; /* priority of the journal's prefix */
} levels[] = {{"error", 3}, {"warn", 4}, {"info", 6}, {"debug", 7}};

static atomic_int current =
    PD_LOG_INFO; /* relaxed: a line more or less at a change of level does no harm */

void pd_log_set_level(enum pd_log_level level)
{
    atomic_store_explicit(&current, (int)level, memory_order_relaxed);
}

int pd_log_level_parse(const char *text, enum pd_log_level *ret_level)
{
    for (unsigned i = 0; i < sizeof levels / sizeof *levels; i++) {
        if (!strcmp(text, levels[i].id)) {
            *ret_level = (enum pd_log_level)i;
            return 0;
        }
    }
    return -PD_E_VALUE;
}

/* Quotes and backslashes are escaped; control characters, which could forge a line, become '?'. */
static void quote(const char *text, char *ret_quoted, size_t bytes)
{
    size_t at = 0;
    for (; *text && at + 3 < bytes; text++) {
        if (*text == '"' || *text == '\\') {
            ret_quoted[at++] = '\\';
        }
        ret_quoted[at++] = (unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text;
    }
    ret_quoted[at] = '\0';
}

/* Under systemd the journal keeps the time and reads the priority from "<N>". */
static void lead(enum pd_log_level level, char *ret_lead, size_t bytes)
{
    if (getenv("JOURNAL_STREAM")) {
        snprintf(ret_lead, bytes, "<%d>", levels[level].syslog);
    } else {
        char time[PD_TIME_TEXT_BYTES];
        snprintf(ret_lead, bytes, "%s ", pd_time_format(pd_clock_wall_us(), time));
    }
}

static void emit(enum pd_log_level level, const char *module, const char *fields, const char *words)
{
    char head[PD_TIME_TEXT_BYTES + 8], quoted[1200], line[1800];
    lead(level, head, sizeof head);
    quote(words, quoted, sizeof quoted);
    int len = snprintf(line, sizeof line - 1, "%slevel=%s module=%s msg=\"%s\"%s%s", head,
                       levels[level].id, module, quoted, fields && *fields ? " " : "",
                       fields ? fields : "");
    if (len < 0) {
        return;
    }
    if ((size_t)len >= sizeof line - 1) {
        len = (int)sizeof line - 2;
    }
    line[len++] = '\n';
    if (write(STDERR_FILENO, line, (size_t)len) < 0) {
        return; /* nobody is left to tell */
    }
}

static int enabled(enum pd_log_level level)
{
    return (int)level <= atomic_load_explicit(&current, memory_order_relaxed);
}

void pd_log(enum pd_log_level level, const char *module, const char *fields, const char *format,
            ...)
{
    if (!enabled(level)) {
        return;
    }
    char words[1000];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    emit(level, module, fields, words);
}

void pd_log_limited(struct pd_log_limit *limit, enum pd_log_level level, const char *module,
                    const char *format, ...)
{
    if (!enabled(level)) {
        return;
    }
    uint64_t now = pd_clock_monotonic_ns();
    if (now < limit->next_ns) {
        limit->suppressed++;
        return;
    }
    char words[1000], fields[40] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    if (limit->suppressed) {
        snprintf(fields, sizeof fields, "suppressed=%llu", (unsigned long long)limit->suppressed);
    }
    *limit = (struct pd_log_limit){.next_ns = now + PD_NS_PER_S};
    emit(level, module, fields, words);
}
