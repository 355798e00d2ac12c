/* SPDX-License-Identifier: Apache-2.0 */
/* A checked cursor over members of a JSON object that somebody else wrote. */
#ifndef PD_JSON_CURSOR_H
#define PD_JSON_CURSOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/flow_id.h"

/* The object may be anything, also NULL: then every member is missing. Errors read "FILE:LINE:
 * PLACE.MEMBER: expects …", with what there is of the first three, and have the cursor's code.
 * Outputs are untouched on failure.
 *
 *     const struct pd_json_cursor at = {.object = entry, .file = name, .err = -PD_E_VALUE, …};
 *     int err = pd_json_number(&at, "id", 0, UINT32_MAX, &id);
 *     err = err ? err : pd_json_number_or(&at, "period_ms", 1, 60000, &period_ms);
 *
 * pd_json_…_or: a member that is missing leaves what is there. Thread safety: pure functions. */
struct pd_json_cursor {
    const json_t *object;
    const char *file;  /* NULL: none */
    uint64_t line;     /* of the file, from 1; 0: none */
    const char *place; /* of the object in its document ("queries[1]"); NULL: at the top */
    int err;           /* what a wrong member is: -PD_E_VALUE, -PD_E_SYNTAX */
    struct pd_error *error;
};

#define PD_JSON_NUMBER_MAX (UINT64_C(1) << 53) /* numbers are exact in JSON up to here */

/* For members that are read in another way: "expects" and what. Returns the cursor's code. */
int pd_json_wrong(const struct pd_json_cursor *at, const char *member, const char *expected, ...)
    __attribute__((format(printf, 3, 4)));

/* It is an object with none but these members, NULL-terminated: else the cursor's code, or
 * -PD_E_UNKNOWN_KEY. */
int pd_json_only(const struct pd_json_cursor *at, const char *const *members);

/* A whole number. */
int pd_json_number(const struct pd_json_cursor *at, const char *member, uint64_t least,
                   uint64_t most, uint64_t *ret_number);
int pd_json_number_or(const struct pd_json_cursor *at, const char *member, uint64_t least,
                      uint64_t most, uint64_t *number);

/* A number, whole or not. */
int pd_json_real_or(const struct pd_json_cursor *at, const char *member, double least, double most,
                    double *number);

int pd_json_flag_or(const struct pd_json_cursor *at, const char *member, bool *flag);

/* Words without a NUL in them, so that they end where they seem to. The document's; or copied, less
 * than `size` bytes of them. */
int pd_json_words(const struct pd_json_cursor *at, const char *member, const char **ret_words);
int pd_json_text(const struct pd_json_cursor *at, const char *member, char *ret_text, size_t size);

/* A list of so many members: the document's. */
int pd_json_list(const struct pd_json_cursor *at, const char *member, size_t least, size_t most,
                 const json_t **ret_list);
int pd_json_list_or(const struct pd_json_cursor *at, const char *member, size_t least, size_t most,
                    const json_t **list);

/* A list of whole numbers up to `max`; `values` has room for `most`. */
int pd_json_numbers(const struct pd_json_cursor *at, const char *member, size_t least, size_t most,
                    uint64_t max, uint64_t *values, size_t *ret_len);

/* One of `len` words, by its index. */
int pd_json_word(const struct pd_json_cursor *at, const char *member, const char *const *words,
                 size_t len, unsigned *ret_index);
int pd_json_word_or(const struct pd_json_cursor *at, const char *member, const char *const *words,
                    size_t len, unsigned *index);

int pd_json_addr(const struct pd_json_cursor *at, const char *member, struct pd_addr *ret_addr,
                 uint8_t *ret_ip_version);

/* The object has "src_ip", "dst_ip", "src_port", "dst_port" and "protocol"; both addresses are of
 * one family. */
int pd_json_flow(const struct pd_json_cursor *at, struct pd_flow_id *ret_flow);

#endif
