/* SPDX-License-Identifier: Apache-2.0 */
/* The further column of a record: what the hops of its path measured, as histograms. */
#ifndef PD_TELEMETRY_COLUMN_H
#define PD_TELEMETRY_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "telemetry/bins.h"
#include "telemetry/counts.h"

/* A series is one measured value at one place of the path; its bins are values with how often they
 * came. Values stand there and no codes, so that a record is read without the plan it was measured
 * by, and records of several plans merge. docs/formats/tib.md, kind 4, has the bytes.
 *
 * A column comes from a file or from another host, and may be anything: pd_telemetry_column_open
 * looks at all of it, after which reading it cannot fail.
 *
 * Thread safety: pure. */

#define PD_TELEMETRY_COLUMN_KIND      4
#define PD_TELEMETRY_COLUMN_BYTES_MAX 8192u
#define PD_TELEMETRY_NAME_MAX         64u
#define PD_TELEMETRY_PLACES_MAX       128u
#define PD_TELEMETRY_BINS_MAX         256u /* of a series */

struct pd_telemetry_series {
    char name[PD_TELEMETRY_NAME_MAX + 1]; /* "latency": of the plan's query */
    uint32_t place;                       /* of the path's switches, from 1; 0: of the whole path */
    uint32_t len;
    struct pd_telemetry_bin bins[PD_TELEMETRY_BINS_MAX]; /* by value, no value twice */
};

/* Printable ASCII but '"' and '\': nothing that JSON, a table or a terminal would take for more. */
bool pd_telemetry_is_name(const char *bytes, size_t len);

/* ---- reading */

struct pd_telemetry_column {
    const uint8_t *at, *end;
    uint32_t host; /* that the packets arrived at: what the last switch sent to; 0: not known */
};

/* 0 or -PD_E_CORRUPT. */
int pd_telemetry_column_open(const uint8_t *bytes, size_t len,
                             struct pd_telemetry_column *ret_column);
/* The next series; *series keeps the name for those that follow and begins zeroed. False: no more.
 */
bool pd_telemetry_column_next(struct pd_telemetry_column *column,
                              struct pd_telemetry_series *series);

/* ---- writing */

struct pd_telemetry_writer {
    uint8_t *bytes;
    size_t used, room;
    bool full; /* something did not fit: then what is there is not to be used */
    char name[PD_TELEMETRY_NAME_MAX + 1];
};

/* `room`: at most PD_TELEMETRY_COLUMN_BYTES_MAX. */
void pd_telemetry_writer_begin(struct pd_telemetry_writer *writer, uint8_t *bytes, size_t room,
                               uint32_t host);
/* Series in any order, but each name and place once; one without bins is left out. */
void pd_telemetry_writer_add(struct pd_telemetry_writer *writer,
                             const struct pd_telemetry_series *series);

/* What a series number of a cell stands for. */
struct pd_telemetry_scale {
    const char *name;
    const uint64_t *values; /* that codes stand for, never falling */
    unsigned codes;
    uint64_t space_bytes; /* for all hops together, at 4 bytes a code; 0: no bound */
};

/* Cells as pd_telemetry_counts_sorted gives them, of a path of `places` switches, the first of
 * which is hop number `first_hop`; those of other hops are left out. Two neighbouring codes become
 * one until it fits, with the value of the middle one. Returns the bytes written; 0: there is
 * nothing to write, or no room even so. */
size_t pd_telemetry_column_write(const struct pd_telemetry_cell *cells, size_t len,
                                 const struct pd_telemetry_scale *scales, uint32_t first_hop,
                                 uint32_t places, uint32_t host,
                                 uint8_t ret_bytes[PD_TELEMETRY_COLUMN_BYTES_MAX]);

#endif
