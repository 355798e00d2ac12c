/* SPDX-License-Identifier: Apache-2.0 */
/* Answers to a program's calls: written whole into files without a name, read back in pages as the
 * program gets to them. */
#ifndef PD_PROGRAM_LINES_H
#define PD_PROGRAM_LINES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* So the memory of neither side grows with the answer, and a program may ask again while it goes
 * through an answer. One run, one thread. */

#define PD_LINES_OPEN_MAX   64u
#define PD_LINES_PAGE_BYTES ((size_t)64 << 10)

struct pd_program_lines {
    FILE *files[PD_LINES_OPEN_MAX]; /* by number; zeroed to begin with */
};

/* -PD_E_FULL: too many are open, or there is no room for a file. The file is for one call to fill.
 */
int pd_program_lines_open(struct pd_program_lines *lines, uint32_t *ret_number, FILE **ret_file);

/* The file is filled: pages begin at its beginning. -PD_E_FULL: it could not be written. */
int pd_program_lines_begin(struct pd_program_lines *lines, uint32_t number);

/* The next whole lines, about a page; none at the end, which closes it. The caller frees
 * *ret_bytes. -PD_E_NOT_FOUND, -ENOMEM or -errno. */
int pd_program_lines_page(struct pd_program_lines *lines, uint32_t number, char **ret_bytes,
                          size_t *ret_len);

void pd_program_lines_close(struct pd_program_lines *lines,
                            uint32_t number); /* one that is not open is fine */
void pd_program_lines_done(struct pd_program_lines *lines);

#endif
