/* SPDX-License-Identifier: Apache-2.0 */
/* Flow sizes: the CSV reader, which takes any bytes, and draws by interpolation. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sizes.h"
#include "sim_sizes.h" /* made from sizes/ */

enum { FILE_BYTES_MAX = 1 << 20, LINE_BYTES_MAX = 256 };

void pd_sim_sizes_done(struct pd_sim_sizes *sizes)
{
    free(sizes->bytes);
    free(sizes->shares);
    *sizes = (struct pd_sim_sizes){0};
}

/* ---- reading */

static int bad(struct pd_error *error, const char *name, size_t line, const char *expected)
{
    return pd_fail(error, -PD_E_SYNTAX, "%.200s:%zu: expected %s", name, line, expected);
}

/* "10000,0.15"; blanks around the numbers are fine. */
static bool split(const char *line, double *ret_bytes, double *ret_share)
{
    char *end;
    double bytes = strtod(line, &end);
    if (end == line || *end != ',') {
        return false;
    }
    const char *second = end + 1;
    double share = strtod(second, &end);
    if (end == second || end[strspn(end, " \t\r")]) {
        return false;
    }
    if (!isfinite(bytes) || !isfinite(share)) {
        return false;
    }
    *ret_bytes = bytes;
    *ret_share = share;
    return true;
}

static int take_line(struct pd_sim_sizes *sizes, const char *text, const char *name, size_t line,
                     struct pd_error *error)
{
    double bytes, share;
    size_t len = sizes->len;
    if (!text[strspn(text, " \t\r")] || *text == '#') {
        return 0;
    }
    if (!split(text, &bytes, &share)) {
        return len || (*text >= '0' && *text <= '9') || line > 100
                   ? bad(error, name, line, "\"bytes,share\", two numbers")
                   : 0; /* titles */
    }
    if (len == PD_SIZES_POINTS_MAX) {
        return pd_fail(error, -PD_E_TOO_LARGE, "%.200s: more than %d points", name,
                       PD_SIZES_POINTS_MAX);
    }
    if (bytes < 0 || bytes > PD_SIZES_BYTES_MAX || (len && bytes <= sizes->bytes[len - 1])) {
        return bad(error, name, line, "bytes that rise, from 0 to 1e15");
    }
    if (share < 0 || share > 1 || (len && share < sizes->shares[len - 1])) {
        return bad(error, name, line, "a share that rises, from 0 to 1");
    }
    sizes->bytes[len] = bytes;
    sizes->shares[len] = share;
    sizes->len++;
    return 0;
}

static int finish(struct pd_sim_sizes *sizes, const char *name, struct pd_error *error)
{
    if (sizes->len < 2 || sizes->shares[sizes->len - 1] != 1) {
        return pd_fail(error, -PD_E_VALUE,
                       "%.200s: expected at least two lines, the last with share 1", name);
    }
    double mean = sizes->bytes[0] * sizes->shares[0];
    for (size_t i = 1; i < sizes->len; i++) {
        mean +=
            (sizes->bytes[i] + sizes->bytes[i - 1]) / 2 * (sizes->shares[i] - sizes->shares[i - 1]);
    }
    sizes->mean_bytes = mean;
    return mean >= 1 ? 0
                     : pd_fail(error, -PD_E_VALUE, "%.200s: the mean is less than a byte", name);
}

static int take_lines(struct pd_sim_sizes *sizes, const char *text, size_t text_bytes,
                      const char *name, struct pd_error *error)
{
    char line[LINE_BYTES_MAX];
    size_t at = 0;
    for (size_t number = 1; at < text_bytes; number++) {
        const char *end = memchr(text + at, '\n', text_bytes - at);
        size_t len = end ? (size_t)(end - text) - at : text_bytes - at;
        if (len >= sizeof line || memchr(text + at, 0, len)) {
            return bad(error, name, number, "lines of text of at most 255 bytes");
        }
        memcpy(line, text + at, len);
        line[len] = 0;
        int err = take_line(sizes, line, name, number, error);
        if (err) {
            return err;
        }
        at += len + 1;
    }
    return finish(sizes, name, error);
}

int pd_sim_sizes_parse(const char *text, size_t text_bytes, const char *name,
                       struct pd_sim_sizes *ret_sizes, struct pd_error *error)
{
    struct pd_sim_sizes sizes = {.bytes = calloc(PD_SIZES_POINTS_MAX, sizeof(double)),
                                 .shares = calloc(PD_SIZES_POINTS_MAX, sizeof(double))};
    int err = sizes.bytes && sizes.shares ? 0 : pd_fail(error, -ENOMEM, "no memory");
    if (!err) {
        err = take_lines(&sizes, text, text_bytes, name, error);
    }
    if (err) {
        pd_sim_sizes_done(&sizes);
    } else {
        *ret_sizes = sizes;
    }
    return err;
}

int pd_sim_sizes_read(const char *name, struct pd_sim_sizes *ret_sizes, struct pd_error *error)
{
    for (size_t i = 0; sim_sizes[i].name; i++) {
        if (!strcmp(sim_sizes[i].name, name)) {
            return pd_sim_sizes_parse(sim_sizes[i].text, strlen(sim_sizes[i].text), name, ret_sizes,
                                      error);
        }
    }
    FILE *file = fopen(name, "re");
    if (!file) {
        return pd_fail(error, -errno, "%.200s: %s", name, strerror(errno));
    }
    char *text = malloc(FILE_BYTES_MAX + 1);
    size_t text_bytes = text ? fread(text, 1, FILE_BYTES_MAX + 1, file) : 0;
    int err = 0;
    if (!text) {
        err = pd_fail(error, -ENOMEM, "no memory");
    } else if (ferror(file)) {
        err = pd_fail(error, -EIO, "%.200s: cannot be read", name);
    } else if (text_bytes > FILE_BYTES_MAX) {
        err = pd_fail(error, -PD_E_TOO_LARGE, "%.200s: more than 1 MiB", name);
    } else {
        err = pd_sim_sizes_parse(text, text_bytes, name, ret_sizes, error);
    }
    free(text);
    fclose(file);
    return err;
}

/* ---- drawing */

double pd_sim_sizes_draw(const struct pd_sim_sizes *sizes, struct pd_sim_random *random)
{
    double share = pd_sim_random_share(random);
    size_t low = 0, high = sizes->len - 1; /* the first point whose share is above */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (sizes->shares[middle] > share) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    if (!low) {
        return sizes->bytes[0] > 1 ? sizes->bytes[0] : 1;
    }
    double below = sizes->shares[low - 1], width = sizes->shares[low] - below;
    double part = width > 0 ? (share - below) / width : 0;
    double bytes = sizes->bytes[low - 1] + part * (sizes->bytes[low] - sizes->bytes[low - 1]);
    return bytes > 1 ? bytes : 1;
}
