/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline's tables and arrays. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_swx_ctl.h>

#include "swx/pipeline.h"
#include "swx/pipeline_private.h"

_Static_assert(PD_SWX_NAME_MAX >= RTE_SWX_CTL_NAME_SIZE, "names of SWX fit");

int pd_swx_pipeline_look(struct pd_swx_pipeline *p)
{
    struct rte_swx_ctl_pipeline_info info;
    int err = rte_swx_ctl_pipeline_info_get(p->swx, &info);
    if (err) {
        return err;
    }
    p->tables = calloc(info.n_tables + 1, sizeof *p->tables);
    p->actions = calloc(info.n_actions + 1, sizeof *p->actions);
    if (!p->tables || !p->actions) {
        return -ENOMEM;
    }
    p->tables_len = info.n_tables;
    p->actions_len = info.n_actions;
    p->arrays_len = info.n_regarrays;
    for (uint32_t i = 0; i < p->tables_len && !err; i++) {
        err = rte_swx_ctl_table_info_get(p->swx, i, &p->tables[i]);
    }
    return err;
}

/* ---- tables */

uint32_t pd_swx_pipeline_tables_len(const struct pd_swx_pipeline *p)
{
    return p->tables_len;
}

void pd_swx_pipeline_table(const struct pd_swx_pipeline *p, uint32_t nth,
                           struct pd_swx_table_info *ret_info)
{
    struct rte_swx_table_stats stats = {.n_pkts_action = p->actions};
    struct pd_swx_table_info info = {.size = p->tables[nth].size};
    snprintf(info.name, sizeof info.name, "%s", p->tables[nth].name);
    if (!rte_swx_ctl_pipeline_table_stats_read(p->swx, info.name, &stats)) {
        info.hits = stats.n_pkts_hit;
    }
    *ret_info = info;
}

/* `_ports_0` is `ports`: what the compiler puts around a name. */
static bool is_plainly(const char *full, const char *name)
{
    const size_t len = strlen(name);
    full += strspn(full, "._");
    if (strncmp(full, name, len) != 0) {
        return false;
    }
    full += len;
    return !*full || (*full == '_' && full[1] && !full[1 + strspn(full + 1, "0123456789")]);
}

uint32_t pd_swx_pipeline_find_table(const struct pd_swx_pipeline *p, const char *name)
{
    for (int exact = 1; exact >= 0; exact--) {
        for (uint32_t i = 0; i < p->tables_len; i++) {
            const char *full = p->tables[i].name;
            if (exact ? !strcmp(full, name) : is_plainly(full, name)) {
                return i;
            }
        }
    }
    return PD_SWX_NONE;
}

static void free_entry(struct rte_swx_table_entry *entry)
{
    if (entry) {
        free(entry->key);
        free(entry->key_mask);
        free(entry->action_data);
        free(entry);
    }
}

static bool is_default(const char *row)
{
    while (isspace((unsigned char)*row)) {
        row++;
    }
    return strncmp(row, "match", 5) != 0;
}

typedef int entry_change(struct rte_swx_ctl_pipeline *ctl, const char *table,
                         struct rte_swx_table_entry *entry);

static int change(struct pd_swx_pipeline *p, uint32_t table, const char *row, entry_change *what)
{
    int blank = 0;
    const char *name = p->tables[table].name;
    struct rte_swx_table_entry *entry =
        rte_swx_ctl_pipeline_table_entry_read(p->ctl, name, row, &blank);
    if (!entry) {
        return blank ? 0 : -PD_E_SYNTAX;
    }
    int err = what(p->ctl, name, entry);
    free_entry(entry);
    return err == -EINVAL ? -PD_E_SYNTAX : err;
}

int pd_swx_pipeline_add(struct pd_swx_pipeline *p, uint32_t table, const char *row)
{
    return change(p, table, row,
                  is_default(row) ? rte_swx_ctl_pipeline_table_default_entry_add
                                  : rte_swx_ctl_pipeline_table_entry_add);
}

int pd_swx_pipeline_remove(struct pd_swx_pipeline *p, uint32_t table, const char *row)
{
    return is_default(row) ? 0 : change(p, table, row, rte_swx_ctl_pipeline_table_entry_delete);
}

int pd_swx_pipeline_commit(struct pd_swx_pipeline *p)
{
    int err = rte_swx_ctl_pipeline_commit(p->ctl, 1);
    return err == -ENOSPC ? -PD_E_FULL : err;
}

void pd_swx_pipeline_abort(struct pd_swx_pipeline *p)
{
    rte_swx_ctl_pipeline_abort(p->ctl);
}

