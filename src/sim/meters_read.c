/* SPDX-License-Identifier: Apache-2.0 */
/* The member "meters" of a scenario. */
#include "meter/meter.h"
#include "sim/meters.h"
#include "json/cursor.h"

#define COUNT_MAX UINT64_C(1000000000)

static int read_u32(const struct pd_json_cursor *at, const char *member, uint64_t least,
                    uint64_t most, uint32_t *number)
{
    uint64_t value = *number;
    const int err = pd_json_number_or(at, member, least, most, &value);

    *number = (uint32_t)value;
    return err;
}

static int read_loop(const struct pd_json_cursor *at, struct pd_meter_loop_settings *loop)
{
    int err = pd_json_number_or(at, "alpha", 0, COUNT_MAX, &loop->alpha);

    err = err ? err : read_u32(at, "beta", 0, 65536, &loop->beta);
    err = err ? err : read_u32(at, "delta", 1, 65536, &loop->delta);
    err = err ? err : read_u32(at, "eta", 0, COUNT_MAX, &loop->eta);
    err = err ? err : read_u32(at, "epochs", 1, PD_METER_EPOCHS_MAX, &loop->epochs);
    loop->epochs_min = loop->epochs_min < loop->epochs ? loop->epochs_min : loop->epochs;
    err = err ? err : read_u32(at, "epochs_min", 1, loop->epochs, &loop->epochs_min);
    return err ? err : read_u32(at, "rules", 1, 1U << 20, &loop->rules_max);
}

static int read_sketch(const struct pd_json_cursor *at, struct pd_sim_meters_settings *meters)
{
    static const char *const monitors[] = {"tor", "tor+top"};
    unsigned top = 0;
    int err = pd_json_word_or(at, "monitors", monitors, 2, &top);

    meters->top = top;
    err = err ? err : read_u32(at, "rows", 1, PD_METER_ROWS_MAX, &meters->rows);
    err = err ? err : read_u32(at, "width", 1, PD_METER_WIDTH_MAX, &meters->width);
    if (!err && meters->width & (meters->width - 1)) {
        err = pd_json_wrong(at, "width", "a power of two");
    }
    return err ? err : read_u32(at, "epoch_ms", 4, 60000, &meters->epoch_ms);
}

int pd_sim_meters_read(const json_t *root, struct pd_sim_scenario *scenario, struct pd_error *error)
{
    static const char *const names[] = {"monitors", "rows", "width",  "epoch_ms",   "alpha", "beta",
                                        "delta",    "eta",  "epochs", "epochs_min", "rules", NULL};
    struct pd_sim_meters_settings meters = {
        .epoch_ms = 100, .rows = 3, .width = 1024, .loop = PD_METER_LOOP_DEFAULTS};
    const struct pd_json_cursor at = {.object = json_object_get(root, "meters"),
                                      .place = "meters",
                                      .err = -PD_E_VALUE,
                                      .error = error};

    if (!at.object) {
        return 0;
    }
    if (scenario->level == PD_SIM_EPOCHS) {
        return pd_fail(error, -PD_E_VALUE, "meters: only at the levels of flows and of packets");
    }
    int err = pd_json_only(&at, names);
    err = err ? err : read_sketch(&at, &meters);
    err = err ? err : read_loop(&at, &meters.loop);
    if (!err) {
        scenario->meters = meters;
    }
    return err;
}
