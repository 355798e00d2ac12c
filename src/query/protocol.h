/* SPDX-License-Identifier: Apache-2.0 */
/* Names of IP protocols: people write and read "tcp", answers hold 6. */
#ifndef PD_QUERY_PROTOCOL_H
#define PD_QUERY_PROTOCOL_H

/* A table of our own: /etc/protocols is missing on bare machines and may differ between them.
 * Thread safe. */

/* Number of a lower-case name. 0 or -PD_E_NOT_FOUND. */
int pd_query_protocol_number(const char *name, unsigned *ret_number);

/* Name of a number, or NULL. Static storage. */
const char *pd_query_protocol_name(unsigned number);

#endif
