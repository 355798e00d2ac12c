/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of histograms: written small, read with doubt. */
#include "telemetry/column.h"

#include <endian.h>
#include <string.h>

#include "base/error.h"

#define VERSION      1
#define HEADER_BYTES 6 /* version, 0, host */
#define HALVED_MAX   8 /* 256 codes are one then */

/* ---- numbers: seven bits a byte, the lowest ones first, the top bit on all but the last */

static bool get_number(const uint8_t **at, const uint8_t *end, uint64_t *ret_number)
{
    uint64_t number = 0;

    for (unsigned shift = 0; *at < end && shift < 63; shift += 7) {
        const uint8_t byte = *(*at)++;
        number |= (uint64_t)(byte & 127) << shift;
        if (!(byte & 128)) {
            *ret_number = number;
            return number <= PD_TELEMETRY_VALUE_MAX && (byte || !shift);
        }
    }
    return false;
}

static void put_byte(struct pd_telemetry_writer *writer, unsigned byte)
{
    if (writer->used == writer->room) {
        writer->full = true;
        return;
    }
    writer->bytes[writer->used++] = (uint8_t)byte;
}

static void put_number(struct pd_telemetry_writer *writer, uint64_t number)
{
    for (; number > 127; number >>= 7) {
        put_byte(writer, 128 | (number & 127));
    }
    put_byte(writer, (unsigned)number);
}

/* ---- reading */

bool pd_telemetry_is_name(const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] < 0x20 || bytes[i] > 0x7e || bytes[i] == '"' || bytes[i] == '\\') {
            return false;
        }
    }
    return true;
}

/* No bytes: the name is that of the series before. */
static bool get_name(struct pd_telemetry_column *column, struct pd_telemetry_series *series)
{
    const size_t len = column->at < column->end ? *column->at++ : SIZE_MAX;

    if (len > PD_TELEMETRY_NAME_MAX || len > (size_t)(column->end - column->at) ||
        (!len && !*series->name) || !pd_telemetry_is_name((const char *)column->at, len)) {
        return false;
    }
    if (len) {
        memcpy(series->name, column->at, len);
        series->name[len] = '\0';
        column->at += len;
    }
    return true;
}

static bool get_bins(struct pd_telemetry_column *column, struct pd_telemetry_series *series,
                     uint64_t *total)
{
    uint64_t value = 0, more, count;

    for (uint32_t i = 0; i < series->len; i++) {
        if (!get_number(&column->at, column->end, &more) ||
            !get_number(&column->at, column->end, &count) || (i && !more) || !count ||
            more > PD_TELEMETRY_VALUE_MAX - value || count > PD_TELEMETRY_VALUE_MAX - *total) {
            return false;
        }
        value += more;
        *total += count;
        series->bins[i] = (struct pd_telemetry_bin){value, count};
    }
    return true;
}

static bool get_series(struct pd_telemetry_column *column, struct pd_telemetry_series *series)
{
    uint64_t len, total = 0;

    if (!get_name(column, series) || column->at == column->end) {
        return false;
    }
    series->place = *column->at++;
    if (series->place > PD_TELEMETRY_PLACES_MAX || !get_number(&column->at, column->end, &len) ||
        !len || len > PD_TELEMETRY_BINS_MAX) {
        return false;
    }
    series->len = (uint32_t)len;
    return get_bins(column, series, &total);
}

int pd_telemetry_column_open(const uint8_t *bytes, size_t len,
                             struct pd_telemetry_column *ret_column)
{
    struct pd_telemetry_column column;
    struct pd_telemetry_series series;
    uint32_t host;

    if (len < HEADER_BYTES || len > PD_TELEMETRY_COLUMN_BYTES_MAX || bytes[0] != VERSION ||
        bytes[1]) {
        return -PD_E_CORRUPT;
    }
    memcpy(&host, bytes + 2, sizeof host);
    column = (struct pd_telemetry_column){bytes + HEADER_BYTES, bytes + len, le32toh(host)};
    series.name[0] = '\0';
    for (struct pd_telemetry_column all = column; all.at < all.end;) {
        if (!get_series(&all, &series)) {
            return -PD_E_CORRUPT;
        }
    }
    *ret_column = column;
    return 0;
}

bool pd_telemetry_column_next(struct pd_telemetry_column *column,
                              struct pd_telemetry_series *series)
{
    return column->at < column->end && get_series(column, series);
}

/* ---- writing */

void pd_telemetry_writer_begin(struct pd_telemetry_writer *writer, uint8_t *bytes, size_t room,
                               uint32_t host)
{
    *writer = (struct pd_telemetry_writer){.bytes = bytes, .room = room};
    put_byte(writer, VERSION);
    put_byte(writer, 0);
    for (unsigned i = 0; i < 32; i += 8) {
        put_byte(writer, host >> i & 255);
    }
}

