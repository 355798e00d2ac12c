/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over hosts, and the list of those that are missing. */
#include "fleet/census.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "http/text.h"
#include "tib/tib.h" /* PD_TIB_SUM_MAX */

static int make_room(struct pd_census *census, size_t more)
{
    size_t wanted = census->missing_len + more, room = census->missing_room;

    if (wanted <= room) {
        return 0;
    }
    room = 2 * room > wanted ? 2 * room : wanted;
    void *grown = reallocarray(census->missing, room, sizeof *census->missing);
    if (!grown) {
        return -ENOMEM;
    }
    census->missing = grown;
    census->missing_room = room;
    return 0;
}

int pd_census_missing(struct pd_census *census, uint32_t host, const char *reason)
{
    char *copy = strndup(reason, PD_PARTIAL_REASON_BYTES - 1);
    int e = copy ? make_room(census, 1) : -ENOMEM;

    if (e) {
        free(copy);
    } else {
        census->missing[census->missing_len++] =
            (struct pd_partial_missing){.host = host, .reason = copy};
    }
    return e;
}

static void add(uint64_t *sum, uint64_t value)
{
    *sum = value > PD_TIB_SUM_MAX - *sum ? PD_TIB_SUM_MAX : *sum + value;
}

int pd_census_add(struct pd_census *census, const struct pd_census *host)
{
    size_t len = census->missing_len;
    int e = make_room(census, host->missing_len);

    for (size_t i = 0; !e && i < host->missing_len; i++) {
        e = pd_census_missing(census, host->missing[i].host, host->missing[i].reason);
    }
    if (e) {
        while (census->missing_len > len) {
            free((char *)(uintptr_t)census->missing[--census->missing_len].reason);
        }
        return e;
    }
    census->answered += host->answered;
    add(&census->bytes, host->bytes);
    if (host->below_us > census->below_us) {
        census->below_us = host->below_us;
    }
    census->adopted += host->adopted;
    return 0;
}

void pd_census_done(struct pd_census *census)
{
    for (size_t i = 0; i < census->missing_len; i++) {
        free((char *)(uintptr_t)census->missing[i].reason);
    }
    free(census->missing);
    *census = (struct pd_census){0};
}

static int by_host(const void *a, const void *b)
{
    const struct pd_partial_missing *x = a, *y = b;

    return (x->host > y->host) - (x->host < y->host);
}

static json_t *since_json(uint64_t since_us)
{
    return since_us ? json_integer((json_int_t)since_us) : json_null();
}

int pd_census_json(struct pd_census *census, uint64_t critical_us, json_t *object)
{
    json_t *missing = json_array();
    int failed = 0;

    if (census->missing_len) {
        qsort(census->missing, census->missing_len, sizeof *census->missing, by_host);
    }
    for (size_t i = 0; i < census->missing_len; i++) {
        failed |= json_array_append_new(
            missing, json_pack("{s:I, s:o, s:o}", "id", (json_int_t)census->missing[i].host,
                               "reason", pd_text_json(census->missing[i].reason), "since_us",
                               since_json(census->missing[i].since_us)));
    }
    failed |= json_object_set_new(object, "hosts",
                                  json_pack("{s:I, s:I, s:o}", "asked", (json_int_t)census->asked,
                                            "answered", (json_int_t)census->answered, "missing",
                                            missing));
    failed |= json_object_set_new(object, "cost",
                                  json_pack("{s:I, s:I}", "bytes", (json_int_t)census->bytes,
                                            "critical_path_us", (json_int_t)critical_us));
    return failed ? -ENOMEM : 0;
}

/* ---- who may be spoken of ---- */

int pd_roster_init(struct pd_roster *roster, const struct pd_tree *tree)
{
    roster->ids = pd_trees_ids(tree, 1, &roster->len);
    roster->spoken = roster->ids ? calloc(roster->len, sizeof *roster->spoken) : NULL;
    if (roster->spoken) {
        return 0;
    }
    free(roster->ids);
    return -ENOMEM;
}

void pd_roster_done(struct pd_roster *roster)
{
    free(roster->ids);
    free(roster->spoken);
}

int pd_roster_speak(struct pd_roster *roster, uint32_t host)
{
    size_t from = 0, to = roster->len;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (roster->ids[middle] < host) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    if (from == roster->len || roster->ids[from] != host || roster->spoken[from]) {
        return -PD_E_VALUE;
    }
    roster->spoken[from] = true;
    return 0;
}
