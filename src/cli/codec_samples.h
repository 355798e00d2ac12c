/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump codec verify` of schemes with samples. */
#ifndef PD_CLI_CODEC_SAMPLES_H
#define PD_CLI_CODEC_SAMPLES_H

#include "codec/codec.h"

/* A thousand trials, printed; an error when a path was told wrong or not at all. One thread. */
int pd_cli_codec_samples(const struct pd_codec *codec, bool json, struct pd_error *error);

#endif
