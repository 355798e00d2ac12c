/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a TIB from lines of text, for tests that ask it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/tagging/mark.h"
#include "tib/tib.h"

/* make_tib DIR < LINES; a line: src_ip dst_ip src_port dst_port protocol path stime_us etime_us
 * bytes pkts. The path is 1,9,17, or t9,14 for an infeasible trajectory with these tags; a line
 * "commit" ends a transaction. */

static int read_path(const char *text, struct pd_path *ret_path, struct pd_claim *ret_claim)
{
    struct pd_path ids;
    uint16_t tags[PD_TAGGING_TAGS_MAX];
    int err = pd_path_parse(*text == 't' ? text + 1 : text, &ids);
    if (err) {
        return err;
    }
    if (*text != 't') {
        *ret_path = ids;
        return 0;
    }
    for (unsigned i = 0; i < ids.len && i < PD_TAGGING_TAGS_MAX; i++) {
        tags[i] = (uint16_t)ids.switches[i];
    }
    ret_path->len = 0;
    ret_claim->state = PD_CLAIM_INFEASIBLE;
    ret_claim->mark = pd_tagging_mark(tags, ids.len, 0);
    return 0;
}

static int add_line(struct pd_tib *tib, const char *line)
{
    struct pd_path path;
    struct pd_claim claim = {.path = &path};
    struct pd_tib_record record = {.path = &path};
    struct pd_flow_id *flow = &record.flow;
    char src[64], dst[64], path_text[200];
    if (sscanf(line,
               "%63s %63s %" SCNu16 " %" SCNu16 " %" SCNu8 " %199s %" SCNu64 " %" SCNu64 " %" SCNu64
               " %" SCNu64,
               src, dst, &flow->src_port, &flow->dst_port, &flow->protocol, path_text,
               &record.stime_us, &record.etime_us, &record.bytes, &record.pkts) != 10) {
        return -PD_E_SYNTAX;
    }
    if (pd_addr_parse(src, &flow->src, &flow->ip_version) ||
        pd_addr_parse(dst, &flow->dst, &flow->ip_version) || read_path(path_text, &path, &claim)) {
        return -PD_E_VALUE;
    }
    record.claim = pd_tib_claim_kept(&claim);
    return pd_tib_append(tib, &record, 1);
}

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t bytes = 0;
    struct pd_error error = {0};
    struct pd_tib *tib;
    int err = 0;
    if (argc != 2) {
        return 2;
    }
    if (pd_tib_open(argv[1], PD_TIB_WRITE, &(struct pd_tib_config){0}, &tib, &error)) {
        fprintf(stderr, "make_tib: %s\n", error.text);
        return 1;
    }
    while (!err && getline(&line, &bytes, stdin) > 0) {
        err = strcmp(line, "commit\n") ? add_line(tib, line) : pd_tib_commit(tib);
    }
    if (err) {
        fprintf(stderr, "make_tib: %s: %s\n", line, pd_error_text(err));
    }
    free(line);
    pd_tib_close(tib);
    return err != 0;
}
