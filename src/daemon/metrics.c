/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the text format of Prometheus. */
#include "daemon/metrics.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void pd_daemon_metrics_put(struct pd_metrics *metrics, const char *format, ...)
{
    char line[512];
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (!metrics->error && len > 0) {
        metrics->error = pd_http_answer_write(
            metrics->answer, line, (size_t)len < sizeof line ? (size_t)len : sizeof line - 1);
    }
}

void pd_daemon_metrics_head(struct pd_metrics *metrics, const char *name, const char *type,
                            const char *help)
{
    pd_daemon_metrics_put(metrics, "# HELP pathdump_%s %s\n# TYPE pathdump_%s %s\n", name, help,
                          name, type);
}

void pd_daemon_metrics_labelled(struct pd_metrics *metrics, const char *name, const char *label,
                                const char *text, uint64_t value)
{
    pd_daemon_metrics_put(metrics, "pathdump_%s{%s=\"%s\"} %" PRIu64 "\n", name, label, text,
                          value);
}

static void put_single(struct pd_metrics *metrics, const char *name, const char *type,
                       const char *help, uint64_t value)
{
    pd_daemon_metrics_head(metrics, name, type, help);
    pd_daemon_metrics_put(metrics, "pathdump_%s %" PRIu64 "\n", name, value);
}

void pd_daemon_metrics_gauge(struct pd_metrics *metrics, const char *name, const char *help,
                             uint64_t value)
{
    put_single(metrics, name, "gauge", help, value);
}

void pd_daemon_metrics_counter(struct pd_metrics *metrics, const char *name, const char *help,
                               uint64_t value)
{
    put_single(metrics, name, "counter", help, value);
}

const char *pd_daemon_metrics_label(const char *text, char *buffer, size_t bytes)
{
    size_t len = 0;

    for (; *text && len + 2 < bytes; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '\\' || c == '"') {
            buffer[len++] = '\\';
        }
        buffer[len++] = c < 0x20 || c >= 0x7f ? '?' : *text;
    }
    buffer[len] = '\0';
    return buffer;
}
