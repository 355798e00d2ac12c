/* SPDX-License-Identifier: Apache-2.0 */
/* Coordinate descent: parts of the problem that share nothing, each swept until it rests. */
#include "localise/canary/descent.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { SWEEPS_MAX = 1000, THREADS_MAX = 16, THREADS_FROM = 4096 /* paths */ };
#define REST    1e-9
#define CONCAVE 1e-12

/* A part: paths that share links, and these links, both by their numbers in it. */
struct part {
    uint32_t first_path, paths_len; /* in `order` */
    unsigned sweeps;
    int err;
};

struct job {
    const struct pd_descent *descent;
    double *x;
    uint32_t *root;  /* by link: of its part */
    uint32_t *order; /* paths, part by part */
    struct part *parts;
    size_t parts_len;
    atomic_size_t next;
};

/* ---- parts ---- */

static uint32_t find_root(uint32_t *root, uint32_t link)
{
    while (root[link] != link) {
        root[link] = root[root[link]];
        link = root[link];
    }
    return link;
}

static uint32_t first_link(const struct pd_descent *d, size_t path)
{
    return d->links[d->starts[path]];
}

static void join(struct job *job)
{
    const struct pd_descent *d = job->descent;
    for (uint32_t l = 0; l < d->links_len; l++) {
        job->root[l] = l;
    }
    for (size_t p = 0; p < d->paths_len; p++) {
        for (uint32_t i = d->starts[p] + 1; i < d->starts[p + 1]; i++) {
            uint32_t a = find_root(job->root, d->links[i]);
            job->root[a] = find_root(job->root, first_link(d, p));
        }
    }
}

/* Only parts with something lost. */
static int make_parts(struct job *job)
{
    const struct pd_descent *d = job->descent;
    uint32_t *sizes = calloc((size_t)d->links_len + 1, sizeof *sizes), at = 0;
    bool *lossy = calloc((size_t)d->links_len + 1, sizeof *lossy);
    if (!sizes || !lossy) {
        free(sizes);
        free(lossy);
        return -ENOMEM;
    }
    for (size_t p = 0; p < d->paths_len; p++) {
        uint32_t root = find_root(job->root, first_link(d, p));
        sizes[root]++;
        lossy[root] |= d->y[p] < 1;
    }
    for (uint32_t l = 0; l < d->links_len; l++) {
        if (sizes[l] && lossy[l]) {
            job->parts[job->parts_len++] = (struct part){.first_path = at, .paths_len = sizes[l]};
            at += sizes[l];
            sizes[l] = at - sizes[l];
        }
    }
    for (uint32_t p = 0; p < d->paths_len; p++) {
        uint32_t root = find_root(job->root, first_link(d, p));
        if (lossy[root]) {
            job->order[sizes[root]++] = p;
        }
    }
    free(sizes);
    free(lossy);
    return 0;
}

/* ---- one part ---- */

/* Links are numbered in ascending order of their IDs, so that sweeps go through memory in order. */
struct sweeping {
    const struct pd_descent *descent;
    const uint32_t *paths;
    uint32_t paths_len, links_len;
    uint32_t *names;          /* by link of the part: its number outside */
    uint32_t *starts, *links; /* of each path */
    uint32_t *at_starts, *at; /* of each link: its paths */
    double *x, *y;
};

struct named {
    uint32_t rank, link;
};

