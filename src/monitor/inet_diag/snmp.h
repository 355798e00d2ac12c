/* SPDX-License-Identifier: Apache-2.0 */
/* The counter of all retransmissions, out of /proc/net/snmp. */
#ifndef PD_MONITOR_INET_DIAG_SNMP_H
#define PD_MONITOR_INET_DIAG_SNMP_H

#include <stddef.h>
#include <stdint.h>

/* `text` has room for one byte behind `len`, which is set to NUL. 0, or -PD_E_SYNTAX: it is not
 * there. Thread safety: pure. */
int pd_inet_diag_snmp_retransmissions(char *text, size_t len, uint64_t *ret_retransmissions);

#endif
