/* SPDX-License-Identifier: Apache-2.0 */
/* Paths and links: text, hash, comparison, match. */
#include "base/path.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"

bool pd_path_equal(const struct pd_path *a, const struct pd_path *b)
{
    return a == b ||
           (a->len == b->len && !memcmp(a->switches, b->switches, a->len * sizeof *a->switches));
}

uint64_t pd_path_hash(const struct pd_path *path)
{
    return pd_hash(path, PD_PATH_BYTES(path->len));
}

void pd_path_copy(struct pd_path *to, const struct pd_path *from)
{
    memcpy(to, from, PD_PATH_BYTES(from->len));
}

int pd_path_compare(const struct pd_path *a, const struct pd_path *b)
{
    uint32_t len = a->len < b->len ? a->len : b->len;

    for (uint32_t i = 0; a != b && i < len; i++) {
        if (a->switches[i] != b->switches[i]) {
            return a->switches[i] < b->switches[i] ? -1 : 1;
        }
    }
    return (a->len > b->len) - (a->len < b->len);
}

static bool side_matches(uint32_t wanted, uint32_t sw)
{
    return !wanted || wanted == sw;
}

bool pd_path_crosses(const struct pd_path *path, struct pd_link_match link)
{
    if (!link.from && !link.to) {
        return true;
    }
    for (unsigned i = 1; i < path->len; i++) {
        uint32_t from = path->switches[i - 1], to = path->switches[i];

        if (from && to && side_matches(link.from, from) && side_matches(link.to, to)) {
            return true;
        }
    }
    return false;
}

/* A switch ID: decimal, no sign, no spaces, 1 … 2^32-1. Moves `at` behind it. */
static int parse_id(const char **at, uint32_t *ret_id)
{
    uint64_t id = 0;
    const char *digit = *at;
    for (; isdigit((unsigned char)*digit); digit++) {
        if ((id = id * 10 + (uint64_t)(*digit - '0')) > UINT32_MAX) {
            return -PD_E_VALUE;
        }
    }
    if (digit == *at || !id) {
        return -PD_E_VALUE;
    }
    *at = digit;
    *ret_id = (uint32_t)id;
    return 0;
}

int pd_switches_parse(const char *text, uint32_t *switches, uint32_t most, uint32_t *ret_len)
{
    uint32_t len = 0;
    for (;; text++) {
        if (len == most || parse_id(&text, &switches[len])) {
            return -PD_E_VALUE;
        }
        len++;
        if (!*text) {
            break;
        }
        if (*text != ',') {
            return -PD_E_VALUE;
        }
    }
    *ret_len = len;
    return 0;
}

int pd_path_parse(const char *text, struct pd_path *ret_path)
{
    struct pd_path path = {0};
    uint32_t len;
    int error = pd_switches_parse(text, path.switches, PD_PATH_MAX, &len);
    if (error) {
        return error;
    }
    path.len = len;
    *ret_path = path;
    return 0;
}

static int parse_side(const char **at, uint32_t *ret_id)
{
    if (**at != '*') {
        return parse_id(at, ret_id);
    }
    ++*at;
    *ret_id = 0;
    return 0;
}

int pd_link_parse(const char *text, struct pd_link_match *ret_link)
{
    struct pd_link_match link;
    if (parse_side(&text, &link.from) || *text++ != '-' || parse_side(&text, &link.to) || *text) {
        return -PD_E_VALUE;
    }
    *ret_link = link;
    return 0;
}

/* 0 is the wildcard. */
static const char *format_end(uint32_t id, char text[11])
{
    snprintf(text, 11, "%" PRIu32, id);
    return id ? text : "*";
}

const char *pd_link_format(struct pd_link_match link, char text[PD_LINK_TEXT_BYTES])
{
    char from[11], to[11];

    snprintf(text, PD_LINK_TEXT_BYTES, "%s-%s", format_end(link.from, from),
             format_end(link.to, to));
    return text;
}
