/* SPDX-License-Identifier: Apache-2.0 */
/* Answers to a program's calls, in files. */
#include "program/lines.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

int pd_program_lines_open(struct pd_program_lines *lines, uint32_t *ret_number, FILE **ret_file)
{
    uint32_t number = 0;
    while (number < PD_LINES_OPEN_MAX && lines->files[number]) {
        number++;
    }
    FILE *file = number < PD_LINES_OPEN_MAX ? tmpfile() : NULL;
    if (!file) {
        return -PD_E_FULL;
    }
    lines->files[number] = file;
    *ret_number = number;
    *ret_file = file;
    return 0;
}

int pd_program_lines_begin(struct pd_program_lines *lines, uint32_t number)
{
    FILE *file = lines->files[number];
    bool failed = fflush(file) || ferror(file) || fseek(file, 0, SEEK_SET);
    return failed ? -PD_E_FULL : 0;
}

void pd_program_lines_close(struct pd_program_lines *lines, uint32_t number)
{
    if (number < PD_LINES_OPEN_MAX && lines->files[number]) {
        fclose(lines->files[number]);
        lines->files[number] = NULL;
    }
}

void pd_program_lines_done(struct pd_program_lines *lines)
{
    for (uint32_t i = 0; i < PD_LINES_OPEN_MAX; i++) {
        pd_program_lines_close(lines, i);
    }
}

/* Whole lines from where the file stands. */
static int read_page(FILE *file, char **ret_bytes, size_t *ret_len)
{
    char *page = NULL, *line = NULL;
    size_t page_len = 0, line_room = 0;
    FILE *out = open_memstream(&page, &page_len);
    ssize_t len = 0;
    if (!out) {
        return -ENOMEM;
    }
    for (size_t sum = 0; sum < PD_LINES_PAGE_BYTES; sum += (size_t)len) {
        len = getline(&line, &line_room, file);
        if (len < 0) {
            break;
        }
        fwrite(line, 1, (size_t)len, out);
    }
    free(line);
    bool failed = ferror(file) || ferror(out);
    if (fclose(out) || failed) {
        free(page);
        return failed ? -EIO : -ENOMEM;
    }
    *ret_bytes = page;
    *ret_len = page_len;
    return 0;
}

int pd_program_lines_page(struct pd_program_lines *lines, uint32_t number, char **ret_bytes,
                          size_t *ret_len)
{
    FILE *file = number < PD_LINES_OPEN_MAX ? lines->files[number] : NULL;
    if (!file) {
        return -PD_E_NOT_FOUND;
    }
    int err = read_page(file, ret_bytes, ret_len);
    if (!err && !*ret_len) {
        pd_program_lines_close(lines, number);
    }
    return err;
}
