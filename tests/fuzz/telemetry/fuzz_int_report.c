/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a datagram of reports: each ends, and lies within what came. */
#include <stdlib.h>

#include "telemetry/int_report/int_report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pd_bytes datagram = {data, size};
    struct pd_int_report_head head;
    struct pd_int_report report;
    size_t reports = 0;
    int err = pd_int_report_begin(&datagram, &head);

    while (!err) {
        err = pd_int_report_next(&datagram, &head, &report);
        if (err) {
            break;
        }
        if (report.packet.left &&
            (report.packet.at < data || report.packet.at + report.packet.left > data + size)) {
            abort();
        }
        if (++reports > size / 4 + 1 || !(report.hop.known & PD_TELEMETRY_NODE)) {
            abort();
        }
    }
    return 0;
}
