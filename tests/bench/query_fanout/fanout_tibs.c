/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one TIB for each of the first hosts of a fat-tree: what each of them would have received.
 *
 * fanout_tibs FOLDER K HOSTS RECORDS      stores FOLDER/tib0 … tib(HOSTS-1)
 *
 * The records are those of the last hour, as an agent has them that runs: not yet packed. But for
 * the times, the same arguments give the same records. */
#include <stdio.h>
#include <stdlib.h>

#include "../tib_load/dataset.h"
#include "base/clock.h"

#define BATCH  1024u
#define SPAN_S 3600

static int append(struct pd_tib *tib, struct dataset *dataset, size_t records)
{
    static struct pd_tib_record batch[BATCH];
    static struct pd_path paths[BATCH];
    int err = 0;
    while (records && !err) {
        size_t len = records < BATCH ? records : BATCH;
        for (size_t i = 0; i < len; i++) {
            dataset_next(dataset, &paths[i], &batch[i]);
        }
        err = pd_tib_append(tib, batch, len);
        records -= len;
    }
    return err ? err : pd_tib_commit(tib);
}

static int make(const char *folder, uint32_t k, uint32_t host, size_t records)
{
    char directory[512];
    struct dataset dataset;
    struct pd_tib *tib;
    struct pd_error error;
    struct pd_tib_config config = {.cold_after_s = 0}; /* never */
    snprintf(directory, sizeof directory, "%s/tib%u", folder, host);
    if (dataset_init(&dataset, host + 1, (double)records / SPAN_S)) {
        return -1;
    }
    dataset.clock_us = pd_clock_wall_us() - SPAN_S * PD_US_PER_S;
    dataset_place(&dataset, k, host);
    int err = pd_tib_open(directory, PD_TIB_WRITE, &config, &tib, &error);
    if (!err) {
        err = append(tib, &dataset, records);
        pd_tib_close(tib);
    }
    dataset_done(&dataset);
    if (err) {
        fprintf(stderr, "fanout_tibs: %s: %s\n", directory, pd_error_text(err));
    }
    return err;
}

int main(int argc, char **argv)
{
    unsigned long k = argc == 5 ? strtoul(argv[2], NULL, 10) : 0;
    unsigned long hosts = argc == 5 ? strtoul(argv[3], NULL, 10) : 0;
    unsigned long long records = argc == 5 ? strtoull(argv[4], NULL, 10) : 0;
    if (k < 4 || k > 16 || k & (k - 1) || !hosts || hosts > k * k * k / 4 || !records) {
        fprintf(stderr, "usage: fanout_tibs FOLDER 4|8|16 HOSTS RECORDS\n");
        return 2;
    }
    for (uint32_t host = 0; host < hosts; host++) {
        if (make(argv[1], (uint32_t)k, host, records)) {
            return 1;
        }
    }
    return 0;
}
