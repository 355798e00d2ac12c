/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of packets on their way from the intake to the store: what codecs with samples tell. */
#ifndef PD_AGENT_SAMPLES_H
#define PD_AGENT_SAMPLES_H

#include "agent/counters.h"
#include "agent/model.h"
#include "intake/intake.h"

/*     intake thread                                 store thread
 *     frame -> codec's `sample` -> ring    ->    pd_resolver_sample -> state of the flow
 *
 * A scheme with samples (codec/codec.h) reads one off each frame. It goes into a bounded ring
 * beside the table of flows; one that finds the ring full is counted and gone, and nobody waits.
 * The store's thread folds what is there before it resolves the records behind it, so a record's
 * path is told by all samples of its packets that found room.
 *
 * Frames are read by the codecs of the model that the daemon began with; samples of one that a
 * reload has taken away are counted and left out.
 *
 * Thread safety: as the picture says; the rest by who opens and closes the pipeline. */

struct pd_agent_samples;

#define PD_AGENT_SAMPLES_SLOTS  65536u /* of the ring: 4 MiB */
#define PD_AGENT_SAMPLES_DUE_MS 20     /* longest time that they lie in the ring */

/* *ret_samples is NULL when no codec of the model reads samples off frames. 0 or -ENOMEM. */
int pd_agent_samples_new(struct pd_model *model, struct pd_agent_counters *counters,
                         struct pd_agent_samples **ret_samples);
void pd_agent_samples_free(struct pd_agent_samples *samples); /* NULL is fine */

/* What the intake is to call for each frame; it calls `next` (may be NULL), too. */
const struct pd_intake_tap *pd_agent_samples_tap(struct pd_agent_samples *samples,
                                                 const struct pd_intake_tap *next);

/* The store's thread; NULL is fine for both. Takes in all that lie in the ring. */
void pd_agent_samples_fold(struct pd_agent_samples *samples, struct pd_resolver *resolver);
/* When to do so again at the latest (monotonic), where `deadline_ns` is another duty. */
uint64_t pd_agent_samples_due(const struct pd_agent_samples *samples, uint64_t deadline_ns);

#endif
