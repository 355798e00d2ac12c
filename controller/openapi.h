/* SPDX-License-Identifier: Apache-2.0 */
/* docs/api/controller.json, built into the program. */
#ifndef PD_CONTROLLER_OPENAPI_H
#define PD_CONTROLLER_OPENAPI_H

extern const char pd_controller_openapi[]; /* ends with a NUL */

#endif
