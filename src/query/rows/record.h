/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a store as rows: columns for people and CSV; out.h has their JSON. */
#ifndef PD_QUERY_ROWS_RECORD_H
#define PD_QUERY_ROWS_RECORD_H

#include "query/rows/cells.h"
#include "tib/record.h"

/* Flow ID, way, times, packets, bytes: getFlows, topRecords, `tib export`. Thread safety: pure. */
#define PD_ROWS_RECORD_COLUMNS 8
extern const struct pd_rows_column pd_rows_record_columns[PD_ROWS_RECORD_COLUMNS];

/* Fills a row of them. */
void pd_rows_record(struct pd_rows_table *rows, const struct pd_tib_record *record);

#endif
