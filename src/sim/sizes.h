/* SPDX-License-Identifier: Apache-2.0 */
/* Flow sizes as a cumulative distribution: read from CSV, drawn at random. */
#ifndef PD_SIM_SIZES_H
#define PD_SIM_SIZES_H

#include <stddef.h>

#include "base/error.h"
#include "sim/random.h"

/* A CSV file of "bytes,share" lines, both rising, share from 0 to 1, straight lines between them;
 * lines that begin with # and a first line of titles are left out. "web-search" and "hadoop" are
 * built in (sizes/, which name their sources). */

#define PD_SIZES_POINTS_MAX 4096
#define PD_SIZES_BYTES_MAX  1e15 /* of one flow */

struct pd_sim_sizes {
    double *bytes;
    double *shares;
    size_t len;
    double mean_bytes;
};

/* A name that is built in, or a file. 0, -errno, -PD_E_SYNTAX or -PD_E_VALUE with file and line. */
int pd_sim_sizes_read(const char *name, struct pd_sim_sizes *ret_sizes, struct pd_error *error);
/* The same from memory; `name` stands for the file in errors. */
int pd_sim_sizes_parse(const char *text, size_t text_bytes, const char *name,
                       struct pd_sim_sizes *ret_sizes, struct pd_error *error);
void pd_sim_sizes_done(struct pd_sim_sizes *sizes); /* works on zeroed memory */

/* At least 1. */
double pd_sim_sizes_draw(const struct pd_sim_sizes *sizes, struct pd_sim_random *random);

#endif
