/* SPDX-License-Identifier: Apache-2.0 */
/* Who is asked next, with what and until when; what is kept of the answers. */
#include "fleet/gather.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"

#define MARGIN_MIN_NS (5 * PD_NS_PER_MS)
#define MARGIN_MAX_NS PD_NS_PER_S

/* Trees that are to be asked. */
struct span {
    struct span *next;
    const struct pd_tree *trees;
    size_t len;
};

/* A host that was asked. */
struct asked {
    struct pd_gathered gathered;
    char *body, *order;
    uint64_t asked_ns;
};

struct run {
    const struct pd_gather *gather;
    struct span first;
    struct span *spans; /* newest first: what a dead host leaves has the least time left */
    struct asked **asked;
    size_t asked_len, asked_room;
    uint64_t held_bytes;
    uint64_t adopted;
};

/* ---- failures ---- */

static void adopt(struct run *run, const struct pd_tree *tree)
{
    struct span *span;
    struct pd_error error = {0};

    if (!tree->children_len) {
        return;
    }
    span = malloc(sizeof *span);
    if (span) {
        *span = (struct span){run->spans, tree->children, tree->children_len};
        run->spans = span;
        run->adopted += tree->children_len;
        return;
    }
    pd_fail(&error, -ENOMEM, "not asked: no memory");
    for (size_t i = 0; i < tree->children_len; i++) {
        run->gather->sink->missing(run->gather->sink->context, &tree->children[i], &error);
        adopt(run, &tree->children[i]);
    }
}

static void fail(struct run *run, const struct pd_tree *tree, const struct pd_error *error)
{
    run->gather->sink->missing(run->gather->sink->context, tree, error);
    adopt(run, tree);
}

/* ---- asking ---- */

static const struct pd_tree *next_tree(struct run *run)
{
    while (run->spans && !run->spans->len) {
        struct span *empty = run->spans;

        run->spans = empty->next;
        if (empty != &run->first) {
            free(empty);
        }
    }
    if (!run->spans) {
        return NULL;
    }
    run->spans->len--;
    return run->spans->trees++;
}

static uint64_t margin_of(uint64_t left_ns)
{
    uint64_t margin_ns = left_ns / 20;

    margin_ns = margin_ns < MARGIN_MIN_NS ? MARGIN_MIN_NS : margin_ns;
    margin_ns = margin_ns > MARGIN_MAX_NS ? MARGIN_MAX_NS : margin_ns;
    return margin_ns < left_ns / 2 ? margin_ns : left_ns / 2;
}

/* How long this host may take, and (later) how long we wait for it. */
static uint64_t told_ns(const struct run *run, const struct pd_tree *tree, uint64_t now_ns,
                        uint64_t *ret_until_ns)
{
    uint64_t deadline_ns = run->gather->deadline_ns;
    uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    uint64_t margin_ns = margin_of(left_ns), told = left_ns - margin_ns;

    if (tree->children_len) {
        told -= told / 4;
    }
    *ret_until_ns = now_ns + told + margin_ns / 2;
    return told;
}

/* `document` with what is this host's alone. NULL without memory. */
static char *write_body(const struct run *run, const struct pd_tree *tree, uint64_t told,
                        size_t *ret_bytes)
{
    const char *document = run->gather->document;
    char *body = NULL;
    FILE *out = open_memstream(&body, ret_bytes);

    if (!out) {
        return NULL;
    }
    fwrite(document, 1, strlen(document) - 1, out); /* up to its last bracket */
    fprintf(out, ",\"deadline_ms\":%llu", (unsigned long long)(told / PD_NS_PER_MS + 1));
    if (tree->children_len) {
        fputs(",\"children\":", out);
        pd_fleet_trees_write(tree->children, tree->children_len, out);
    }
    putc('}', out);
    int failed = ferror(out);
    if (fclose(out) || failed) {
        free(body);
        return NULL;
    }
    return body;
}

static struct asked *new_asked(struct run *run, const struct pd_tree *tree)
{
    struct asked *asked;

    if (PD_GROW(run->asked, run->asked_room, run->asked_len + 1)) {
        return NULL;
    }
    asked = calloc(1, sizeof *asked);
    if (asked) {
        asked->gathered.tree = tree;
        pd_http_answer_init(&asked->gathered.answer);
    }
    return asked;
}

static void free_asked(struct asked *asked)
{
    free(asked->body);
    free(asked->order);
    free(asked);
}

