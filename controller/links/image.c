/* SPDX-License-Identifier: Apache-2.0 */
/* All links as a bitmap, a row for the switch they leave, a column for the one they enter. */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/links/private.h"

/* ---- the order ---- */

struct place {
    uint32_t sw, pod;
    enum pd_switch_role role;
};

/* Those without a pod, the core, stand last. */
static int compare(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    uint32_t pods[] = {x->pod - 1, y->pod - 1};

    if (pods[0] != pods[1]) {
        return pods[0] < pods[1] ? -1 : 1;
    }
    if (x->role != y->role) {
        return x->role < y->role ? -1 : 1;
    }
    return (x->sw > y->sw) - (x->sw < y->sw);
}

uint32_t *pd_links_order(const struct pd_topology *topology)
{
    uint32_t *order = calloc((size_t)topology->switches_len + 1, sizeof *order);
    struct place *places = calloc((size_t)topology->switches_len + 1, sizeof *places);

    for (uint32_t i = 0; places && i < topology->switches_len; i++) {
        places[i] = (struct place){i, topology->switches[i].pod, topology->switches[i].role};
    }
    if (places) {
        qsort(places, topology->switches_len, sizeof *places, compare);
    }
    for (uint32_t i = 0; order && places && i < topology->switches_len; i++) {
        order[i] = places[i].sw;
    }
    if (!places) {
        free(order);
        order = NULL;
    }
    free(places);
    return order;
}

/* Where each switch stands in it; the caller's. */
static uint32_t *ranks_of(const struct pd_topology *topology)
{
    uint32_t *order = pd_links_order(topology);
    uint32_t *ranks = order ? calloc((size_t)topology->switches_len + 1, sizeof *ranks) : NULL;

    for (uint32_t i = 0; ranks && i < topology->switches_len; i++) {
        ranks[order[i]] = i;
    }
    free(order);
    return ranks;
}

/* ---- png ---- */

/* Colours 0: no link, 1: not known, 2 to 255: the scale (viridis, whose points are 20 % apart from
 * each other in lightness). */
enum { NO_LINK, NOT_KNOWN, LOWEST, HIGHEST = 255 };

static void make_palette(png_color palette[256])
{
    static const png_color points[] = {
        {68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}};
    const int steps = (int)(sizeof points / sizeof *points) - 1;

    palette[NO_LINK] = (png_color){255, 255, 255};
    palette[NOT_KNOWN] = (png_color){160, 160, 160};
    for (int i = LOWEST; i <= HIGHEST; i++) {
        double at = (double)(i - LOWEST) * steps / (HIGHEST - LOWEST);
        int from = at >= steps ? steps - 1 : (int)at;
        const png_color *a = &points[from], *b = &points[from + 1];
        double part = at - from;

        palette[i] = (png_color){(png_byte)lround(a->red + part * (b->red - a->red)),
                                 (png_byte)lround(a->green + part * (b->green - a->green)),
                                 (png_byte)lround(a->blue + part * (b->blue - a->blue))};
    }
}

static double scale_of(const struct pd_link_sample *sample, unsigned m)
{
    double scale = pd_link_metrics[m]->max;

    for (uint32_t i = 0; !pd_link_metrics[m]->max && i < sample->len; i++) {
        scale = fmax(scale, (double)sample->values[m][i]);
    }
    return scale > 0 ? scale : 1;
}

static png_byte colour(float value, double scale)
{
    double share = (double)value / scale;

    if (isnan(value)) {
        return NOT_KNOWN;
    }
    return (png_byte)(LOWEST + lround(fmin(fmax(share, 0), 1) * (HIGHEST - LOWEST)));
}

static png_byte *pixels_of(const struct pd_link_sample *sample, unsigned m)
{
    const struct pd_topology *topology = sample->inventory->topology;
    size_t width = topology->switches_len;
    uint32_t *ranks = ranks_of(topology);
    png_byte *pixels = ranks ? calloc(width * width + 1, 1) : NULL;
    double scale = scale_of(sample, m);

    for (uint32_t i = 0; pixels && i < sample->len; i++) {
        pixels[ranks[pd_links_from(topology, i)] * width + ranks[pd_links_to(topology, i)]] =
            colour(sample->values[m][i], scale);
    }
    free(ranks);
    return pixels;
}

static void write_png(png_structp png, png_bytep bytes, size_t len)
{
    if (pd_http_answer_write(png_get_io_ptr(png), (const char *)bytes, len)) {
        png_error(png, "the answer has no room");
    }
}

static void flush_png(png_structp png)
{
    (void)png;
}

