/* SPDX-License-Identifier: Apache-2.0 */
/* The intake that reads capture files: pcap and pcapng. */
#ifndef PD_INTAKE_PCAP_PCAP_H
#define PD_INTAKE_PCAP_PCAP_H

#include "intake/intake.h"

extern const struct pd_intake_ops pd_intake_pcap;

#endif
