/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the spool of alarms: what it gives out is what the controller would read, and after
 * that it is empty. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/alarms/spool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HOST = 21 };

static void require(int truth)
{
    if (!truth) {
        abort();
    }
}

static void take_all(struct pd_alarm_spool *spool)
{
    struct pd_alarm_spool_stat stat;
    struct pd_alarm_batch batch;

    while (!pd_alarm_spool_take(spool, SIZE_MAX, &batch)) {
        json_t *body = json_loadb(batch.body, batch.body_bytes, JSON_REJECT_DUPLICATES, NULL);

        require(json_array_size(json_object_get(body, "alarms")) == batch.len);
        json_decref(body);
        free(batch.body);
        pd_alarm_spool_end(spool, batch.spool, UINT64_MAX, false);
    }
    pd_alarm_spool_stat(spool, &stat);
    require(!stat.waiting && !stat.waiting_bytes && stat.sent == stat.recovered);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char name[64];
    struct pd_alarm_spool_config config = {name, HOST, 1 << 20};
    struct pd_alarm_spool *spool;
    bool aside;
    int fd;

    snprintf(name, sizeof name, "/dev/shm/pd-fuzz-spool-%d", getpid());
    fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
    require(!pd_alarm_spool_open(&config, &spool, &aside, NULL));
    take_all(spool);
    pd_alarm_spool_close(spool);
    return 0;
}