static bool prepare(struct run *run, const struct pd_tree *tree, struct pd_fanout_peer *ret_peer)
{
    const struct pd_fleet_orders *orders = run->gather->orders;
    struct asked *asked = new_asked(run, tree);
    struct pd_fanout_peer peer = {.url = tree->url};

    if (!asked) {
        return false;
    }
    asked->asked_ns = pd_clock_monotonic_ns();
    uint64_t told = told_ns(run, tree, asked->asked_ns, &peer.deadline_ns);
    peer.body = asked->body = write_body(run, tree, told, &peer.body_bytes);
    peer.order = asked->order = orders ? pd_fleet_orders_text(orders, tree) : NULL;
    if (!asked->body || (orders && !asked->order)) {
        free_asked(asked);
        return false;
    }
    run->asked[run->asked_len++] = asked;
    *ret_peer = peer;
    return true;
}

static bool is_over(const struct run *run)
{
    const struct pd_gather_sink *sink = run->gather->sink;

    return sink->is_over && sink->is_over(sink->context);
}

static bool next_peer(void *context, struct pd_fanout_peer *ret_peer)
{
    struct run *run = context;
    const struct pd_tree *tree;
    struct pd_error error = {0};

    while (!is_over(run) && (tree = next_tree(run))) {
        if (prepare(run, tree, ret_peer)) {
            return true;
        }
        pd_fail(&error, -ENOMEM, "not asked: no memory");
        fail(run, tree, &error);
    }
    return false;
}

/* ---- answers ---- */

static int take_bytes(void *context, size_t i, const char *bytes, size_t len)
{
    struct run *run = context;

    if (is_over(run)) {
        return -PD_E_BUSY;
    }
    if (run->held_bytes + len > PD_GATHER_HELD_MAX_BYTES) {
        return -PD_E_TOO_LARGE;
    }
    run->held_bytes += len;
    run->asked[i]->gathered.bytes += len;
    return pd_http_answer_write(&run->asked[i]->gathered.answer, bytes, len);
}

static void end_peer(void *context, size_t i, const struct pd_error *error)
{
    struct run *run = context;
    const struct pd_gather_sink *sink = run->gather->sink;
    struct asked *asked = run->asked[i];
    struct pd_gathered *gathered = &asked->gathered;
    struct pd_error own = *error;

    gathered->took_us = (pd_clock_monotonic_ns() - asked->asked_ns) / PD_NS_PER_US;
    if (!own.code && pd_http_answer_finish(&gathered->answer)) {
        pd_fail(&own, -PD_E_FULL, "no room to keep its answer");
    }
    if (!own.code) {
        own.code = sink->take(sink->context, gathered, &own);
    }
    if (own.code) {
        fail(run, gathered->tree, &own);
    }
    run->held_bytes -= gathered->bytes;
    pd_http_answer_done(&gathered->answer);
    free_asked(asked);
    run->asked[i] = NULL;
}

static uint64_t idle(void *context)
{
    const struct pd_gather_sink *sink = ((struct run *)context)->gather->sink;

    return sink->idle ? sink->idle(sink->context) : 0;
}

int pd_fleet_gather_run(const struct pd_gather *gather, uint64_t *ret_adopted)
{
    struct run run = {.gather = gather, .first = {NULL, gather->trees, gather->trees_len}};
    struct pd_fanout_request request = {
        .route = "/v1/query",
        .type = "application/json",
        .accept = gather->accept,
        .deadline_ns = gather->deadline_ns,
        .max_bytes = gather->max_bytes,
        .cancelled = gather->cancelled,
        .asks_signs = true,
        .at_once = gather->at_once ? gather->at_once : PD_GATHER_AT_ONCE,
    };
    struct pd_fanout_source source = {&run, next_peer};
    struct pd_fanout_sink sink = {&run, take_bytes, end_peer, idle};

    run.spans = &run.first;
    int err = pd_fleet_fanout_run(gather->fanout, &request, &source, &sink);
    while (next_tree(&run)) /* what is left when it is over */
        ;
    free(run.asked);
    *ret_adopted = run.adopted;
    return err;
}

ssize_t pd_fleet_gathered_read(void *context, void *buffer, size_t size)
{
    struct pd_gathered_reader *reader = context;
    const struct pd_answer *answer = reader->answer;
    ssize_t n;

    if (answer->fd >= 0) {
        do {
            n = pread(answer->fd, buffer, size, (off_t)reader->at);
        } while (n < 0 && errno == EINTR);
        if (n < 0) {
            return -errno;
        }
    } else {
        n = (ssize_t)(answer->len - reader->at < size ? answer->len - reader->at : size);
        if (n) {
            memcpy(buffer, answer->bytes + reader->at, (size_t)n);
        }
    }
    reader->at += (uint64_t)n;
    return n;
}
