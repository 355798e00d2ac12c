/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's walls: from here on, this process can use memory and the sockets it has, and nothing
 * else. */
#ifndef PD_PROGRAM_JAIL_H
#define PD_PROGRAM_JAIL_H

/* seccomp ends the process at any system call but those of memory, of the socket's traffic and of
 * the timer; limits of the process stand behind it. Sanitizers need more calls than that: builds
 * with one have the limits only. 0 or -errno. */
int pd_program_jail_enter(void);

#endif
