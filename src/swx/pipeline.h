/* SPDX-License-Identifier: Apache-2.0 */
/* One switch's program at work: frames in, frames out, tables and arrays between two bursts. */
#ifndef PD_SWX_PIPELINE_H
#define PD_SWX_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "swx/frame.h"

/* A pipeline of DPDK's SWX with ports of our own: what is put in comes out of the sink, frame by
 * frame, before pd_swx_pipeline_run returns. So no frame is on its way while tables are changed,
 * and each sees an update whole or not at all.
 *
 * Ports are numbered from 1; 0 is the slow path's, by which what the switch sends itself comes in,
 * and the numbers of reasons.h stand for fates. A frame that a program sends beyond them ends the
 * process: programs hold a table of ports.
 *
 * One thread. */

#define PD_SWX_PORT_MAX 255u
#define PD_SWX_NAME_MAX 64u

/* Takes the frame, which leaves by the port; of a clone (a mirror) `frame` is a copy, as any. */
typedef void pd_swx_sink(void *context, struct pd_swx_frame *frame, uint32_t port, bool clone);

struct pd_swx_pipeline;

/* `name` is unique in the process; in ports are 0 to `ports_max`. An error of the file names its
 * line. */
int pd_swx_pipeline_open(const char *name, const char *spec_file, uint32_t ports_max,
                         pd_swx_sink *sink, void *context, struct pd_swx_pipeline **ret_pipeline,
                         struct pd_error *error);
void pd_swx_pipeline_close(struct pd_swx_pipeline *pipeline); /* NULL is fine */

/* The frame comes in by frame->in_port at the next run. */
void pd_swx_pipeline_put(struct pd_swx_pipeline *pipeline, struct pd_swx_frame *frame);
/* Until all that was put in has come out. How many frames the program itself dropped (its
 * instruction `drop`), or kept for too long, which `ret_stuck` counts. */
uint32_t pd_swx_pipeline_run(struct pd_swx_pipeline *pipeline, uint32_t *ret_stuck);

/* ---- tables */

struct pd_swx_table_info {
    char name[PD_SWX_NAME_MAX];
    uint32_t size; /* entries that it has room for */
    uint64_t hits; /* frames that met an entry */
};
uint32_t pd_swx_pipeline_tables_len(const struct pd_swx_pipeline *pipeline);
/* The nth of them. */
void pd_swx_pipeline_table(const struct pd_swx_pipeline *pipeline, uint32_t nth,
                           struct pd_swx_table_info *ret_info);
/* PD_SWX_NONE: no table has this name. */
#define PD_SWX_NONE UINT32_MAX
uint32_t pd_swx_pipeline_find_table(const struct pd_swx_pipeline *pipeline, const char *name);

/* A row as `match V[/MASK] … [priority N] action NAME [ARG V] …`; without `match` it is the
 * default. Nothing happens before the commit. -PD_E_SYNTAX: it is no entry of this table.
 * -PD_E_FULL, -ENOMEM. */
int pd_swx_pipeline_add(struct pd_swx_pipeline *pipeline, uint32_t table, const char *row);
int pd_swx_pipeline_remove(struct pd_swx_pipeline *pipeline, uint32_t table, const char *row);
/* All changes at once; on failure none, and they are forgotten. */
int pd_swx_pipeline_commit(struct pd_swx_pipeline *pipeline);
void pd_swx_pipeline_abort(struct pd_swx_pipeline *pipeline);
/* What an entry of the table looks like, for errors. */
void pd_swx_pipeline_describe(const struct pd_swx_pipeline *pipeline, uint32_t table, char *text,
                              size_t room);

/* ---- arrays */

/* By its name in the program, or the last part of that: `clock` is also that of `x.clock_0`. How
 * many numbers it has; 0: there is none. ret_name has room for PD_SWX_NAME_MAX; may be NULL. */
uint32_t pd_swx_pipeline_array(const struct pd_swx_pipeline *pipeline, const char *name,
                               char *ret_name);
/* `name` as pd_swx_pipeline_array gave it; index below its length. */
void pd_swx_pipeline_write(struct pd_swx_pipeline *pipeline, const char *name, uint32_t index,
                           uint64_t value);
uint64_t pd_swx_pipeline_read(struct pd_swx_pipeline *pipeline, const char *name, uint32_t index);
uint32_t pd_swx_pipeline_arrays_len(const struct pd_swx_pipeline *pipeline);
/* Its name and how many numbers it has. */
uint32_t pd_swx_pipeline_nth_array(const struct pd_swx_pipeline *pipeline, uint32_t nth,
                                   char ret_name[PD_SWX_NAME_MAX]);

#endif
