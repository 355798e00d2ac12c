/* SPDX-License-Identifier: Apache-2.0 */
/* How likely chance alone makes a load as uneven as this one. */
#ifndef PD_APPS_LOAD_IMBALANCE_CHANCE_H
#define PD_APPS_LOAD_IMBALANCE_CHANCE_H

#include <stdint.h>

/* Internal to load-imbalance. Balancing hashes flows, or draws packets, over links: with few of
 * them uneven loads are the rule, and a rate of imbalance alone says nothing. Hoeffding's bound
 * holds whatever the sizes: for independent shares s_i that each fall on a link or not, the chance
 * that its load is away from its mean by t or more is at most exp(-2 t² / sum of s_i²). Both return
 * that, for any of `choices` links on either side, at most 1. */

/* What is more likely than this is not reported: a watch looks every few seconds, for days. */
#define CHANCE_REPORTED 1e-6

double pd_load_imbalance_chance_of_load(double away, double squares, double choices);

/* That the `run` largest of many flows all lie on one link of `links`, in one of `groups`, when
 * each is put by itself. */
double pd_load_imbalance_chance_of_run(uint64_t run, uint64_t links, double groups);

#endif
