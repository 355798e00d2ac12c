/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence for localisers: a long span that nobody has looked at is given as several periods. */
#include "apps/join_look.h"

#include <errno.h>
#include <stdlib.h>

/* Whoever asks for the first time asks for a minute or so. As one period it would tell nothing of
 * time: neither whether a link has begun to drop packets a moment ago, nor whether what is seen is
 * one burst. So the span is cut into parts, which get longer with their age, since what is old
 * matters less: each costs a question to senders and one to receivers. */

#define SECOND_US UINT64_C(1000000)

/* Ages of the cuts, in seconds. */
static const unsigned ages[] = {1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 24, 36};
enum { AGES = sizeof ages / sizeof *ages, PARTS_MAX = AGES + 1 };

struct parts {
    uint64_t from_us[PARTS_MAX + 1]; /* ascending; the last is the end of the span */
    size_t len;
    struct pd_app_suffering suffering[PARTS_MAX]; /* `fresh` and `lost` within each */
};

static void parts_done(struct parts *parts)
{
    for (size_t i = 0; i < parts->len; i++) {
        pd_app_suffering_done(&parts->suffering[i]);
    }
}

static struct parts cut(uint64_t from_us, uint64_t to_us)
{
    struct parts parts = {.from_us = {from_us}, .len = 1};

    for (size_t i = AGES; i-- > 0;) {
        if (to_us - from_us > (ages[i] + 1) * SECOND_US) {
            parts.from_us[parts.len++] = to_us - ages[i] * SECOND_US;
        }
    }
    parts.from_us[parts.len] = to_us;
    return parts;
}

/* What was sent again since the begin of each part; the oldest last, which knows of all flows. */
static int ask_senders(struct parts *parts, const struct pd_app_call *call,
                       struct pd_report *report, struct pd_error *error)
{
    int err = 0;

    for (size_t i = parts->len; i-- > 0 && !err;) {
        err = pd_app_suffering_ask(&parts->suffering[i], call, parts->from_us[i], report, error);
    }
    return err;
}

/* From what came since the begin of each part to what came within it. What is spared is told of no
 * time: handshakes come first, so the oldest are spared. */
static void tell_apart(struct parts *parts)
{
    const struct pd_app_suffering *oldest = &parts->suffering[0];

    for (size_t f = 0; f < oldest->len; f++) {
        uint64_t after = 0, left = oldest->flows[f].lost;

        for (size_t i = parts->len; i-- > 0;) {
            struct pd_app_sufferer *flow =
                pd_app_suffering_find(&parts->suffering[i], &oldest->flows[f].flow);

            if (flow) {
                uint64_t since = flow->fresh > after ? flow->fresh : after;

                flow->fresh = since - after;
                flow->lost = flow->fresh < left ? flow->fresh : left;
                left -= flow->lost;
                after = since;
            }
        }
    }
}

int pd_app_join_back(const struct pd_app_join_look *whole, struct pd_app_suffering *ret_suffering,
                     struct pd_error *error)
{
    struct parts parts = cut(whole->from_us, whole->to_us);
    int err = ask_senders(&parts, whole->call, whole->report, error);

    if (!err) {
        tell_apart(&parts);
    }
    for (size_t i = 0; i < parts.len && !err; i++) {
        struct pd_app_join_look look = *whole;

        look.suffering = &parts.suffering[i];
        look.from_us = parts.from_us[i];
        look.to_us = parts.from_us[i + 1];
        err = pd_app_join_look(&look, error);
    }
    if (!err) {
        pd_app_suffering_done(ret_suffering);
        *ret_suffering = parts.suffering[0];
        parts.suffering[0] = (struct pd_app_suffering){0};
    }
    parts_done(&parts);
    return err;
}
