/* SPDX-License-Identifier: Apache-2.0 */
/* PINT among the schemes. */
#ifndef PD_CODEC_PINT_CODEC_H
#define PD_CODEC_PINT_CODEC_H

#include "codec/codec.h"

extern const struct pd_codec_ops pd_pint_codec;

#endif
