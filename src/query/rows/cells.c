/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of tables: ends of flows, times, paths, numbers as people read them. */
#include "query/rows/cells.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "query/protocol.h"

/* No character becomes more than four bytes. */
void pd_rows_word(struct pd_rows_table *table, const char *text, size_t most)
{
    size_t size = text && pd_rows_is_csv(table) ? 4 * strlen(text) + 1 : most;
    char *word = malloc(size);

    pd_rows_cell(table, word ? pd_row_text_word(text, word, size) : NULL);
    free(word);
}

/* As it is in CSV, for people as `words` has it. */
static void value_cell(struct pd_rows_table *table, uint64_t value,
                       const char *(*words)(uint64_t value, char *text))
{
    char text[PD_TEXT_NUMBER_BYTES];

    if (pd_rows_is_csv(table)) {
        snprintf(text, sizeof text, "%" PRIu64, value);
    } else {
        words(value, text);
    }
    pd_rows_cell(table, text);
}

void pd_rows_number(struct pd_rows_table *table, uint64_t number)
{
    value_cell(table, number, pd_row_text_number);
}

void pd_rows_bytes(struct pd_rows_table *table, uint64_t bytes)
{
    value_cell(table, bytes, pd_row_text_bytes);
}

void pd_rows_span(struct pd_rows_table *table, uint64_t span_us)
{
    value_cell(table, span_us, pd_row_text_span);
}

void pd_rows_time(struct pd_rows_table *table, uint64_t wall_us)
{
    char text[PD_TIME_TEXT_BYTES];

    pd_rows_cell(table, pd_rows_is_csv(table)
                            ? pd_time_format(wall_us, text)
                            : pd_row_text_time(wall_us, pd_rows_style(table), text));
}

/* The five parts, as JSON names them. */
static void csv_flow(struct pd_rows_table *table, const struct pd_flow_id *flow)
{
    const struct pd_addr *const addrs[] = {&flow->src, &flow->dst};
    const uint16_t ports[] = {flow->src_port, flow->dst_port};
    char text[PD_ADDR_TEXT_BYTES];

    for (size_t i = 0; i < 2; i++) {
        pd_rows_cell(table, pd_addr_format(addrs[i], flow->ip_version, text));
        pd_rows_number(table, ports[i]);
    }
    pd_rows_number(table, flow->protocol);
}

void pd_rows_flow(struct pd_rows_table *table, const struct pd_flow_id *flow)
{
    char end[PD_END_TEXT_BYTES], number[PD_TEXT_NUMBER_BYTES];
    const char *name = pd_query_protocol_name(flow->protocol);
    snprintf(number, sizeof number, "%u", flow->protocol);
    if (pd_rows_is_csv(table)) {
        csv_flow(table, flow);
        return;
    }
    pd_rows_cell(table, pd_row_text_end(&flow->src, flow, flow->src_port, end));
    pd_rows_cell(table, pd_row_text_end(&flow->dst, flow, flow->dst_port, end));
    pd_rows_cell(table, name ? name : number);
}

void pd_rows_way(const struct pd_style *style, struct pd_rows_table *table,
                 const struct pd_claim *claim)
{
    char text[PD_TEXT_WAY_BYTES];

    pd_rows_cell(table, pd_row_text_way(claim, style, text));
}

void pd_rows_path(const struct pd_style *style, struct pd_rows_table *table,
                  const struct pd_path *path)
{
    char text[PD_TEXT_PATH_BYTES];
    pd_rows_cell(table, pd_row_text_path(path, style, text));
}

void pd_rows_hops(struct pd_rows_table *table, const struct pd_path *path)
{
    char hops[12] = "?";
    if (path->len) {
        snprintf(hops, sizeof hops, "%u", path->len - 1U);
    }
    pd_rows_cell(table, hops);
}

void pd_rows_times(struct pd_rows_table *table, const struct pd_tib_record *record)
{
    pd_rows_time(table, record->stime_us);
    pd_rows_span(table, record->etime_us - record->stime_us);
}
