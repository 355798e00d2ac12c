/* SPDX-License-Identifier: Apache-2.0 */
/* A pager for what is longer than the screen, as git has it. */
#ifndef PD_CLI_PAGER_H
#define PD_CLI_PAGER_H

/* Only where standard output is a terminal that is not "dumb": that of PATHDUMP_PAGER, else of
 * PAGER, else less; none where that is empty or "cat". It is run by the shell, with LESS=FRX where
 * LESS is not set: what fits on the screen just stays there.
 *
 * One thread. */

/* Standard output goes there from now on; ask for a style before. Where no pager can be started it
 * stays what it was. */
void pd_cli_pager_begin(void);

/* Waits until nobody reads any more; standard output is the terminal's again. Nothing where none
 * was begun. */
void pd_cli_pager_end(void);

#endif
