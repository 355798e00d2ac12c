/* SPDX-License-Identifier: Apache-2.0 */
/* load_bps: bits a second that crossed a link, as the records of all receivers have them. */
#include "base/clock.h"
#include "controller/links/metric.h"

static int read_load(struct pd_link_window *window, float *values, struct pd_error *error)
{
    double seconds = (double)(window->to_us - window->from_us) / (double)PD_US_PER_S;
    const uint64_t *bytes;
    int err = pd_link_window_bytes(window, &bytes, error);

    for (uint32_t i = 0; i < window->len && !err; i++) {
        values[i] = (float)((double)bytes[i] * 8 / seconds);
    }
    return err;
}

static double scale(const struct pd_app_world *world, uint32_t link)
{
    return pd_link_bps(world, link);
}

extern const struct pd_link_metric pd_link_load;
const struct pd_link_metric pd_link_load = {
    .name = "load_bps",
    .unit = "bit/s",
    .fold = PD_LINK_MEAN,
    .help = "bits a second over the link: its records, each prorated",
    .read = read_load,
    .scale = scale,
    .from_records = true,
};
