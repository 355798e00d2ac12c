/* SPDX-License-Identifier: Apache-2.0 */
/* Entry of the program `pathdump`. */
#include <locale.h>

#include "cli/cli.h"

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, ""); /* whether the terminal shows UTF-8; numbers stay as they are */
    return pd_cli_main(argc, argv);
}