/* ---- an entry in words */

struct words {
    char *text;
    size_t room, len;
};

static void say(struct words *words, const char *text)
{
    int got = snprintf(words->text + words->len, words->room - words->len, "%s", text);
    words->len +=
        (size_t)got < words->room - words->len ? (size_t)got : words->room - words->len - 1;
}

static void say_fields(const struct pd_swx_pipeline *p, uint32_t table, struct words *words)
{
    static const char *const kinds[] = {[RTE_SWX_TABLE_MATCH_WILDCARD] = "V/MASK",
                                        [RTE_SWX_TABLE_MATCH_LPM] = "V/BITS",
                                        [RTE_SWX_TABLE_MATCH_EXACT] = "V"};
    say(words, "match");
    for (uint32_t i = 0; i < p->tables[table].n_match_fields; i++) {
        struct rte_swx_ctl_table_match_field_info field;
        char text[32] = "";
        if (!rte_swx_ctl_table_match_field_info_get(p->swx, table, i, &field)) {
            snprintf(text, sizeof text, " %s:%u", kinds[field.match_type], field.n_bits);
        }
        say(words, text);
    }
}

static void say_action(const struct pd_swx_pipeline *p, uint32_t action, struct words *words)
{
    struct rte_swx_ctl_action_info info;
    struct rte_swx_ctl_action_arg_info argument;
    if (rte_swx_ctl_action_info_get(p->swx, action, &info)) {
        return;
    }
    say(words, info.name);
    for (uint32_t i = 0; i < info.n_args; i++) {
        if (!rte_swx_ctl_action_arg_info_get(p->swx, action, i, &argument)) {
            say(words, " ");
            say(words, argument.name);
            say(words, " V");
        }
    }
}

void pd_swx_pipeline_describe(const struct pd_swx_pipeline *p, uint32_t table, char *text,
                              size_t room)
{
    struct words words = {.text = text, .room = room};
    say_fields(p, table, &words);
    say(&words, " [priority N] action ");
    for (uint32_t i = 0; i < p->tables[table].n_actions; i++) {
        struct rte_swx_ctl_table_action_info action;
        if (!rte_swx_ctl_table_action_info_get(p->swx, table, i, &action)) {
            say(&words, i ? " | " : "");
            say_action(p, action.action_id, &words);
        }
    }
}

/* ---- arrays */

/* `x.clock_0` is `clock`: p4c puts the control's name in front of it and a number behind it. */
static bool is_named(const char *full, const char *name)
{
    const size_t len = strlen(name);
    for (const char *at = full; (at = strstr(at, name)); at++) {
        const char *end = at + len;
        bool begins = at == full || at[-1] == '.' || at[-1] == '_';
        if (*end == '_') {
            end += 1 + strspn(end + 1, "0123456789");
        }
        if (begins && !*end) {
            return true;
        }
    }
    return false;
}

uint32_t pd_swx_pipeline_arrays_len(const struct pd_swx_pipeline *p)
{
    return p->arrays_len;
}

uint32_t pd_swx_pipeline_nth_array(const struct pd_swx_pipeline *p, uint32_t nth,
                                   char ret_name[PD_SWX_NAME_MAX])
{
    struct rte_swx_ctl_regarray_info info;
    if (rte_swx_ctl_regarray_info_get(p->swx, nth, &info)) {
        return 0;
    }
    snprintf(ret_name, PD_SWX_NAME_MAX, "%s", info.name);
    return info.size;
}

uint32_t pd_swx_pipeline_array(const struct pd_swx_pipeline *p, const char *name, char *ret_name)
{
    char full[PD_SWX_NAME_MAX];
    uint32_t size = 0;
    for (int exact = 1; exact >= 0; exact--) {
        for (uint32_t i = 0; i < p->arrays_len; i++) {
            size = pd_swx_pipeline_nth_array(p, i, full);
            if (size && (exact ? !strcmp(full, name) : is_named(full, name))) {
                if (ret_name) {
                    memcpy(ret_name, full, sizeof full);
                }
                return size;
            }
        }
    }
    return 0;
}

void pd_swx_pipeline_write(struct pd_swx_pipeline *p, const char *name, uint32_t index,
                           uint64_t value)
{
    rte_swx_ctl_pipeline_regarray_write(p->swx, name, index, value);
}

uint64_t pd_swx_pipeline_read(struct pd_swx_pipeline *p, const char *name, uint32_t index)
{
    uint64_t value = 0;
    rte_swx_ctl_pipeline_regarray_read(p->swx, name, index, &value);
    return value;
}
