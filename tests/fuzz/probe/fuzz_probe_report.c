/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a report of probes; what is read and written again is read as the same. */
#include <stdlib.h>
#include <string.h>

#include "probe/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool copy_hops(struct pd_bytes *from, uint32_t len, struct pd_probe_report_out *to)
{
    struct pd_probe_hop hop = {0};
    bool good = true;

    for (uint32_t i = 0; i < len && good; i++) {
        good = pd_probe_report_next_hop(from, &hop);
        pd_probe_report_put_hop(to, &hop);
    }
    return good;
}

static bool copy(struct pd_bytes *from, struct pd_probe_report_out *to)
{
    struct pd_probe_report report;
    struct pd_probe_report_sent sent;
    struct pd_probe_report_came came;
    bool good = pd_probe_report_read(from, &report);

    if (!good) {
        return false;
    }
    pd_probe_report_begin(to, &report);
    for (uint32_t i = 0; i < report.sent_len && good; i++) {
        good = pd_probe_report_next_sent(from, &sent);
        pd_probe_report_put_sent(to, &sent);
    }
    for (uint32_t i = 0; i < report.came_len && good; i++) {
        good = pd_probe_report_next_came(from, &came);
        pd_probe_report_put_came(to, &came);
        good = good && copy_hops(from, came.hops, to);
    }
    return good && !to->err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pd_probe_report_out first = {0}, second = {0};
    struct pd_bytes bytes = {data, size};

    if (copy(&bytes, &first)) {
        struct pd_bytes again = {first.bytes, first.len};

        if (!copy(&again, &second) || second.len != first.len ||
            memcmp(second.bytes, first.bytes, first.len) != 0) {
            abort();
        }
    }
    free(first.bytes);
    free(second.bytes);
    return 0;
}
