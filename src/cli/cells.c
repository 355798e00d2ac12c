/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of tables: ends of flows, times, paths, numbers as people read them. */
#include "cli/cells.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "query/protocol.h"

/* "10.1.1.2:80", "[fd00::2]:80"; the address alone for a protocol without ports. */
const char *pd_cell_end(const struct pd_addr *addr, const struct pd_flow_id *flow, uint16_t port,
                        char text[PD_END_TEXT_BYTES])
{
    const char *name = pd_protocol_name(flow->protocol);
    bool ports = flow->src_port || flow->dst_port ||
                 (name && (!strcmp(name, "tcp") || !strcmp(name, "udp") || !strcmp(name, "sctp")));

    return ports ? pd_end_format(addr, flow->ip_version, port, text)
                 : pd_addr_format(addr, flow->ip_version, text);
}

/* RFC 3339 with a blank instead of the T: easier on the eye, and still read by --from and --to. */
const char *pd_cell_time_text(uint64_t wall_us, char text[PD_TIME_TEXT_BYTES])
{
    char *t = strchr(pd_time_format(wall_us, text), 'T');
    if (t) {
        *t = ' ';
    }
    return text;
}

const char *pd_cell_plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* No character becomes more than four bytes. */
void pd_cell_word(struct pd_cli_table *table, const char *text, size_t most)
{
    size_t size = text && pd_cli_table_is_csv(table) ? 4 * strlen(text) + 1 : most;
    char *word = malloc(size);

    pd_cli_table_cell(table, word ? pd_cli_word(text, word, size) : NULL);
    free(word);
}

/* As it is in CSV, for people as `words` has it. */
static void value_cell(struct pd_cli_table *table, uint64_t value,
                       const char *(*words)(uint64_t value, char *text))
{
    char text[PD_CLI_NUMBER_BYTES];

    if (pd_cli_table_is_csv(table)) {
        snprintf(text, sizeof text, "%" PRIu64, value);
    } else {
        words(value, text);
    }
    pd_cli_table_cell(table, text);
}

void pd_cell_number(struct pd_cli_table *table, uint64_t number)
{
    value_cell(table, number, pd_cli_number);
}

void pd_cell_bytes(struct pd_cli_table *table, uint64_t bytes)
{
    value_cell(table, bytes, pd_cli_bytes);
}

void pd_cell_span(struct pd_cli_table *table, uint64_t span_us)
{
    value_cell(table, span_us, pd_cli_span);
}

void pd_cell_time(struct pd_cli_table *table, uint64_t wall_us)
{
    char text[PD_TIME_TEXT_BYTES];

    pd_cli_table_cell(table, pd_cli_table_is_csv(table) ? pd_time_format(wall_us, text)
                                                        : pd_cell_time_text(wall_us, text));
}

void pd_cell_flow(struct pd_cli_table *table, const struct pd_flow_id *flow)
{
    char end[PD_END_TEXT_BYTES], number[PD_CLI_NUMBER_BYTES];
    const char *name = pd_protocol_name(flow->protocol);
    snprintf(number, sizeof number, "%u", flow->protocol);
    pd_cli_table_cell(table, pd_cell_end(&flow->src, flow, flow->src_port, end));
    pd_cli_table_cell(table, pd_cell_end(&flow->dst, flow, flow->dst_port, end));
    pd_cli_table_cell(table, name ? name : number);
}

void pd_cell_way(const struct pd_style *style, struct pd_cli_table *table,
                 const struct pd_claim *claim)
{
    char text[PD_CLI_WAY_BYTES];

    pd_cli_table_cell(table, pd_cli_way(claim, style, text));
}

void pd_cell_path(const struct pd_style *style, struct pd_cli_table *table,
                  const struct pd_path *path)
{
    char text[PD_CLI_PATH_BYTES];
    pd_cli_table_cell(table, pd_cli_path(path, style, text));
}

void pd_cell_hops(struct pd_cli_table *table, const struct pd_path *path)
{
    char hops[12] = "?";
    if (path->len) {
        snprintf(hops, sizeof hops, "%u", path->len - 1U);
    }
    pd_cli_table_cell(table, hops);
}

void pd_cell_times(struct pd_cli_table *table, const struct pd_tib_record *record)
{
    pd_cell_time(table, record->stime_us);
    pd_cell_span(table, record->etime_us - record->stime_us);
}
