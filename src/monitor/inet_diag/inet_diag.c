/* SPDX-License-Identifier: Apache-2.0 */
/* The source that needs no privilege: reads the sockets when the kernel's counter of all
 * retransmissions has moved. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "monitor/inet_diag/snmp.h"
#include "monitor/source.h"

/* Tcp: RetransSegs of this network namespace counts every segment that is sent again, SYN and
 * SYN-ACK as well. As long as it stands still no socket can have anything new to say, and a period
 * costs one small read however many sockets there are. */

struct source {
    int snmp_fd; /* /proc/…/net/snmp; -1: there is none, sockets are read every time */
    bool known;
    uint64_t retransmissions;
};

/* Returns whether the counter has moved, or cannot be told. */
static bool has_moved(struct source *source)
{
    char text[8192];
    uint64_t now;
    ssize_t len = source->snmp_fd < 0 ? -1 : pread(source->snmp_fd, text, sizeof text - 1, 0);
    bool moved;

    if (len < 0 || pd_inet_diag_snmp_retransmissions(text, (size_t)len, &now)) {
        return true;
    }
    moved = !source->known || now != source->retransmissions;
    source->known = true;
    source->retransmissions = now;
    return moved;
}

static void work(void *context, void (*take)(void *context, const struct pd_monitor_reading *),
                 void *taker, struct pd_monitor_told *ret_told)
{
    (void)take;
    (void)taker;
    *ret_told = (struct pd_monitor_told){.dump = has_moved(context)};
}

static int no_fd(const void *source)
{
    (void)source;
    return -1;
}

static void close_source(void *context)
{
    struct source *source = context;

    if (source && source->snmp_fd >= 0) {
        close(source->snmp_fd);
    }
    free(source);
}

/* The file belongs to the namespace in which it was opened, whoever reads it. */
static int open_source(const struct pd_monitor_config *config, void **ret_source,
                       struct pd_error *error)
{
    struct source *source = calloc(1, sizeof *source);

    (void)config;
    if (!source) {
        return pd_fail(error, -ENOMEM, "inet_diag: no memory");
    }
    source->snmp_fd = open("/proc/thread-self/net/snmp", O_RDONLY | O_CLOEXEC);
    (void)has_moved(source);
    *ret_source = source;
    return 0;
}

const struct pd_monitor_source_ops pd_monitor_inet_diag = {PD_MONITOR_INET_DIAG, open_source, no_fd,
                                                           work, close_source};