/* The library leaves by a jump, which clears nothing of the caller's. */
static int encode(png_structp png, png_infop info, const png_byte *pixels, uint32_t width)
{
    png_color palette[256];

    if (setjmp(png_jmpbuf(png))) {
        return -PD_E_FULL;
    }
    make_palette(palette);
    png_set_IHDR(png, info, width, width, 8, PNG_COLOR_TYPE_PALETTE, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_PLTE(png, info, palette, 256);
    png_write_info(png, info);
    for (uint32_t row = 0; row < width; row++) {
        png_write_row(png, pixels + (size_t)row * width);
    }
    png_write_end(png, info);
    return 0;
}

int pd_links_png(const struct pd_link_sample *sample, unsigned m, struct pd_answer *answer)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    png_byte *pixels = info ? pixels_of(sample, m) : NULL;
    int err = pixels ? 0 : -ENOMEM;

    if (!err) {
        png_set_write_fn(png, answer, write_png, flush_png);
        err = encode(png, info, pixels, sample->inventory->topology->switches_len);
    }
    png_destroy_write_struct(&png, &info);
    free(pixels);
    return err;
}

/* ---- npy ---- */

/* A head of a multiple of 64 bytes, then time × from × to (NumPy's format 1.0). */
static int write_npy_head(size_t times, uint32_t width, struct pd_answer *answer)
{
    char text[192];
    int len = snprintf(text + 10, sizeof text - 10,
                       "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, %u, %u), }", times,
                       width, width);
    size_t whole = ((size_t)len + 10 + 1 + 63) / 64 * 64;

    memcpy(text, "\x93NUMPY\x01\x00", 8);
    text[8] = (char)((whole - 10) & 0xff);
    text[9] = (char)((whole - 10) >> 8);
    memset(text + 10 + len, ' ', whole - 10 - (size_t)len);
    text[whole - 1] = '\n';
    return pd_http_answer_write(answer, text, whole);
}

static void fill_floats(const struct pd_link_sample *sample, unsigned m, const uint32_t *ranks,
                        uint32_t *floats)
{
    const struct pd_topology *topology = sample->inventory->topology;
    size_t width = topology->switches_len;
    const float none = NAN;

    for (size_t i = 0; i < width * width; i++) {
        memcpy(&floats[i], &none, sizeof none);
    }
    for (uint32_t i = 0; i < sample->len; i++) {
        memcpy(&floats[ranks[pd_links_from(topology, i)] * width + ranks[pd_links_to(topology, i)]],
               &sample->values[m][i], sizeof(float));
    }
    for (size_t i = 0; i < width * width; i++) {
        floats[i] = htole32(floats[i]);
    }
}

int pd_links_npy(struct pd_link_sample *const *samples, size_t len, unsigned m,
                 struct pd_answer *answer)
{
    uint32_t width = samples[0]->inventory->topology->switches_len;
    size_t bytes = (size_t)width * width * sizeof(float);
    uint32_t *ranks = ranks_of(samples[0]->inventory->topology);
    uint32_t *floats = malloc(bytes + 1);
    int err = ranks && floats ? write_npy_head(len, width, answer) : -ENOMEM;

    for (size_t t = 0; t < len && !err; t++) {
        fill_floats(samples[t], m, ranks, floats);
        err = pd_http_answer_write(answer, (const char *)floats, bytes);
    }
    free(ranks);
    free(floats);
    return err;
}

/* ---- json ---- */

static void write_order(const struct pd_topology *topology, const uint32_t *order, FILE *out)
{
    fputs("\"switches\":[", out);
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        fprintf(out, "%s%u", i ? "," : "", topology->switches[order[i]].id);
    }
    fputs("]", out);
}

static void write_window(const struct pd_link_sample *sample, unsigned m, FILE *out)
{
    char name[PD_LINKS_TEXT_BYTES], text[PD_LINK_VALUE_BYTES];
    const char *separator = "";

    fprintf(out, "{\"from_us\":%" PRIu64 ",\"to_us\":%" PRIu64 ",\"complete\":%s,\"values\":[",
            sample->from_us, sample->to_us, sample->complete ? "true" : "false");
    for (uint32_t i = 0; i < sample->len; i++) {
        if (sample->values[m][i] != 0) {
            fprintf(out, "%s[\"%s\",%s]", separator,
                    pd_topology_links_format(sample->inventory->topology, i, name),
                    pd_link_value_text(sample->values[m][i], text));
            separator = ",";
        }
    }
    fputs("]}", out);
}

static int write_json(struct pd_link_sample *const *samples, size_t len, unsigned m, FILE *out)
{
    uint32_t *order = pd_links_order(samples[0]->inventory->topology);

    if (!order) {
        return -ENOMEM;
    }
    fprintf(out, "{\"metric\":\"%s\",\"unit\":\"%s\",\"generation\":%" PRIu64 ",",
            pd_link_metrics[m]->name, pd_link_metrics[m]->unit, samples[0]->generation);
    write_order(samples[0]->inventory->topology, order, out);
    fputs(",\"windows\":[", out);
    for (size_t t = 0; t < len; t++) {
        fputs(t ? "," : "", out);
        write_window(samples[t], m, out);
    }
    fputs("]}", out);
    free(order);
    return 0;
}

int pd_links_image_json(struct pd_link_sample *const *samples, size_t len, unsigned m,
                        struct pd_answer *answer)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    int err = out ? write_json(samples, len, m, out) : -ENOMEM;

    if (out && fclose(out) && !err) {
        err = -ENOMEM;
    }
    if (!err) {
        err = pd_http_answer_write(answer, text, bytes);
    }
    free(text);
    return err;
}
