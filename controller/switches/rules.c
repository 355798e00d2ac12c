/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a switch's flows with the codec's rules and writes what makes them equal. */
#include "controller/switches/rules.h"

#include <stdlib.h>
#include <string.h>

#include "codec/edge.h"
#include "codec/openflow.h"
#include "controller/switches/switches.h"

enum verdict { MISSING, SAME, DIFFERING, BLOCKED, VERDICTS };

struct rule {
    struct pd_of_flow flow; /* into `room` */
    uint8_t room[PD_OF_FLOW_ROOM];
    enum verdict verdict;
};

struct pd_of_rules {
    struct pd_codec_rows rows;
    struct rule *rules;  /* of each row */
    struct rule **order; /* the same by pd_switch_flow_compare */
    uint32_t surplus;
    uint64_t foreign;
    bool before_edge;           /* a foreign flow has a priority of the edge's, or more */
    struct of_buffer deletions; /* of surplus flows, xid 0 */
};

/* ---- what it should have */

static int read_rows(struct pd_of_rules *rules, struct pd_error *error)
{
    for (size_t i = 0; i < rules->rows.len; i++) {
        struct rule *rule = &rules->rules[i];
        int err = pd_switch_flow_of_row(&rules->rows, &rules->rows.rows[i], rule->room, &rule->flow,
                                        error);
        if (err) {
            return err;
        }
        rule->flow.cookie = PD_SWITCHES_COOKIE;
        rules->order[i] = rule;
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct rule *const *x = a, *const *y = b;
    return pd_switch_flow_compare(&(*x)->flow, &(*y)->flow);
}

int pd_switch_rules_new(const struct pd_codec *codec, uint32_t sw, enum pd_depth depth,
                        struct pd_of_rules **ret_rules, struct pd_error *error)
{
    struct pd_of_rules *rules = calloc(1, sizeof *rules);
    int err = rules ? pd_codec_rows_make(codec, sw, depth, &rules->rows) : -ENOMEM;
    if (err) {
        goto out;
    }
    size_t len = rules->rows.len;
    rules->rules = calloc(len + 1, sizeof *rules->rules);
    rules->order = calloc(len + 1, sizeof(struct rule *));
    err = rules->rules && rules->order ? read_rows(rules, error) : -ENOMEM;
    if (err) {
        goto out;
    }
    qsort(rules->order, len, sizeof(struct rule *), compare);
    *ret_rules = rules;
    return 0;
out:
    pd_switch_rules_free(rules);
    return err;
}

void pd_switch_rules_free(struct pd_of_rules *rules)
{
    if (!rules) {
        return;
    }
    of_buffer_done(&rules->deletions);
    free(rules->order);
    free(rules->rules);
    pd_codec_rows_done(&rules->rows);
    free(rules);
}

/* ---- what it has */

void pd_switch_rules_begin(struct pd_of_rules *rules)
{
    for (size_t i = 0; i < rules->rows.len; i++) {
        rules->rules[i].verdict = MISSING;
    }
    rules->surplus = 0;
    rules->foreign = 0;
    rules->before_edge = false;
    of_buffer_done(&rules->deletions);
}

static struct rule *find(const struct pd_of_rules *rules, const struct pd_of_flow *flow)
{
    struct rule key = {.flow = *flow};
    const struct rule *pointer = &key;
    struct rule **found =
        bsearch(&pointer, rules->order, rules->rows.len, sizeof(struct rule *), compare);
    return found ? *found : NULL;
}

int pd_switch_rules_see(struct pd_of_rules *rules, const struct pd_of_flow *flow)
{
    bool ours = flow->cookie == PD_SWITCHES_COOKIE;
    if (flow->table != PD_SWITCHES_TABLE) {
        return 0;
    }
    rules->foreign += !ours;
    rules->before_edge |= !ours && flow->priority >= PD_ROW_EDGE;
    struct rule *rule = find(rules, flow);
    if (rule && !flow->timed && pd_switch_flow_does_same(flow, &rule->flow)) {
        rule->verdict = SAME;
    } else if (rule) {
        rule->verdict = ours ? DIFFERING : BLOCKED;
    } else if (ours && rules->surplus < UINT32_MAX) {
        rules->surplus++;
        if (rules->deletions.bytes < PD_OF_SURPLUS_BYTES_MAX) {
            pd_switch_flow_write(flow, OF_DELETE_STRICT, 0, &rules->deletions);
        }
    }
    return rules->deletions.error;
}

/* ---- what to do */

static bool is_edge_open(const struct pd_of_rules *rules)
{
    bool open = rules->before_edge;
    for (size_t i = 0; i < rules->rows.len; i++) {
        open |= pd_codec_is_edge_row(&rules->rows.rows[i]) &&
                (rules->rules[i].verdict != SAME || rules->rows.tpid != PD_TPID_DEFAULT);
    }
    return open;
}

uint32_t pd_switch_rules_count(const struct pd_of_rules *rules,
                               struct pd_of_differences *ret_differences)
{
    uint32_t verdicts[VERDICTS] = {0};
    for (size_t i = 0; i < rules->rows.len; i++) {
        verdicts[rules->rules[i].verdict]++;
    }
    *ret_differences = (struct pd_of_differences){
        .rules = (uint32_t)rules->rows.len,
        .missing = verdicts[MISSING],
        .differing = verdicts[DIFFERING],
        .surplus = rules->surplus,
        .blocked = verdicts[BLOCKED],
        .foreign = rules->foreign,
        .edge_open = is_edge_open(rules),
    };
    return verdicts[MISSING] + verdicts[DIFFERING] + rules->surplus;
}

void pd_switch_rules_repair(const struct pd_of_rules *rules, uint32_t xid, struct of_buffer *buffer)
{
    for (size_t i = 0; i < rules->rows.len; i++) {
        if (rules->rules[i].verdict == MISSING || rules->rules[i].verdict == DIFFERING) {
            pd_switch_flow_write(&rules->rules[i].flow, OF_ADD, xid, buffer);
        }
    }
    of_write_bytes(buffer, rules->deletions.data, rules->deletions.bytes);
}

/* The deletions are whole messages of ours: their match lies at a fixed place. */
static void print_deletions(const struct of_buffer *deletions, FILE *out)
{
    enum { TABLE = 24, PRIORITY = 30, MATCH = 48 };
    for (size_t at = 0; at < deletions->bytes;) {
        uint8_t *message = deletions->data + at;
        struct pd_of_flow flow = {
            .table = message[TABLE],
            .priority = (uint16_t)of_number(message + PRIORITY, 2),
            .match = message + MATCH + 4,
            .match_bytes = (uint16_t)(of_number(message + MATCH + 2, 2) - 4),
        };
        fputs("delete ", out);
        pd_switch_flow_print(&flow, out);
        fputc('\n', out);
        at += of_number(message + 2, 2);
    }
}

int pd_switch_rules_changes(const struct pd_of_rules *rules, char **ret_text)
{
    static const char *const words[VERDICTS] = {"add", NULL, "replace", "blocked"};
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (!out) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < rules->rows.len; i++) {
        if (words[rules->rules[i].verdict]) {
            fprintf(out, "%s ", words[rules->rules[i].verdict]);
            pd_codec_openflow_row(&rules->rows, &rules->rows.rows[i], out);
            fputc('\n', out);
        }
    }
    print_deletions(&rules->deletions, out);
    bool failed = ferror(out);
    if (fclose(out) || failed) {
        free(text);
        return -ENOMEM;
    }
    *ret_text = text;
    return 0;
}
