/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: one body for each loop, compiled for each width of a column and each vector unit. */
#include "tib/lmdb/kernels.h"

#define BODY static inline __attribute__((always_inline))

/* Calls BODY_NAME(width, …) with the column's width as a constant. */
#define FOR_WIDTH(width_bytes, name, ...) \
    switch (width_bytes) {                \
    case 0: name(0, __VA_ARGS__); break;  \
    case 1: name(1, __VA_ARGS__); break;  \
    case 2: name(2, __VA_ARGS__); break;  \
    case 4: name(4, __VA_ARGS__); break;  \
    default: name(8, __VA_ARGS__); break; \
    }

/* ---- load, gather, add_scaled ---- */

BODY void load_width(unsigned width_bytes, const uint8_t *at, uint64_t base, size_t first,
                     size_t len, uint64_t *ret_values)
{
    at += first * width_bytes;
    for (size_t i = 0; i < len; i++) {
        ret_values[i] = base + pd_column_offset_at(at, width_bytes, i);
    }
}

BODY void load_body(const struct pd_column *column, size_t first, size_t len, uint64_t *ret_values){
    FOR_WIDTH(column->width_bytes, load_width, column->at, column->base, first, len, ret_values)}

BODY void gather_width(unsigned width_bytes, const uint8_t *at, uint64_t base, const uint32_t *rows,
                       size_t len, uint64_t *ret_values)
{
    for (size_t i = 0; i < len; i++) {
        ret_values[i] = base + pd_column_offset_at(at, width_bytes, rows[i]);
    }
}

BODY void gather_body(const struct pd_column *column, const uint32_t *rows, size_t len,
                      uint64_t *ret_values){
    FOR_WIDTH(column->width_bytes, gather_width, column->at, column->base, rows, len, ret_values)}

BODY void add_scaled_width(unsigned width_bytes, const uint8_t *at, uint64_t base,
                           uint64_t coefficient, size_t first, size_t len, uint64_t *sums)
{
    at += first * width_bytes;
    for (size_t i = 0; i < len; i++) {
        sums[i] += coefficient * (base + pd_column_offset_at(at, width_bytes, i));
    }
}

BODY void add_scaled_body(const struct pd_column *column, uint64_t coefficient, size_t first,
                          size_t len, uint64_t *sums){
    FOR_WIDTH(column->width_bytes, add_scaled_width, column->at, column->base, coefficient, first,
              len, sums)}

/* ---- prefix_sums ---- */

/* Four at a time: only one addition of each four waits for the one before. */
BODY void prefix_sums_width(unsigned width_bytes, const uint8_t *at, size_t first, size_t len,
                            uint64_t *ret_sums)
{
    uint64_t sum = 0;
    size_t i = 0;
    at += first * width_bytes;
    for (; i + 4 <= len; i += 4) {
        uint64_t one = pd_column_offset_at(at, width_bytes, i);
        uint64_t two = one + pd_column_offset_at(at, width_bytes, i + 1);
        uint64_t last = pd_column_offset_at(at, width_bytes, i + 2);
        uint64_t four = two + last + pd_column_offset_at(at, width_bytes, i + 3);
        ret_sums[i] = sum + one;
        ret_sums[i + 1] = sum + two;
        ret_sums[i + 2] = sum + two + last;
        ret_sums[i + 3] = sum += four;
    }
    for (; i < len; i++) {
        ret_sums[i] = sum += pd_column_offset_at(at, width_bytes, i);
    }
}

BODY void prefix_sums_body(const struct pd_column *column, size_t first, size_t len,
                           uint64_t *ret_sums){
    FOR_WIDTH(column->width_bytes, prefix_sums_width, column->at, first, len, ret_sums)}

/* ---- find, narrow ---- */

/* Does a row of the group at `at` pass? Compared in the column's own width, so that a vector holds
 * as many as it can. */
#define ANY_IN_GROUP(type)                                                \
    BODY bool any_##type(const uint8_t *at, uint64_t low, uint64_t span)  \
    {                                                                     \
        type any = 0;                                                     \
        for (size_t i = 0; i < PD_FIND_GROUP; i++) {                      \
            type offset = (type)pd_column_offset_at(at, sizeof(type), i); \
            any |= (type)(offset - (type)low) <= (type)span;              \
        }                                                                 \
        return any;                                                       \
    }
