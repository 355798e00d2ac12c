/* SPDX-License-Identifier: Apache-2.0 */
/* Path trees as text: branches sorted from the receiver's end, then drawn level by level. */
#include "apps/tree.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/sums.h"

struct drawing {
    FILE *out;
    const struct pd_app_branch *branches;
    size_t lines;
    char indent[PD_PATH_MAX * 8 + 8]; /* of the lines below */
};

/* The switch so many steps before the end; 0: the path is shorter, its sender comes here. */
static uint32_t at_depth(const struct pd_app_branch *branch, unsigned depth)
{
    return depth < branch->path.len ? branch->path.switches[branch->path.len - 1 - depth] : 0;
}

/* Longer ways first: senders nearby stand at the end of a level. */
static int from_the_end(const void *a, const void *b)
{
    const struct pd_app_branch *x = a, *y = b;

    for (unsigned depth = 0; depth < PD_PATH_MAX; depth++) {
        uint32_t left = at_depth(x, depth), right = at_depth(y, depth);

        if (left != right) {
            return !left ? 1 : !right ? -1 : left > right ? 1 : -1;
        }
    }
    return strcmp(x->words, y->words);
}

/* The branches of [begin, end) that go on like the first one. */
static size_t same_way(const struct drawing *drawing, size_t begin, size_t end, unsigned depth)
{
    size_t at = begin + 1;

    while (at < end &&
           at_depth(&drawing->branches[at], depth) == at_depth(&drawing->branches[begin], depth)) {
        at++;
    }
    return at;
}

static void draw_node(struct drawing *drawing, size_t begin, size_t end, unsigned depth,
                      bool is_last)
{
    uint64_t flows = 0, bytes = 0;
    char amount[PD_APP_AMOUNT_BYTES];

    for (size_t i = begin; i < end; i++) {
        flows += drawing->branches[i].flows;
        bytes += drawing->branches[i].bytes;
    }
    fprintf(drawing->out, "%s%s%" PRIu32 ": %" PRIu64 " flow%s, %s\n", drawing->indent,
            is_last ? "└─ " : "├─ ", at_depth(&drawing->branches[begin], depth), flows,
            flows == 1 ? "" : "s", pd_app_amount((double)bytes, amount));
}

/* Recursion ends with the paths: at most PD_PATH_MAX levels. */
static void draw(struct drawing *drawing, size_t begin, size_t end, unsigned depth) /* NOLINT */
{
    size_t indent = strlen(drawing->indent), next;

    for (size_t at = begin; at < end && drawing->lines < PD_APP_TREE_LINES_MAX; at = next) {
        bool is_leaf = !at_depth(&drawing->branches[at], depth);

        next = is_leaf ? at + 1 : same_way(drawing, at, end, depth);
        drawing->lines++;
        if (is_leaf) {
            fprintf(drawing->out, "%s%s%s\n", drawing->indent, next == end ? "└─ " : "├─ ",
                    drawing->branches[at].words);
            continue;
        }
        draw_node(drawing, at, next, depth, next == end);
        strcat(drawing->indent, next == end ? "   " : "│  "); /* NOLINT: room for each level */
        draw(drawing, at, next, depth + 1);
        drawing->indent[indent] = '\0';
    }
}

char *pd_app_tree(const char *root, struct pd_app_branch *branches, size_t len)
{
    char *text = NULL;
    size_t bytes = 0;
    struct drawing drawing = {.branches = branches};

    drawing.out = open_memstream(&text, &bytes);
    if (!drawing.out) {
        return NULL;
    }
    if (len) {
        qsort(branches, len, sizeof *branches, from_the_end);
    }
    fprintf(drawing.out, "%s\n", root);
    draw(&drawing, 0, len, 0);
    if (drawing.lines >= PD_APP_TREE_LINES_MAX) {
        fputs("… and more\n", drawing.out);
    }
    if (fclose(drawing.out)) {
        free(text);
        return NULL;
    }
    return text;
}
