/* SPDX-License-Identifier: Apache-2.0 */
/* Verification of schemes with samples: after how many packets a path is known, and whether it is
 * the one that was taken. */
#ifndef PD_CODEC_SAMPLES_H
#define PD_CODEC_SAMPLES_H

#include "codec/codec.h"

/* No one packet tells a path, so that there are no marks of paths to compare (verify.h). A trial
 * draws two racks, a shortest path between them and packet IDs; the scheme's rules, executed along
 * the path, make the samples, which are folded until the scheme decides. Same seed, same result.
 * One thread. */

struct pd_codec_trials {
    uint64_t trials, seed;
    uint32_t packets_max; /* without a decision by then the path is undecided */
};

struct pd_codec_trials_outcome {
    uint64_t trials;
    uint64_t undecided;
    uint64_t wrong; /* decided for another path than that taken, or refused */
    double mean;    /* packets until the decision, of those decided rightly; 0: none was */
    uint32_t p50, p99;
};

/* The codec's marks are samples. 0; -PD_E_NOT_FOUND: no two racks have a path; -ENOMEM. */
int pd_codec_samples_try(const struct pd_codec *codec, const struct pd_codec_trials *wanted,
                         struct pd_codec_trials_outcome *ret_outcome);

#endif