static int by_rank(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static void sweeping_done(struct sweeping *s)
{
    free(s->names);
    free(s->starts);
    free(s->links);
    free(s->at_starts);
    free(s->at);
    free(s->x);
    free(s->y);
}

static size_t count_members(const struct sweeping *s)
{
    size_t len = 0;
    for (uint32_t p = 0; p < s->paths_len; p++) {
        len += s->descent->starts[s->paths[p] + 1] - s->descent->starts[s->paths[p]];
    }
    return len;
}

/* The part's links, each once, in order; `named` has room for all members. */
static uint32_t name_links(const struct sweeping *s, struct named *named)
{
    const struct pd_descent *d = s->descent;
    uint32_t len = 0, kept = 0;
    for (uint32_t p = 0; p < s->paths_len; p++) {
        for (uint32_t i = d->starts[s->paths[p]]; i < d->starts[s->paths[p] + 1]; i++) {
            named[len++] = (struct named){d->rank[d->links[i]], d->links[i]};
        }
    }
    qsort(named, len, sizeof *named, by_rank);
    for (uint32_t i = 0; i < len; i++) {
        if (!kept || named[kept - 1].rank != named[i].rank) {
            named[kept++] = named[i];
        }
    }
    return kept;
}

static uint32_t place_of(const struct named *named, uint32_t len, uint32_t rank)
{
    uint32_t low = 0, high = len;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (named[middle].rank < rank) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void fill(struct sweeping *s, const struct named *named)
{
    const struct pd_descent *d = s->descent;
    uint32_t len = 0;
    for (uint32_t p = 0; p < s->paths_len; p++) {
        s->starts[p] = len;
        s->y[p] = d->y[s->paths[p]];
        for (uint32_t i = d->starts[s->paths[p]]; i < d->starts[s->paths[p] + 1]; i++) {
            uint32_t link = place_of(named, s->links_len, d->rank[d->links[i]]);
            s->links[len++] = link;
            s->at_starts[link + 2]++;
        }
    }
    s->starts[s->paths_len] = len;
    for (uint32_t l = 2; l <= s->links_len + 1; l++) {
        s->at_starts[l] += s->at_starts[l - 1];
    }
    for (uint32_t p = 0; p < s->paths_len; p++) {
        for (uint32_t i = s->starts[p]; i < s->starts[p + 1]; i++) {
            s->at[s->at_starts[s->links[i] + 1]++] = p;
        }
    }
    for (uint32_t l = 0; l < s->links_len; l++) {
        double sum = 0;
        s->names[l] = named[l].link;
        for (uint32_t i = s->at_starts[l]; i < s->at_starts[l + 1]; i++) {
            sum += s->y[s->at[i]];
        }
        s->x[l] = sum / (s->at_starts[l + 1] - s->at_starts[l]);
    }
}

static int sweeping_init(struct sweeping *s)
{
    size_t members = count_members(s) + 1;
    struct named *named = malloc(members * sizeof *named);
    if (!named) {
        return -ENOMEM;
    }
    s->links_len = name_links(s, named);
    s->names = malloc(members * sizeof *s->names);
    s->starts = malloc(((size_t)s->paths_len + 1) * sizeof *s->starts);
    s->links = malloc(members * sizeof *s->links);
    s->at_starts = calloc((size_t)s->links_len + 2, sizeof *s->at_starts);
    s->at = malloc(members * sizeof *s->at);
    s->x = malloc(((size_t)s->links_len + 1) * sizeof *s->x);
    s->y = malloc(((size_t)s->paths_len + 1) * sizeof *s->y);
    bool is_full = s->names && s->starts && s->links && s->at_starts && s->at && s->x && s->y;
    if (is_full) {
        fill(s, named);
    }
    free(named);
    return is_full ? 0 : -ENOMEM;
}

static double lambda_of(const struct sweeping *s, uint32_t link)
{
    double paths = s->at_starts[link + 1] - s->at_starts[link];
    return s->descent->is_per_path ? s->descent->lambda * paths : s->descent->lambda;
}

static double product(const struct sweeping *s, uint32_t path, uint32_t without)
{
    double rest = 1;
    for (uint32_t i = s->starts[path]; i < s->starts[path + 1]; i++) {
        rest *= s->links[i] == without ? 1 : s->x[s->links[i]];
    }
    return rest;
}

static double objective(const struct sweeping *s)
{
    double sum = 0;
    for (uint32_t p = 0; p < s->paths_len; p++) {
        double off = s->y[p] - product(s, p, UINT32_MAX);
        sum += off * off;
    }
    for (uint32_t l = 0; l < s->links_len; l++) {
        sum += lambda_of(s, l) * s->x[l] * (1 - s->x[l]);
    }
    return sum;
}

static double best_x(const struct sweeping *s, uint32_t link)
{
    double s1 = 0, s2 = 0, lambda = lambda_of(s, link);
    for (uint32_t i = s->at_starts[link]; i < s->at_starts[link + 1]; i++) {
        double rest = product(s, s->at[i], link);
        s1 += rest * s->y[s->at[i]];
        s2 += rest * rest;
    }
    if (s2 - lambda <= CONCAVE) {
        return s2 - lambda < 2 * s1 - lambda ? 1 : 0;
    }
    return fmin(1, fmax(0, (2 * s1 - lambda) / (2 * (s2 - lambda))));
}

static unsigned sweep(struct sweeping *s)
{
    double last = objective(s);
    unsigned sweeps = 0;
    for (bool rests = false; !rests && sweeps < SWEEPS_MAX; sweeps++) {
        for (uint32_t l = 0; l < s->links_len; l++) {
            s->x[l] = best_x(s, l);
        }
        double now = objective(s);
        rests = fabs(last - now) < REST;
        last = now;
    }
    return sweeps;
}

static void solve_part(const struct job *job, struct part *part)
{
    struct sweeping s = {.descent = job->descent,
                         .paths = job->order + part->first_path,
                         .paths_len = part->paths_len};
    part->err = sweeping_init(&s);
    if (!part->err) {
        part->sweeps = sweep(&s);
        for (uint32_t l = 0; l < s.links_len; l++) {
            job->x[s.names[l]] = s.x[l];
        }
    }
    sweeping_done(&s);
}

/* ---- all parts ---- */

/* Parts share no link, so that whoever takes one writes to places of its own. */
static void *work(void *context)
{
    struct job *job = context;
    for (size_t i;
         (i = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed)) < job->parts_len;) {
        solve_part(job, &job->parts[i]);
    }
    return NULL;
}

static void solve_parts(struct job *job)
{
    pthread_t threads[THREADS_MAX];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    long wanted = cores > THREADS_MAX ? THREADS_MAX : cores;
    int started = 0;
    if (job->descent->paths_len < THREADS_FROM || job->parts_len < 2) {
        wanted = 1;
    }
    while (started < wanted - 1 && !pthread_create(&threads[started], NULL, work, job)) {
        started++;
    }
    work(job);
    while (started) {
        pthread_join(threads[--started], NULL);
    }
}

int pd_canary_descent_solve(const struct pd_descent *descent, double *ret_x, unsigned *ret_sweeps)
{
    struct job job = {.descent = descent,
                      .x = ret_x,
                      .root = calloc((size_t)descent->links_len + 1, sizeof *job.root),
                      .order = calloc(descent->paths_len + 1, sizeof *job.order),
                      .parts = calloc((size_t)descent->links_len + 1, sizeof *job.parts)};
    int err = job.root && job.order && job.parts ? 0 : -ENOMEM;
    for (uint32_t l = 0; l < descent->links_len; l++) {
        ret_x[l] = 1;
    }
    *ret_sweeps = 0;
    if (!err) {
        join(&job);
        err = make_parts(&job);
    }
    if (!err) {
        solve_parts(&job);
    }
    for (size_t i = 0; i < job.parts_len && !err; i++) {
        err = job.parts[i].err;
        *ret_sweeps = job.parts[i].sweeps > *ret_sweeps ? job.parts[i].sweeps : *ret_sweeps;
    }
    free(job.root);
    free(job.order);
    free(job.parts);
    return err;
}
