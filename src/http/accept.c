/* SPDX-License-Identifier: Apache-2.0 */
/* The header Accept against the types that a route offers. */
#include "http/accept.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define WEIGHT_MAX 1000u

/* One item of the list: its range, and its parameters up to the next comma. */
struct range {
    const char *text;
    size_t len;
    unsigned weight; /* thousandths */
};

static size_t trim(const char *text, size_t len)
{
    while (len && (text[len - 1] == ' ' || text[len - 1] == '\t')) {
        len--;
    }
    return len;
}

/* "0.8" and the like; what is none counts as nothing wanted. */
static unsigned read_weight(const char *text, size_t len)
{
    unsigned weight = 0, scale = WEIGHT_MAX;

    if (!len || (text[0] != '0' && text[0] != '1') || (len > 1 && text[1] != '.') || len > 5) {
        return 0;
    }
    weight = (unsigned)(text[0] - '0') * scale;
    for (size_t i = 2; i < len; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return 0;
        }
        scale /= 10;
        weight += (unsigned)(text[i] - '0') * scale;
    }
    return weight < WEIGHT_MAX ? weight : WEIGHT_MAX;
}

/* ";q=0.8;level=1" */
static unsigned find_weight(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] != ';') {
            continue;
        }
        for (i++; i < len && (text[i] == ' ' || text[i] == '\t'); i++)
            ;
        if (i + 1 < len && (text[i] == 'q' || text[i] == 'Q') && text[i + 1] == '=') {
            size_t from = i + 2, to = from;

            while (to < len && text[to] != ';') {
                to++;
            }
            return read_weight(text + from, trim(text + from, to - from));
        }
        i--;
    }
    return WEIGHT_MAX;
}

/* Returns where the next one begins, or NULL. */
static const char *next_range(const char *at, struct range *ret_range)
{
    at += strspn(at, " \t,");
    if (!*at) {
        return NULL;
    }
    size_t len = strcspn(at, ","), name = strcspn(at, ",;");
    *ret_range = (struct range){at, trim(at, name), find_weight(at + name, len - name)};
    return at + len;
}

/* 3: this very type, 2: its kind, 1: any, 0: not at all. */
static int fit(const struct range *range, const char *type)
{
    size_t kind = strcspn(type, "/") + 1;

    if (range->len == strlen(type) && !strncasecmp(range->text, type, range->len)) {
        return 3;
    }
    if (range->len == kind + 1 && range->text[kind] == '*' &&
        !strncasecmp(range->text, type, kind)) {
        return 2;
    }
    return range->len == 3 && !strncmp(range->text, "*/*", 3);
}

static unsigned weigh(const char *accept, const char *type)
{
    struct range range;
    unsigned weight = 0;
    int best = 0;

    for (const char *at = next_range(accept, &range); at; at = next_range(at, &range)) {
        int fits = fit(&range, type);

        if (fits > best) {
            best = fits;
            weight = range.weight;
        }
    }
    return weight;
}

static int refuse(const char *const *types, size_t types_len, struct pd_error *error)
{
    char list[300] = "";
    size_t at = 0;

    for (size_t i = 0; i < types_len && at < sizeof list; i++) {
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "", types[i]);
    }
    return pd_fail(error, -PD_E_NOT_ACCEPTABLE, "Accept: there is %s", list);
}

int pd_http_accept_choose(const char *accept, const char *const *types, size_t types_len,
                          size_t *ret_index, struct pd_error *error)
{
    unsigned best = 0;

    if (!accept || !accept[strspn(accept, " \t,")]) {
        *ret_index = 0;
        return 0;
    }
    for (size_t i = 0; i < types_len; i++) {
        unsigned weight = weigh(accept, types[i]);

        if (weight > best) {
            best = weight;
            *ret_index = i;
        }
    }
    return best ? 0 : refuse(types, types_len, error);
}
