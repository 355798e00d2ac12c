/* SPDX-License-Identifier: Apache-2.0 */
/* Members of a scenario at the level of epochs. */
#include <string.h>

#include "sim/epoch.h"

/* A number within bounds; the one that is there where it is missing. */
static int read_number(const json_t *object, const char *key, double least, double most,
                       double *number, struct pd_error *error)
{
    const json_t *given = json_object_get(object, key);
    double value = json_number_value(given);
    if (!given) {
        return 0;
    }
    if (!json_is_number(given) || !(value >= least && value <= most)) {
        return pd_fail(error, -PD_E_VALUE, "%s: expected a number from %g to %g", key, least, most);
    }
    *number = value;
    return 0;
}

static int read_count(const json_t *object, const char *key, double least, double most,
                      uint32_t *count, struct pd_error *error)
{
    double number = *count;
    int err = read_number(object, key, least, most, &number, error);
    *count = (uint32_t)number;
    return err;
}

static int read_range(const json_t *object, const char *key, double least, double most,
                      double range[2], struct pd_error *error)
{
    const json_t *given = json_object_get(object, key);
    const json_t *low = json_array_get(given, 0), *high = json_array_get(given, 1);
    if (!given) {
        return 0;
    }
    if (json_array_size(given) != 2 || !json_is_number(low) || !json_is_number(high) ||
        !(json_number_value(low) >= least) || !(json_number_value(high) <= most) ||
        json_number_value(low) > json_number_value(high)) {
        return pd_fail(error, -PD_E_VALUE, "%s: expected [LEAST, MOST] from %g to %g", key, least,
                       most);
    }
    range[0] = json_number_value(low);
    range[1] = json_number_value(high);
    return 0;
}

static int read_counts(const json_t *object, const char *key, double most, uint32_t range[2],
                       struct pd_error *error)
{
    double reals[2] = {range[0], range[1]};
    int err = read_range(object, key, 1, most, reals, error);
    range[0] = (uint32_t)reals[0];
    range[1] = (uint32_t)reals[1];
    return err;
}

/* An object of these names alone. */
static int check_object(const json_t *object, const char *where, const char *const *names,
                        struct pd_error *error)
{
    const char *key;
    json_t *value;
    if (!json_is_object(object)) {
        return pd_fail(error, -PD_E_VALUE, "%s: expected an object", where);
    }
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        size_t i = 0;
        while (names[i] && strcmp(names[i], key) != 0) {
            i++;
        }
        if (!names[i]) {
            return pd_fail(error, -PD_E_UNKNOWN_KEY, "%s: %.60s: unknown member", where, key);
        }
    }
    return 0;
}

static int read_faults(const json_t *given, struct pd_sim_epochs *e, struct pd_error *error)
{
    static const char *const names[] = {"n", "loss", "heavy", NULL};
    if (!given) {
        return 0;
    }
    e->random_faults = 1;
    int err = check_object(given, "random_faults", names, error);
    err = err ? err : read_count(given, "n", 0, PD_SCENARIO_FAULTS_MAX, &e->random_faults, error);
    err = err ? err : read_count(given, "heavy", 0, e->random_faults, &e->heavy, error);
    return err ? err : read_range(given, "loss", 0, 1, e->random_loss, error);
}

static int read_traffic(const json_t *given, struct pd_sim_epochs *e, struct pd_error *error)
{
    static const char *const names[] = {"share", "racks", NULL};
    if (!given) {
        return 0;
    }
    e->hot_racks = 1;
    int err = check_object(given, "traffic", names, error);
    err = err ? err : read_number(given, "share", 0, 1, &e->hot_share, error);
    return err ? err : read_count(given, "racks", 1, 65536, &e->hot_racks, error);
}

int pd_sim_epochs_read(const json_t *root, struct pd_sim_epochs *ret_epochs, struct pd_error *error)
{
    struct pd_sim_epochs e = {.epochs = 1,
                              .epoch_s = 30,
                              .flows_per_host = {60, 60},
                              .pkts_per_flow = {1, 100},
                              .noise = {0, 1e-6},
                              .random_loss = {1e-4, 1e-2}};
    int err = read_count(root, "epochs", 1, 100000, &e.epochs, error);
    err = err ? err : read_number(root, "epoch_s", 0.1, 60, &e.epoch_s, error);
    err = err ? err : read_counts(root, "flows_per_host", 10000, e.flows_per_host, error);
    err = err ? err : read_counts(root, "pkts_per_flow", 1e6, e.pkts_per_flow, error);
    err = err ? err : read_range(root, "noise", 0, 1, e.noise, error);
    err = err ? err : read_faults(json_object_get(root, "random_faults"), &e, error);
    err = err ? err : read_traffic(json_object_get(root, "traffic"), &e, error);
    if (!err) {
        *ret_epochs = e;
    }
    return err;
}
