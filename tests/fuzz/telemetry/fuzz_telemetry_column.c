/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a column of hops' measurements: refused, or read to its end and written again as the
 * same. */
#include <stdlib.h>
#include <string.h>

#include "telemetry/column.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
    if (!truth) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t again[PD_TELEMETRY_COLUMN_BYTES_MAX];
    struct pd_telemetry_column column, copy;
    struct pd_telemetry_series series, other;
    struct pd_telemetry_writer writer;

    if (pd_telemetry_column_open(data, size, &column)) {
        return 0;
    }
    pd_telemetry_writer_begin(&writer, again, sizeof again, column.host);
    *series.name = *other.name = '\0';
    for (copy = column; pd_telemetry_column_next(&copy, &series);) {
        pd_telemetry_writer_add(&writer, &series);
    }
    require(!writer.full && writer.used <= size);
    require(!pd_telemetry_column_open(again, writer.used, &copy) && copy.host == column.host);
    while (pd_telemetry_column_next(&column, &series)) {
        require(pd_telemetry_column_next(&copy, &other));
        require(!strcmp(series.name, other.name) && series.place == other.place &&
                series.len == other.len &&
                !memcmp(series.bins, other.bins, series.len * sizeof *series.bins));
    }
    return 0;
}
