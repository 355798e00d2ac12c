/* SPDX-License-Identifier: Apache-2.0 */
/* One packet log: packets that a filter wants, with their paths, in a capture file. */
#ifndef PD_AGENT_LOGS_LOG_H
#define PD_AGENT_LOGS_LOG_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/model.h"
#include "base/error.h"
#include "packet/packet.h"
#include "query/query.h"

/* The intake's thread offers frames: those whose flow the filter wants are copied into a ring that
 * is bounded; when it is full they are counted as dropped. A thread of the log's own takes them
 * out, finds their path, leaves those whose path the filter does not want, and writes the others.
 * It ends when the time is over, or a limit is reached. The file has no name and ends with the log.
 *
 * offered = packets + other_path + dropped + too_late, once the log has finished.
 *
 * Thread safety: pd_log_packet_log_offer in one thread at a time, all else in any, but for free. */

#define PD_PACKET_LOG_SECONDS_MAX 3600
#define PD_PACKET_LOG_PACKETS_MAX 1000000
#define PD_PACKET_LOG_SNAP_MIN    64 /* addresses, two tags and ports */
#define PD_PACKET_LOG_SNAP_MAX    65535
#define PD_PACKET_LOG_FILE_BYTES  (UINT64_C(64) << 20)
#define PD_PACKET_LOG_RING_BYTES  ((size_t)2 << 20)
#define PD_PACKET_LOG_ROWS_MAX    1000 /* the first ones, kept beside the file */

struct pd_packet_request {
    uint64_t id;           /* 0: any that is free */
    struct pd_query query; /* getFlows: its filter is the log's */
    uint64_t seconds, max_packets, snap_bytes;
};

/* Reads the body of POST /v1/logs. 0 or a negative error in words that begin with the member. */
int pd_log_packet_request_read(const json_t *body, struct pd_packet_request *ret_request,
                               struct pd_error *error);

struct pd_packet_log;

/* The file is made in `folder`. Holds the model. 0 or a negative error in words. */
int pd_log_packet_log_new(const struct pd_packet_request *request, const char *folder,
                          struct pd_model *model, struct pd_packet_log **ret_log,
                          struct pd_error *error);
/* Waits for its thread. Nobody offers to it any more. NULL is fine. */
void pd_log_packet_log_free(struct pd_packet_log *log);

/* On the packet path: no lock, no allocation, no system call. */
void pd_log_packet_log_offer(struct pd_packet_log *log, const struct pd_packet *packet,
                             const uint8_t *frame, size_t captured, size_t wire, uint64_t time_ns);

uint64_t pd_log_packet_log_id(const struct pd_packet_log *log);
bool pd_log_packet_log_finished(const struct pd_packet_log *log);
json_t *pd_log_packet_log_json(
    struct pd_packet_log *log); /* as in GET /v1/logs; NULL without memory */
json_t *pd_log_packet_log_rows(struct pd_packet_log *log); /* the same with "rows" */
/* The file as far as it is written: a descriptor of the caller's, and its length. -errno. */
int pd_log_packet_log_file(const struct pd_packet_log *log, int *ret_fd, uint64_t *ret_bytes);

#endif
