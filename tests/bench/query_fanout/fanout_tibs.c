/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one TIB for each of the first hosts of a fat-tree: what each of them would have received.
 *
 * fanout_tibs FOLDER K HOSTS RECORDS      stores FOLDER/tib0 … tib(HOSTS-1); the same arguments give the same records */
#include <stdio.h>
#include <stdlib.h>

#include "../tib_load/dataset.h"

#define BATCH         1024u
#define RECORDS_PER_S (240000 / 3600.0) /* an hour of records at a host, as the paper has it */

static int append(struct pd_tib *tib, struct dataset *dataset, size_t records)
{
    static struct pd_tib_record batch[BATCH];
    static struct pd_path paths[BATCH];
    int err = 0;
    while (records && !err) {
        size_t len = records < BATCH ? records : BATCH;
        for (size_t i = 0; i < len; i++)
            dataset_next(dataset, &paths[i], &batch[i]);
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
    snprintf(directory, sizeof directory, "%s/tib%u", folder, host);
    if (dataset_init(&dataset, host + 1, RECORDS_PER_S))
        return -1;
    dataset_place(&dataset, k, host);
    int err = pd_tib_open(directory, PD_TIB_WRITE, NULL, &tib, &error);
    if (!err) {
        err = append(tib, &dataset, records);
        pd_tib_close(tib);
    }
    dataset_done(&dataset);
    if (err)
        fprintf(stderr, "fanout_tibs: %s: %s\n", directory, pd_error_text(err));
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
    for (uint32_t host = 0; host < hosts; host++)
        if (make(argv[1], (uint32_t)k, host, records))
            return 1;
    return 0;
}
