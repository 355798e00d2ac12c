/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence of any bytes: refused with its line, or judged by every localiser. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evidence/file.h"
#include "localise/localise.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void need(bool holds)
{
    if (!holds) {
        abort();
    }
}

static int take(void *context, const struct pd_evidence_period *period)
{
    struct pd_cause cause;
    need(!pd_localiser_observe(context, period));
    for (size_t i = 0; i < period->rows_len; i++) {
        need(!pd_localiser_cause(context, &period->rows[i], &cause));
    }
    return 0;
}

static void judge(const struct pd_localiser_ops *ops, const struct pd_topology *topology, FILE *in)
{
    const struct pd_localiser_config config = {.topology = topology};
    struct pd_localiser *localiser;
    struct pd_verdict verdict;
    struct pd_error error = {0};
    need(!pd_localiser_new(ops, &config, &localiser));
    const struct pd_evidence_sink sink = {localiser, take};
    if (pd_evidence_read(in, "input", &sink, &error)) {
        need(!strncmp(error.text, "input:", 6));
    } else {
        need(!pd_localiser_locate(localiser, &verdict));
        need(verdict.confidence >= 0 && verdict.confidence <= 1);
        json_t *answer = pd_localiser_answer(localiser, 1);
        need(answer != NULL);
        json_decref(answer);
    }
    pd_localiser_free(localiser);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static struct pd_topology *topology;
    FILE *in = len ? fmemopen((void *)(uintptr_t)bytes, len, "r") : NULL;
    if (!topology) {
        need(!pd_topology_fat_tree(4, &topology, NULL));
    }
    for (size_t i = 0; pd_localisers[i] && in; i++) {
        rewind(in);
        judge(pd_localisers[i], topology, in);
    }
    if (in) {
        fclose(in);
    }
    return 0;
}
