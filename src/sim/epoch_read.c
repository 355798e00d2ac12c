/* SPDX-License-Identifier: Apache-2.0 */
/* Members of a scenario at the level of epochs. */
#include "sim/epoch.h"
#include "json/cursor.h"

static struct pd_json_cursor members_of(const json_t *object, const char *place,
                                        struct pd_error *error)
{
    return (struct pd_json_cursor){
        .object = object, .place = place, .err = -PD_E_VALUE, .error = error};
}

static int read_count(const struct pd_json_cursor *at, const char *key, uint64_t least,
                      uint64_t most, uint32_t *count)
{
    uint64_t number = *count;
    int err = pd_json_number_or(at, key, least, most, &number);
    *count = (uint32_t)number;
    return err;
}

static int read_range(const struct pd_json_cursor *at, const char *key, double least, double most,
                      double range[2])
{
    const json_t *given = json_object_get(at->object, key);
    const json_t *low = json_array_get(given, 0), *high = json_array_get(given, 1);
    if (!given) {
        return 0;
    }
    if (json_array_size(given) != 2 || !json_is_number(low) || !json_is_number(high) ||
        !(json_number_value(low) >= least) || !(json_number_value(high) <= most) ||
        json_number_value(low) > json_number_value(high)) {
        return pd_json_wrong(at, key, "[LEAST, MOST] from %g to %g", least, most);
    }
    range[0] = json_number_value(low);
    range[1] = json_number_value(high);
    return 0;
}

static int read_counts(const struct pd_json_cursor *at, const char *key, double most,
                       uint32_t range[2])
{
    double reals[2] = {range[0], range[1]};
    int err = read_range(at, key, 1, most, reals);
    range[0] = (uint32_t)reals[0];
    range[1] = (uint32_t)reals[1];
    return err;
}

static int read_faults(const json_t *given, struct pd_sim_epochs *e, struct pd_error *error)
{
    static const char *const names[] = {"n", "loss", "heavy", NULL};
    if (!given) {
        return 0;
    }
    const struct pd_json_cursor at = members_of(given, "random_faults", error);
    e->random_faults = 1;
    int err = pd_json_only(&at, names);
    err = err ? err : read_count(&at, "n", 0, PD_SCENARIO_FAULTS_MAX, &e->random_faults);
    err = err ? err : read_count(&at, "heavy", 0, e->random_faults, &e->heavy);
    return err ? err : read_range(&at, "loss", 0, 1, e->random_loss);
}

static int read_traffic(const json_t *given, struct pd_sim_epochs *e, struct pd_error *error)
{
    static const char *const names[] = {"share", "racks", NULL};
    if (!given) {
        return 0;
    }
    const struct pd_json_cursor at = members_of(given, "traffic", error);
    e->hot_racks = 1;
    int err = pd_json_only(&at, names);
    err = err ? err : pd_json_real_or(&at, "share", 0, 1, &e->hot_share);
    return err ? err : read_count(&at, "racks", 1, 65536, &e->hot_racks);
}

int pd_sim_epochs_read(const json_t *root, struct pd_sim_epochs *ret_epochs, struct pd_error *error)
{
    struct pd_sim_epochs e = {.epochs = 1,
                              .epoch_s = 30,
                              .flows_per_host = {60, 60},
                              .pkts_per_flow = {1, 100},
                              .noise = {0, 1e-6},
                              .random_loss = {1e-4, 1e-2}};
    const struct pd_json_cursor at = members_of(root, NULL, error);
    int err = read_count(&at, "epochs", 1, 100000, &e.epochs);
    err = err ? err : pd_json_real_or(&at, "epoch_s", 0.1, 60, &e.epoch_s);
    err = err ? err : read_counts(&at, "flows_per_host", 10000, e.flows_per_host);
    err = err ? err : read_counts(&at, "pkts_per_flow", 1e6, e.pkts_per_flow);
    err = err ? err : read_range(&at, "noise", 0, 1, e.noise);
    err = err ? err : read_faults(json_object_get(root, "random_faults"), &e, error);
    err = err ? err : read_traffic(json_object_get(root, "traffic"), &e, error);
    if (!err) {
        *ret_epochs = e;
    }
    return err;
}
