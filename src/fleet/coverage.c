/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over hosts, and the list of those that are missing. */
#include "fleet/coverage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "http/text.h"
#include "tib/record.h" /* PD_TIB_SUM_MAX */

int pd_fleet_coverage_missing(struct pd_fleet_coverage *coverage, uint32_t host, const char *reason)
{
    char *copy = strndup(reason, PD_PARTIAL_REASON_BYTES - 1);
    int err = copy ? PD_GROW(coverage->missing, coverage->missing_room, coverage->missing_len + 1)
                   : -ENOMEM;

    if (err) {
        free(copy);
    } else {
        coverage->missing[coverage->missing_len++] =
            (struct pd_partial_missing){.host = host, .reason = copy};
    }
    return err;
}

static void add(uint64_t *sum, uint64_t value)
{
    *sum = value > PD_TIB_SUM_MAX - *sum ? PD_TIB_SUM_MAX : *sum + value;
}

int pd_fleet_coverage_add(struct pd_fleet_coverage *coverage, const struct pd_fleet_coverage *host)
{
    size_t len = coverage->missing_len;
    int err = PD_GROW(coverage->missing, coverage->missing_room,
                      coverage->missing_len + host->missing_len);

    for (size_t i = 0; !err && i < host->missing_len; i++) {
        err = pd_fleet_coverage_missing(coverage, host->missing[i].host, host->missing[i].reason);
    }
    if (err) {
        while (coverage->missing_len > len) {
            free((char *)(uintptr_t)coverage->missing[--coverage->missing_len].reason);
        }
        return err;
    }
    coverage->answered += host->answered;
    add(&coverage->bytes, host->bytes);
    if (host->below_us > coverage->below_us) {
        coverage->below_us = host->below_us;
    }
    coverage->adopted += host->adopted;
    return 0;
}

void pd_fleet_coverage_done(struct pd_fleet_coverage *coverage)
{
    for (size_t i = 0; i < coverage->missing_len; i++) {
        free((char *)(uintptr_t)coverage->missing[i].reason);
    }
    free(coverage->missing);
    *coverage = (struct pd_fleet_coverage){0};
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

int pd_fleet_coverage_json(struct pd_fleet_coverage *coverage, uint64_t critical_us, json_t *object)
{
    json_t *missing = json_array();
    int failed = 0;

    if (coverage->missing_len) {
        qsort(coverage->missing, coverage->missing_len, sizeof *coverage->missing, by_host);
    }
    for (size_t i = 0; i < coverage->missing_len; i++) {
        failed |= json_array_append_new(
            missing, json_pack("{s:I, s:o, s:o}", "id", (json_int_t)coverage->missing[i].host,
                               "reason", pd_http_text_json(coverage->missing[i].reason), "since_us",
                               since_json(coverage->missing[i].since_us)));
    }
    failed |= json_object_set_new(object, "hosts",
                                  json_pack("{s:I, s:I, s:o}", "asked", (json_int_t)coverage->asked,
                                            "answered", (json_int_t)coverage->answered, "missing",
                                            missing));
    failed |= json_object_set_new(object, "cost",
                                  json_pack("{s:I, s:I}", "bytes", (json_int_t)coverage->bytes,
                                            "critical_path_us", (json_int_t)critical_us));
    return failed ? -ENOMEM : 0;
}

/* ---- who may be spoken of ---- */

int pd_fleet_roster_init(struct pd_roster *roster, const struct pd_tree *tree)
{
    roster->broken = false;
    roster->ids = pd_fleet_trees_ids(tree, 1, &roster->len);
    roster->spoken = roster->ids ? calloc(roster->len, sizeof *roster->spoken) : NULL;
    if (roster->spoken) {
        return 0;
    }
    free(roster->ids);
    return -ENOMEM;
}

void pd_fleet_roster_done(struct pd_roster *roster)
{
    free(roster->ids);
    free(roster->spoken);
}

int pd_fleet_roster_speak(struct pd_roster *roster, uint32_t host)
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
        roster->broken = true;
        return -PD_E_VALUE;
    }
    roster->spoken[from] = true;
    return 0;
}

int pd_fleet_roster_close(struct pd_roster *roster, uint64_t asked, uint64_t answered,
                          uint64_t missing)
{
    if (asked == roster->len && missing <= asked && answered == asked - missing) {
        return 0;
    }
    roster->broken = true;
    return -PD_E_VALUE;
}