ANY_IN_GROUP(uint8_t) ANY_IN_GROUP(uint16_t) ANY_IN_GROUP(uint32_t) ANY_IN_GROUP(uint64_t)

    BODY bool any_in_group(unsigned width_bytes, const uint8_t *at, uint64_t low, uint64_t span)
{
    return width_bytes == 1   ? any_uint8_t(at, low, span)
           : width_bytes == 2 ? any_uint16_t(at, low, span)
           : width_bytes == 4 ? any_uint32_t(at, low, span)
                              : any_uint64_t(at, low, span);
}

struct found {
    size_t next, kept;
};

BODY void find_width(unsigned width_bytes, const uint8_t *at, uint64_t low, uint64_t span,
                     size_t end, uint32_t *rows, size_t room, struct found *found)
{
    size_t i = found->next, kept = 0;
    while (i < end && kept + PD_FIND_GROUP <= room) {
        size_t group_end = end - i < PD_FIND_GROUP ? end : i + PD_FIND_GROUP;
        if (group_end - i == PD_FIND_GROUP &&
            !any_in_group(width_bytes, at + i * width_bytes, low, span)) {
            i = group_end;
            continue;
        }
        for (; i < group_end; i++) {
            rows[kept] = (uint32_t)i;
            kept += pd_column_offset_at(at, width_bytes, i) - low <= span;
        }
    }
    *found = (struct found){i, kept};
}

/* The greatest span that does not run over the column's width. */
BODY uint64_t span_in_width(unsigned width_bytes, uint64_t low, uint64_t span)
{
    uint64_t most = width_bytes == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * width_bytes) - 1;
    return span < most - low ? span : most - low;
}

BODY size_t find_body(const struct pd_column *column, uint64_t low, uint64_t span, size_t *first,
                      size_t end, uint32_t *ret_rows, size_t room)
{
    struct found found = {.next = *first};
    span = span_in_width(column->width_bytes, low, span);
    FOR_WIDTH(column->width_bytes, find_width, column->at, low, span, end, ret_rows, room, &found)
    *first = found.next;
    return found.kept;
}

/* Does a row of the group begin in time and last long enough? Sums that run over are not made: what
 * is left to last is compared instead. */
BODY bool any_lasts(const uint8_t *stime, const uint8_t *duration, uint32_t most, uint32_t until)
{
    uint32_t any = 0;
    for (size_t i = 0; i < PD_FIND_GROUP; i++) {
        uint32_t at = (uint32_t)pd_column_offset_at(stime, 4, i);
        uint32_t lasts = (uint32_t)pd_column_offset_at(duration, 4, i);
        uint32_t left = until - (at < until ? at : until); /* so that vectors have it */
        any |= (uint32_t)(at <= most) & (uint32_t)(lasts >= left);
    }
    return any;
}

BODY size_t find_lasting_body(const uint8_t *stime, const uint8_t *duration, uint32_t most,
                              uint32_t until, size_t *first, size_t end, uint32_t *rows,
                              size_t room)
{
    size_t i = *first, kept = 0;
    while (i < end && kept + PD_FIND_GROUP <= room) {
        size_t group_end = end - i < PD_FIND_GROUP ? end : i + PD_FIND_GROUP;
        if (group_end - i == PD_FIND_GROUP &&
            !any_lasts(stime + 4 * i, duration + 4 * i, most, until)) {
            i = group_end;
            continue;
        }
        for (; i < group_end; i++) {
            uint64_t at = pd_column_offset_at(stime, 4, i);
            rows[kept] = (uint32_t)i;
            kept += (at <= most) & (at + pd_column_offset_at(duration, 4, i) >= until);
        }
    }
    *first = i;
    return kept;
}

BODY void narrow_width(unsigned width_bytes, const uint8_t *at, uint64_t low, uint64_t span,
                       uint32_t *rows, size_t len, size_t *ret_kept)
{
    size_t kept = 0;
    for (size_t i = 0; i < len; i++) {
        uint32_t row = rows[i];
        rows[kept] = row;
        kept += pd_column_offset_at(at, width_bytes, row) - low <= span;
    }
    *ret_kept = kept;
}

BODY size_t narrow_body(const struct pd_column *column, uint64_t low, uint64_t span, uint32_t *rows,
                        size_t len)
{
    size_t kept = 0;
    FOR_WIDTH(column->width_bytes, narrow_width, column->at, low, span, rows, len, &kept)
    return kept;
}

