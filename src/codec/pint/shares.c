/* SPDX-License-Identifier: Apache-2.0 */
/* The linear program of shares: simplex with columns priced over all sets that fit. */
#include "codec/pint/shares.h"

#include <math.h>
#include <string.h>

#define ROWS     PD_PINT_QUERIES_MAX
#define TINY     1e-9
#define STEPS    1000 /* far more than so few rows take */
#define ROUNDING 1e-6 /* of a weight */

/* Equalities, since a part of a set that fits fits, too: each query gets just what it asks for. */
struct program {
    unsigned rows;
    uint32_t columns[ROWS];     /* the basis: sets as bits */
    double inverse[ROWS][ROWS]; /* of the basis */
    double amounts[ROWS];       /* of each set of the basis */
};

static void begin(struct program *program, const struct pd_pint_request *requests, unsigned len)
{
    memset(program, 0, sizeof *program);
    program->rows = len;
    for (unsigned q = 0; q < len; q++) { /* each query on packets of its own */
        program->columns[q] = 1u << q;
        program->inverse[q][q] = 1;
        program->amounts[q] = requests[q].frequency;
    }
}

/* The set with the greatest sum of prices; what costs nothing stays out. */
static uint32_t best_set(const struct pd_pint_request *requests, unsigned len, unsigned bits,
                         const double *prices, double *ret_sum)
{
    uint32_t best = 0;

    *ret_sum = 0;
    for (uint32_t set = 1; set < 1u << len; set++) {
        unsigned used = 0;
        double sum = 0;
        for (unsigned q = 0; q < len; q++) {
            if (set >> q & 1) {
                used += requests[q].bits;
                sum += prices[q];
            }
        }
        if (used <= bits && sum > *ret_sum + TINY) {
            *ret_sum = sum;
            best = set;
        }
    }
    return best;
}

static void pivot(struct program *program, uint32_t set)
{
    double column[ROWS] = {0}, least = INFINITY;
    unsigned leaves = ROWS;

    for (unsigned i = 0; i < program->rows; i++) {
        for (unsigned q = 0; q < program->rows; q++) {
            column[i] += set >> q & 1 ? program->inverse[i][q] : 0;
        }
        if (column[i] > TINY && program->amounts[i] / column[i] < least - TINY) {
            least = program->amounts[i] / column[i];
            leaves = i;
        }
    }
    if (leaves == ROWS) {
        return;
    }
    for (unsigned i = 0; i < program->rows; i++) {
        const double factor = i == leaves ? 0 : column[i] / column[leaves];
        program->amounts[i] -= factor * program->amounts[leaves];
        for (unsigned q = 0; q < program->rows; q++) {
            program->inverse[i][q] -= factor * program->inverse[leaves][q];
        }
    }
    program->amounts[leaves] /= column[leaves];
    for (unsigned q = 0; q < program->rows; q++) {
        program->inverse[leaves][q] /= column[leaves];
    }
    program->columns[leaves] = set;
}

/* How many packets, of one, all requests need. */
static double solve(struct program *program, const struct pd_pint_request *requests, unsigned len,
                    unsigned bits)
{
    double needed = 0;

    begin(program, requests, len);
    for (unsigned step = 0; step < STEPS; step++) {
        double prices[ROWS] = {0}, sum;
        for (unsigned q = 0; q < len; q++) {
            for (unsigned i = 0; i < len; i++) {
                prices[q] += program->inverse[i][q];
            }
        }
        const uint32_t set = best_set(requests, len, bits, prices, &sum);
        if (sum <= 1 + TINY) {
            break;
        }
        pivot(program, set);
    }
    for (unsigned i = 0; i < len; i++) {
        needed += program->amounts[i];
    }
    return needed;
}

/* ---- whole weights */

static int64_t lacks(const struct pd_pint_request *requests, const uint32_t *columns,
                     const uint32_t *weights, unsigned len, unsigned query)
{
    double share = 0;

    for (unsigned i = 0; i < len; i++) {
        share += columns[i] >> query & 1 ? weights[i] : 0;
    }
    return (int64_t)ceil(requests[query].frequency * PD_PINT_ONE - 1 - share - ROUNDING);
}

/* Rounded down; then those that lack one more than may be get it from what is left. */
static void round_weights(const struct program *program, const struct pd_pint_request *requests,
                          unsigned len, uint32_t *weights)
{
    uint32_t left = PD_PINT_ONE;

    for (unsigned i = 0; i < len; i++) {
        weights[i] = (uint32_t)floor(program->amounts[i] * PD_PINT_ONE + ROUNDING);
        left -= weights[i] < left ? weights[i] : left;
    }
    for (unsigned q = 0; q < len; q++) {
        int64_t more = lacks(requests, program->columns, weights, len, q);
        for (unsigned i = 0; more > 0 && left > 0 && i < len; i++) {
            if (program->columns[i] >> q & 1) {
                const uint32_t taken = more < left ? (uint32_t)more : left;
                weights[i] += taken;
                left -= taken;
                more = 0;
            }
        }
    }
}

static void write_sets(const struct program *program, const uint32_t *weights, unsigned len,
                       struct pd_pint_set *sets, unsigned *ret_len)
{
    *ret_len = 0;
    for (unsigned i = 0; i < len; i++) {
        if (weights[i] == 0) {
            continue;
        }
        struct pd_pint_set *set = &sets[(*ret_len)++];
        *set = (struct pd_pint_set){.weight = weights[i]};
        for (unsigned q = 0; q < len; q++) {
            if (program->columns[i] >> q & 1) {
                set->queries[set->queries_len++] = (uint8_t)q;
            }
        }
    }
}

/* The last one without which the others fit; else the one that asks for most. */
static unsigned find_misfit(const struct pd_pint_request *requests, unsigned len, unsigned bits)
{
    struct pd_pint_request rest[ROWS];
    struct program program;
    unsigned most = 0;

    for (unsigned out = len; out-- > 0;) {
        unsigned n = 0;
        for (unsigned q = 0; q < len; q++) {
            if (q != out) {
                rest[n++] = requests[q];
            }
        }
        if (n == 0 || solve(&program, rest, n, bits) <= 1 + ROUNDING) {
            return out;
        }
        if (requests[out].bits * requests[out].frequency >
            requests[most].bits * requests[most].frequency) {
            most = out;
        }
    }
    return most;
}

int pd_pint_shares(const struct pd_pint_request *requests, unsigned len, unsigned bits,
                   struct pd_pint_set *ret_sets, unsigned *ret_sets_len, unsigned *ret_misfit,
                   double *ret_needed)
{
    struct program program;
    uint32_t weights[ROWS] = {0};

    for (unsigned q = 0; q < len; q++) {
        if (requests[q].bits > bits) {
            *ret_misfit = q;
            *ret_needed = INFINITY;
            return -PD_E_FULL;
        }
    }
    *ret_needed = solve(&program, requests, len, bits);
    if (*ret_needed > 1 + ROUNDING) {
        *ret_misfit = find_misfit(requests, len, bits);
        return -PD_E_FULL;
    }
    round_weights(&program, requests, len, weights);
    write_sets(&program, weights, len, ret_sets, ret_sets_len);
    return 0;
}
