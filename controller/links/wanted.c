/* SPDX-License-Identifier: Apache-2.0 */
/* Reader of the parameters of link metrics. */
#include "controller/links/wanted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define STEP_MAX_MS 86400000u

/* ---- metrics ---- */

static int unknown_metric(const char *name, size_t len, struct pd_error *error)
{
    char names[256] = "";

    for (unsigned m = 0; pd_link_metrics[m]; m++) {
        size_t at = strlen(names);

        snprintf(names + at, sizeof names - at, "%s%s", m ? ", " : "", pd_link_metrics[m]->name);
    }
    pd_fail(error, -PD_E_VALUE, "there is no link metric \"%.*s\"; there are %s",
            (int)(len < 40 ? len : 40), name, names);
    pd_printable(error->text);
    return -PD_E_VALUE;
}

static uint32_t find_metric(const char *name, size_t len)
{
    char text[48];

    snprintf(text, sizeof text, "%.*s", (int)len, name);
    return len < sizeof text ? pd_link_metric_find(text) : PD_NONE;
}

int pd_links_read_metrics(const char *names, bool ret_metrics[PD_LINK_METRICS_MAX],
                          struct pd_error *error)
{
    for (unsigned m = 0; pd_link_metrics[m]; m++) {
        ret_metrics[m] = !names;
    }
    while (names) {
        size_t len = strcspn(names, ",");
        uint32_t m = find_metric(names, len);

        if (m == PD_NONE) {
            return unknown_metric(names, len, error);
        }
        ret_metrics[m] = true;
        names = names[len] ? names + len + 1 : NULL;
    }
    return 0;
}

/* ---- one parameter ---- */

static int read_time(const char *value, uint64_t *ret_us, bool *ret_has, struct pd_error *error)
{
    *ret_has = true;
    return pd_time_parse(value, ret_us)
               ? pd_fail(error, -PD_E_VALUE, "expects a time: seconds since the epoch or RFC 3339")
               : 0;
}

static int read_step(const char *value, uint64_t *ret_us, struct pd_error *error)
{
    size_t len = strlen(value);
    uint64_t ms =
        len && len < 10 && strspn(value, "0123456789") == len ? strtoull(value, NULL, 10) : 0;

    if (!ms || ms > STEP_MAX_MS) {
        return pd_fail(error, -PD_E_VALUE, "expects milliseconds, 1 to %u", STEP_MAX_MS);
    }
    *ret_us = ms * 1000;
    return 0;
}

static int read_form(const char *value, enum pd_links_form *ret_form, struct pd_error *error)
{
    static const char *const names[] = {"png", "npy", "json"};

    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(names[i], value)) {
            *ret_form = (enum pd_links_form)i;
            return 0;
        }
    }
    return pd_fail(error, -PD_E_VALUE, "expects png, npy or json");
}

static int read_metrics(const char *value, struct pd_links_wanted *wanted, struct pd_error *error)
{
    int err = pd_links_read_metrics(value, wanted->metrics, error);

    wanted->metrics_len = 0;
    for (unsigned m = 0; pd_link_metrics[m] && !err; m++) {
        wanted->metric = wanted->metrics[m] ? m : wanted->metric;
        wanted->metrics_len += wanted->metrics[m];
    }
    return err;
}

static int read_one(const char *name, const char *value, struct pd_links_wanted *wanted,
                    struct pd_error *error)
{
    if (!strcmp(name, "metrics") || !strcmp(name, "metric")) {
        return read_metrics(value, wanted, error);
    }
    if (!strcmp(name, "from")) {
        return read_time(value, &wanted->from_us, &wanted->has_from, error);
    }
    if (!strcmp(name, "to")) {
        return read_time(value, &wanted->to_us, &wanted->has_to, error);
    }
    return !strcmp(name, "step_ms") ? read_step(value, &wanted->step_us, error)
                                    : read_form(value, &wanted->form, error);
}

/* ---- all of them ---- */

static bool is_allowed(const char *allowed, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = allowed; len && (at = strstr(at, name)); at += len) {
        if ((at == allowed || at[-1] == ' ') && (!at[len] || at[len] == ' ')) {
            return true;
        }
    }
    return false;
}

int pd_links_read_wanted(struct pd_call *call, const char *allowed,
                         struct pd_links_wanted *ret_wanted, struct pd_problem *problem)
{
    struct pd_links_wanted wanted = {.metric = 0};
    char value[PD_TARGET_MAX_BYTES], *name = problem->parameter;
    struct pd_error *error = &problem->error;
    int err = pd_links_read_metrics(NULL, wanted.metrics, error), more = 0;

    while (!err && (more = pd_http_target_next(&call->parameters, name, sizeof problem->parameter,
                                               value, sizeof value, error)) > 0) {
        err = is_allowed(allowed, name)
                  ? read_one(name, value, &wanted, error)
                  : pd_fail(error, -PD_E_UNKNOWN_KEY, "%s: unknown parameter", name);
    }
    if (err || more < 0) {
        pd_printable(error->text); /* the name is a stranger's */
        return err ? err : more;
    }
    name[0] = '\0';
    if (wanted.has_from && wanted.has_to && wanted.from_us >= wanted.to_us) {
        return pd_fail(error, -PD_E_VALUE, "to: expects a time after from");
    }
    *ret_wanted = wanted;
    return 0;
}