void pd_telemetry_writer_add(struct pd_telemetry_writer *writer,
                             const struct pd_telemetry_series *series)
{
    const size_t name_len = strcmp(series->name, writer->name) ? strlen(series->name) : 0;
    uint64_t before = 0;

    if (!series->len) {
        return;
    }
    put_byte(writer, (unsigned)name_len);
    for (size_t i = 0; i < name_len; i++) {
        put_byte(writer, (uint8_t)series->name[i]);
    }
    memcpy(writer->name, series->name, sizeof writer->name);
    put_byte(writer, series->place);
    put_number(writer, series->len);
    for (uint32_t i = 0; i < series->len; i++) {
        put_number(writer, series->bins[i].value - before);
        put_number(writer, series->bins[i].count);
        before = series->bins[i].value;
    }
}

/* So that the codes of all hops are within the plan's space. */
static unsigned least_halved(const struct pd_telemetry_scale *scale, uint32_t places)
{
    const uint64_t space = scale->space_bytes / (places ? places : 1);
    unsigned halved = 0;

    while (scale->space_bytes && halved < HALVED_MAX &&
           sizeof(uint32_t) * ((scale->codes + (1u << halved) - 1) >> halved) > space) {
        halved++;
    }
    return halved;
}

static void add_cell(struct pd_telemetry_series *series, const struct pd_telemetry_cell *cell,
                     const struct pd_telemetry_scale *scale, unsigned halved)
{
    const unsigned first = cell->code >> halved << halved, end = first + (1u << halved);
    const unsigned last = (end < scale->codes ? end : scale->codes) - 1;
    const uint64_t value = scale->values[(first + last) / 2];

    if (series->len && series->bins[series->len - 1].value == value) {
        series->bins[series->len - 1].count += cell->count;
    } else if (series->len < PD_TELEMETRY_BINS_MAX) {
        series->bins[series->len++] = (struct pd_telemetry_bin){value, cell->count};
    }
}

/* The cells of one series and hop, from `at` on; returns where the next ones begin. */
static size_t gather(const struct pd_telemetry_cell *cells, size_t len, size_t at,
                     const struct pd_telemetry_scale *scale, unsigned halved,
                     struct pd_telemetry_series *series)
{
    const struct pd_telemetry_cell *first = &cells[at];

    series->len = 0;
    for (; at < len && cells[at].series == first->series && cells[at].hop == first->hop; at++) {
        if (cells[at].code < scale->codes) {
            add_cell(series, &cells[at], scale, halved);
        }
    }
    return at;
}

struct writing {
    const struct pd_telemetry_scale *scales;
    uint32_t first_hop, places;
    unsigned halved; /* of all series, at least */
};

static void write_all(struct pd_telemetry_writer *writer, const struct writing *writing,
                      const struct pd_telemetry_cell *cells, size_t len)
{
    struct pd_telemetry_series series;

    memset(series.name, 0, sizeof series.name);
    for (size_t at = 0; at < len;) {
        const uint32_t hop = cells[at].hop;
        const struct pd_telemetry_scale *scale = &writing->scales[cells[at].series];
        const unsigned least = least_halved(scale, writing->places);

        at = gather(cells, len, at, scale, least > writing->halved ? least : writing->halved,
                    &series);
        memset(series.name, 0, sizeof series.name);
        memcpy(series.name, scale->name, strnlen(scale->name, PD_TELEMETRY_NAME_MAX));
        series.place = hop ? hop + 1 - writing->first_hop : 0;
        if (!hop || (hop >= writing->first_hop && series.place <= writing->places)) {
            pd_telemetry_writer_add(writer, &series);
        }
    }
}

size_t pd_telemetry_column_write(const struct pd_telemetry_cell *cells, size_t len,
                                 const struct pd_telemetry_scale *scales, uint32_t first_hop,
                                 uint32_t places, uint32_t host,
                                 uint8_t ret_bytes[PD_TELEMETRY_COLUMN_BYTES_MAX])
{
    struct writing writing = {scales, first_hop, places, 0};
    struct pd_telemetry_writer writer;

    for (; writing.halved <= HALVED_MAX; writing.halved++) {
        pd_telemetry_writer_begin(&writer, ret_bytes, PD_TELEMETRY_COLUMN_BYTES_MAX, host);
        write_all(&writer, &writing, cells, len);
        if (!writer.full) {
            return writer.used > HEADER_BYTES ? writer.used : 0;
        }
    }
    return 0;
}
