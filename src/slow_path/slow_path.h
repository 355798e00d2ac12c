/* SPDX-License-Identifier: Apache-2.0 */
/* The slow path of a switch: what its program hands over in place of forwarding it. */
#ifndef PD_SLOW_PATH_SLOW_PATH_H
#define PD_SLOW_PATH_SLOW_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/flow_id.h"

/* One for each switch, whatever runs it. A punted frame is written down as a line of JSON and, if
 * it died of its TTL, answered with an ICMP time exceeded from the address of the link that it came
 * in by (RFC 792, 1812, 4443), so many a second at most. The answer is a frame that the owner puts
 * through the switch as any other.
 *
 * Paper 000 (CherryPick), section 3.1: suspicious packets go to the controller; paper 007, section
 * 4: switches limit their answers.
 *
 * One thread. */

#define PD_SLOW_PATH_PORTS        256u
#define PD_SLOW_PATH_ANSWER_BYTES 1300u /* of a frame, at most */
#define PD_SLOW_PATH_FRAME_BYTES  9216u
#define PD_SLOW_PATH_LINES_PER_S  10000u /* that are written down, of a storm */
#define PD_SLOW_PATH_TTL          "ttl"  /* the reason that is answered */

/* So many a second, and as many at once. Times never go back; one that does counts as the last. */
struct pd_slow_path_rate {
    uint64_t per_s, credit_ns, last_ns; /* credit: of time, at most a second's */
    bool begun;
};
bool pd_slow_path_rate_take(struct pd_slow_path_rate *rate, uint64_t now_ns);

struct pd_slow_path_config {
    uint32_t switch_id;
    const char *punts;    /* file to append to; NULL: none */
    uint32_t icmp_per_s;  /* 0: no answers */
    uint32_t lines_per_s; /* 0: no limit, for captures */
};

struct pd_slow_path_punt {
    uint16_t in_port;
    uint64_t time_ns; /* Unix */
    const char *reason;
    const uint8_t *frame; /* as it came in */
    size_t bytes;
};

struct pd_slow_path;

/* 0 or a negative error in words. */
int pd_slow_path_open(const struct pd_slow_path_config *config, struct pd_slow_path **ret_path,
                      struct pd_error *error);
void pd_slow_path_close(struct pd_slow_path *path); /* NULL is fine */

/* The address of the link at a port, of either family. */
void pd_slow_path_set_address(struct pd_slow_path *path, uint16_t port, uint8_t ip_version,
                              const struct pd_addr *addr);
/* All of them from a file of `match PORT action address v4 0x… v6_hi 0x… v6_lo 0x…`, 0: none
 * (docs/formats/switch-tables.md). 0, also where there is no such file, or a negative error with
 * file and line. */
int pd_slow_path_read_addresses(struct pd_slow_path *path, const char *file,
                                struct pd_error *error);

/* Takes one. How many bytes of `answer` are a frame that the switch now sends; 0: none. */
size_t pd_slow_path_take(struct pd_slow_path *path, const struct pd_slow_path_punt *punt,
                         uint8_t answer[PD_SLOW_PATH_ANSWER_BYTES]);

/* Punts that were not written down since there were too many, or since the file was full. */
uint64_t pd_slow_path_unwritten(const struct pd_slow_path *path);

/* A line of the punts' file, for those who write it themselves. 0 or -errno. */
int pd_slow_path_write(FILE *out, uint32_t switch_id, const struct pd_slow_path_punt *punt);

/* ICMP time exceeded for a frame (icmp.c): how many bytes of it are in `answer`; 0: none is due
 * (RFC 1122, 3.2.2: no errors about errors, later fragments, groups). */
size_t pd_slow_path_time_exceeded(const uint8_t *frame, size_t bytes, const struct pd_addr *from_v4,
                                  const struct pd_addr *from_v6,
                                  uint8_t answer[PD_SLOW_PATH_ANSWER_BYTES]);

#endif
