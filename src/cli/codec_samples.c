/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump codec verify` of schemes with samples: many packets tell a path together. */
#include "cli/codec_samples.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/json.h"
#include "codec/samples.h"

#define TRIALS      1000
#define PACKETS_MAX 100000

static int print_json(const struct pd_codec_trials_outcome *outcome, struct pd_error *error)
{
    return pd_cli_json_print(
        json_pack("{s:I,s:{s:f,s:i,s:i},s:I,s:I}", "trials", (json_int_t)outcome->trials, "decided",
                  "mean", outcome->mean, "p50", (int)outcome->p50, "p99", (int)outcome->p99,
                  "undecided", (json_int_t)outcome->undecided, "wrong", (json_int_t)outcome->wrong),
        error);
}

int pd_cli_codec_samples(const struct pd_codec *codec, bool json, struct pd_error *error)
{
    const struct pd_codec_trials wanted = {.trials = TRIALS, .seed = 1, .packets_max = PACKETS_MAX};
    struct pd_codec_trials_outcome outcome;
    int err = pd_codec_samples_try(codec, &wanted, &outcome);
    if (err) {
        return pd_fail(error, err, "codec %s: %s", codec->ops->name, pd_error_text(err));
    }
    if (json) {
        err = print_json(&outcome, error);
    } else {
        printf("packets until     mean    p50    p99\n");
        printf("  decided     %8.2f %6" PRIu32 " %6" PRIu32 "\n", outcome.mean, outcome.p50,
               outcome.p99);
        printf("undecided %" PRIu64 ", wrong %" PRIu64 " of %" PRIu64 " trials\n",
               outcome.undecided, outcome.wrong, outcome.trials);
    }
    if (!err && (outcome.wrong || outcome.undecided)) {
        err = pd_fail(error, -PD_E_TOPOLOGY, "paths cannot be told: do not deploy this codec here");
    }
    return err;
}
