/* SPDX-License-Identifier: Apache-2.0 */
/* What a client has already, and what it can read: If-None-Match, Accept-Encoding. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http/answer.h"

/* Tags are compared weakly (RFC 9110, 13.1.2): the one form of a body stands for the other. */
static bool has_tag(const char *list, const char *tag)
{
    size_t len = strlen(tag);

    for (; *list; list += strcspn(list, ",")) {
        list += strspn(list, ", \t");
        if (*list == '*') {
            return true;
        }
        list += strncmp(list, "W/", 2) ? 0 : 2;
        if (!strncmp(list, tag, len) && strchr(", \t", list[len])) {
            return true;
        }
    }
    return false;
}

bool pd_http_answer_version(struct pd_answer *answer, const char *version,
                            const char *if_none_match)
{
    snprintf(answer->etag, sizeof answer->etag, "W/\"%.40s\"", version);
    if (!if_none_match || !has_tag(if_none_match, answer->etag + 2)) {
        return false;
    }
    answer->http_status = 304;
    return true;
}

/* One item: a coding and, behind a semicolon, how much it is wanted. */
static bool is_wanted(const char *item, size_t len)
{
    const char *weight = memchr(item, ';', len);

    if (!weight) {
        return true;
    }
    weight += 1 + strspn(weight + 1, " \t");
    return tolower((unsigned char)*weight) != 'q' || weight[1] != '=' ||
           strtod(weight + 2, NULL) > 0;
}

bool pd_http_answer_gzip_accepted(const char *accept_encoding)
{
    for (const char *at = accept_encoding; at && *at; at += strcspn(at, ",")) {
        at += strspn(at, ", \t");
        if (!strncasecmp(at, "gzip", 4) && strchr(",; \t", at[4])) {
            return is_wanted(at, strcspn(at, ","));
        }
    }
    return false;
}
