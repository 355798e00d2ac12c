/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over hosts, and the list of those that are missing. */
#include "fleet/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "http/text.h"
#include "tib/tib.h" /* PD_TIB_SUM_MAX */

static int make_room(struct pd_tally *tally, size_t more)
{
    size_t wanted = tally->missing_len + more, room = tally->missing_room;

    if (wanted <= room)
        return 0;
    room = 2 * room > wanted ? 2 * room : wanted;
    void *grown = reallocarray(tally->missing, room, sizeof *tally->missing);
    if (!grown)
        return -ENOMEM;
    tally->missing = grown;
    tally->missing_room = room;
    return 0;
}

int pd_tally_missing(struct pd_tally *tally, uint32_t host, const char *reason)
{
    char *copy = strndup(reason, PD_PARTIAL_REASON_BYTES - 1);
    int e = copy ? make_room(tally, 1) : -ENOMEM;

    if (e)
        free(copy);
    else
        tally->missing[tally->missing_len++] = (struct pd_partial_missing){host, copy};
    return e;
}

static void add(uint64_t *sum, uint64_t value)
{
    *sum = value > PD_TIB_SUM_MAX - *sum ? PD_TIB_SUM_MAX : *sum + value;
}

int pd_tally_add(struct pd_tally *tally, const struct pd_tally *host)
{
    size_t len = tally->missing_len;
    int e = make_room(tally, host->missing_len);

    for (size_t i = 0; !e && i < host->missing_len; i++)
        e = pd_tally_missing(tally, host->missing[i].host, host->missing[i].reason);
    if (e) {
        while (tally->missing_len > len)
            free((char *)(uintptr_t)tally->missing[--tally->missing_len].reason);
        return e;
    }
    tally->answered += host->answered;
    add(&tally->bytes, host->bytes);
    if (host->below_us > tally->below_us)
        tally->below_us = host->below_us;
    tally->adopted += host->adopted;
    return 0;
}

void pd_tally_done(struct pd_tally *tally)
{
    for (size_t i = 0; i < tally->missing_len; i++)
        free((char *)(uintptr_t)tally->missing[i].reason);
    free(tally->missing);
    *tally = (struct pd_tally){0};
}

static int by_host(const void *a, const void *b)
{
    const struct pd_partial_missing *x = a, *y = b;

    return (x->host > y->host) - (x->host < y->host);
}

int pd_tally_json(struct pd_tally *tally, uint64_t critical_us, json_t *object)
{
    json_t *missing = json_array();
    int failed = 0;

    if (tally->missing_len)
        qsort(tally->missing, tally->missing_len, sizeof *tally->missing, by_host);
    for (size_t i = 0; i < tally->missing_len; i++)
        failed |= json_array_append_new(
            missing, json_pack("{s:I, s:o}", "id", (json_int_t)tally->missing[i].host, "reason",
                               pd_text_json(tally->missing[i].reason)));
    failed |=
        json_object_set_new(object, "hosts",
                            json_pack("{s:I, s:I, s:o}", "asked", (json_int_t)tally->asked,
                                      "answered", (json_int_t)tally->answered, "missing", missing));
    failed |= json_object_set_new(object, "cost",
                                  json_pack("{s:I, s:I}", "bytes", (json_int_t)tally->bytes,
                                            "critical_path_us", (json_int_t)critical_us));
    return failed ? -ENOMEM : 0;
}

/* ---- who may be spoken of ---- */

int pd_roster_init(struct pd_roster *roster, const struct pd_tree *tree)
{
    roster->ids = pd_trees_ids(tree, 1, &roster->len);
    roster->spoken = roster->ids ? calloc(roster->len, sizeof *roster->spoken) : NULL;
    if (roster->spoken)
        return 0;
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

        if (roster->ids[middle] < host)
            from = middle + 1;
        else
            to = middle;
    }
    if (from == roster->len || roster->ids[from] != host || roster->spoken[from])
        return -PD_E_VALUE;
    roster->spoken[from] = true;
    return 0;
}
