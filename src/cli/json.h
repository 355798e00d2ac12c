/* SPDX-License-Identifier: Apache-2.0 */
/* JSON: answers printed, and what others wrote read: members of answers and of exported records,
 * each checked for its type and range. */
#ifndef PD_CLI_JSON_H
#define PD_CLI_JSON_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "tib/record.h"

/* Prints the document on one line of standard output and lets go of it. PD_CLI_OK, or a negative
 * error: NULL is one, too. */
int pd_cli_json_print(json_t *document, struct pd_error *error);

/* All of the others are what a cursor (json/cursor.h) reads for the CLI: they return 0 or
 * -PD_E_SYNTAX with the member's name in the error, behind `where`, and leave their outputs as they
 * were then. Members that nobody asks for are left alone. Thread safety: works on the caller's
 * memory. */
struct pd_cli_reader {
    const char *where; /* "the answer", "line 7" */
    struct pd_error *error;
};

#define PD_READ_MAX PD_TIB_SUM_MAX /* numbers are exact in JSON up to here */

int pd_cli_read_bad(const struct pd_cli_reader *reader, const char *key, const char *expected);
int pd_cli_read_number(const struct pd_cli_reader *reader, const json_t *object, const char *key,
                       uint64_t max, uint64_t *ret_number);
int pd_cli_read_array(const struct pd_cli_reader *reader, const json_t *object, const char *key,
                      const json_t **ret_array);
int pd_cli_read_addr(const struct pd_cli_reader *reader, const json_t *object, const char *key,
                     struct pd_addr *ret_addr, uint8_t *ret_ip_version);
int pd_cli_read_switches(const struct pd_cli_reader *reader, const json_t *array,
                         struct pd_path *path);

/* "path" and what belongs to it (query/way.h). */
int pd_cli_read_path(const struct pd_cli_reader *reader, const json_t *object,
                     struct pd_path *ret_path, struct pd_claim *ret_claim);
/* "flow_id" */
int pd_cli_read_flow(const struct pd_cli_reader *reader, const json_t *object,
                     struct pd_flow_id *ret_flow);
/* "stime_us" and "etime_us", not before it. */
int pd_cli_read_times(const struct pd_cli_reader *reader, const json_t *object,
                      struct pd_tib_record *record);
/* "bytes" and "pkts", at most `max` */
int pd_cli_read_counts(const struct pd_cli_reader *reader, const json_t *object, uint64_t max,
                       struct pd_tib_record *record);

#endif