/* ---- find_bit ---- */

BODY uint32_t bit_at(unsigned width_bytes, const uint8_t *at, uint32_t base, const uint32_t *bits,
                     size_t i)
{
    uint32_t value = base + (uint32_t)pd_column_offset_at(at, width_bytes, i);
    return bits[value / 32] >> value % 32 & 1;
}

BODY void find_bit_width(unsigned width_bytes, const uint8_t *at, uint32_t base,
                         const uint32_t *bits, size_t first, size_t end, size_t *ret_found)
{
    for (uint32_t any = 0; end - first >= 16; first += 16) {
        for (size_t i = 0; i < 16; i++) {
            any |= bit_at(width_bytes, at, base, bits, first + i);
        }
        if (any) {
            break;
        }
    }
    while (first < end && !bit_at(width_bytes, at, base, bits, first)) {
        first++;
    }
    *ret_found = first;
}

BODY size_t find_bit_body(const struct pd_column *column, const uint32_t *bits, size_t first,
                          size_t end)
{
    size_t found = end;
    FOR_WIDTH(column->width_bytes, find_bit_width, column->at, (uint32_t)column->base, bits, first,
              end, &found)
    return found;
}

/* ---- the table, once for each vector unit ---- */

#define VARIANT(unit, attribute)                                                                  \
    attribute static void load_##unit(const struct pd_column *column, size_t first, size_t len,   \
                                      uint64_t *ret_values)                                       \
    {                                                                                             \
        load_body(column, first, len, ret_values);                                                \
    }                                                                                             \
    attribute static void gather_##unit(const struct pd_column *column, const uint32_t *rows,     \
                                        size_t len, uint64_t *ret_values)                         \
    {                                                                                             \
        gather_body(column, rows, len, ret_values);                                               \
    }                                                                                             \
    attribute static size_t find_##unit(const struct pd_column *column, uint64_t low,             \
                                        uint64_t span, size_t *first, size_t end,                 \
                                        uint32_t *ret_rows, size_t room)                          \
    {                                                                                             \
        return find_body(column, low, span, first, end, ret_rows, room);                          \
    }                                                                                             \
    attribute static size_t find_lasting_##unit(                                                  \
        const struct pd_column *stime, const struct pd_column *duration, uint32_t most,           \
        uint32_t until, size_t *first, size_t end, uint32_t *ret_rows, size_t room)               \
    {                                                                                             \
        return find_lasting_body(stime->at, duration->at, most, until, first, end, ret_rows,      \
                                 room);                                                           \
    }                                                                                             \
    attribute static size_t narrow_##unit(const struct pd_column *column, uint64_t low,           \
                                          uint64_t span, uint32_t *rows, size_t len)              \
    {                                                                                             \
        return narrow_body(column, low, span, rows, len);                                         \
    }                                                                                             \
    attribute static void add_scaled_##unit(const struct pd_column *column, uint64_t coefficient, \
                                            size_t first, size_t len, uint64_t *sums)             \
    {                                                                                             \
        add_scaled_body(column, coefficient, first, len, sums);                                   \
    }                                                                                             \
    attribute static void prefix_sums_##unit(const struct pd_column *column, size_t first,        \
                                             size_t len, uint64_t *ret_sums)                      \
    {                                                                                             \
        prefix_sums_body(column, first, len, ret_sums);                                           \
    }                                                                                             \
    attribute static size_t find_bit_##unit(const struct pd_column *column, const uint32_t *bits, \
                                            size_t first, size_t end)                             \
    {                                                                                             \
        return find_bit_body(column, bits, first, end);                                           \
    }                                                                                             \
    static const struct pd_kernels kernels_##unit = {                                             \
        load_##unit,   gather_##unit,     find_##unit,        find_lasting_##unit,                \
        narrow_##unit, add_scaled_##unit, prefix_sums_##unit, find_bit_##unit,                    \
    };

VARIANT(plain, )
#if defined(__x86_64__)
VARIANT(avx2, __attribute__((target("avx2,bmi2"))))

const struct pd_kernels *pd_lmdb_kernels(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") ? &kernels_avx2
                                                                            : &kernels_plain;
}
#else
const struct pd_kernels *pd_lmdb_kernels(void)
{
    return &kernels_plain;
}
#endif
