/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, times and paths as people read them. */
#ifndef PD_QUERY_ROWS_TEXT_H
#define PD_QUERY_ROWS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/claim.h"
#include "base/clock.h"
#include "base/flow_id.h"

/* What a switch is called; NULL where that is not known. The text lives as long as `context`. */
struct pd_style_names {
    void *context;
    const char *(*of)(void *context, uint32_t switch_id);
};

/* How a stream may be written on. Colour only on a terminal that is not "dumb", and not under
 * NO_COLOR (no-color.org). */
struct pd_style {
    bool utf8;
    bool colour;
    bool csv;                           /* rows for programs: nothing but tables, as CSV */
    bool local;                         /* times of day of this machine, not UTC */
    unsigned width;                     /* columns of a terminal; 0: no end */
    const struct pd_style_names *names; /* of switches; NULL: their IDs */
};
struct pd_style pd_row_style_of(FILE *stream);
struct pd_style pd_row_style_as(FILE *stream, bool csv); /* plain words for CSV */

#define PD_TEXT_NUMBER_BYTES 32 /* enough for each of the texts below */

/* These write into `text` and return it. */
const char *pd_row_text_number(uint64_t number, char text[PD_TEXT_NUMBER_BYTES]); /* "1,234,567" */
const char *pd_row_text_bytes(uint64_t bytes, char text[PD_TEXT_NUMBER_BYTES]);   /* "1.2 MiB" */
const char *pd_row_text_rate(double bps, char text[PD_TEXT_NUMBER_BYTES]);       /* "1.20 Gbit/s" */
const char *pd_row_text_span(uint64_t span_us, char text[PD_TEXT_NUMBER_BYTES]); /* "1.204 s" */

/* RFC 3339 with a blank instead of the T: easier on the eye, and still read by --from and --to. */
const char *pd_row_text_time(uint64_t wall_us, const struct pd_style *style,
                             char text[PD_TIME_TEXT_BYTES]);

/* "10.1.1.2:80", "[fd00::2]:80"; the address alone for a protocol without ports. */
const char *pd_row_text_end(const struct pd_addr *addr, const struct pd_flow_id *flow,
                            uint16_t port, char text[PD_END_TEXT_BYTES]);

const char *pd_row_text_plural(uint64_t n); /* "s" or "" */

#define PD_TEXT_PATH_BYTES (PD_PATH_MAX * 68) /* names have up to 63 characters */

/* Of a claim: "tags 9,14" where it has no path; "1→0→17 (partial, trace)" where it is no
 * exact one from tags. */
#define PD_TEXT_WAY_BYTES (PD_TEXT_PATH_BYTES + 192)
const char *pd_row_text_way(const struct pd_claim *claim, const struct pd_style *style,
                            char text[PD_TEXT_WAY_BYTES]);

/* "1→9→17", "1-9-17" where that cannot be shown; names where the style has them. */
const char *pd_row_text_path(const struct pd_path *path, const struct pd_style *style,
                             char text[PD_TEXT_PATH_BYTES]);

/* What others wrote, for a terminal: whole characters of it as fit, control characters replaced.
 * NULL is "?". */
const char *pd_row_text_word(const char *text, char *word, size_t size);

#endif
