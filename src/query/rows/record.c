/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a store as rows. */
#include "query/rows/record.h"

const struct pd_rows_column pd_rows_record_columns[PD_ROWS_RECORD_COLUMNS] = {
    {.title = "SOURCE", .csv = "src_ip,src_port"},
    {.title = "DESTINATION", .csv = "dst_ip,dst_port"},
    {.title = "PROTO", .csv = "protocol", .spare = 3},
    {.title = "PATH", .spare = 1},
    {.title = "FIRST PACKET", .spare = 4},
    {.title = "LASTED", .right = true, .csv = "lasted_us", .spare = 5},
    {.title = "PACKETS", .right = true, .spare = 2},
    {.title = "BYTES", .right = true},
};

void pd_rows_record(struct pd_rows_table *rows, const struct pd_tib_record *record)
{
    const struct pd_claim claim = pd_tib_claim(record);

    pd_rows_flow(rows, &record->flow);
    pd_rows_way(pd_rows_style(rows), rows, &claim);
    pd_rows_times(rows, record);
    pd_rows_number(rows, record->pkts);
    pd_rows_bytes(rows, record->bytes);
}
