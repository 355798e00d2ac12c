/* SPDX-License-Identifier: Apache-2.0 */
/* The man page of the command, made from its tables (`pathdump help --man`; a test compares
 * docs/man/pathdump.1). */
#include <stdlib.h>
#include <string.h>

#include "cli/doc.h"

static const char head[] =
    ".\\\" SPDX-License-Identifier: Apache-2.0\n"
    ".\\\" Made by `pathdump help --man`; do not edit.\n"
    ".TH PATHDUMP 1 \"2026-11-21\" \"PathDump\" \"User Commands\"\n"
    ".SH NAME\n"
    "pathdump \\- ask which path each packet took\n"
    ".SH SYNOPSIS\n"
    ".B pathdump\n"
    ".I COMMAND\n"
    "[\\fIoptions\\fR]\n"
    ".br\n"
    ".B pathdump help\n"
    "[\\fICOMMAND\\fR]\n"
    ".br\n"
    ".B pathdump \\-\\-version\n"
    ".SH DESCRIPTION\n"
    "Switches tag the packets that pass them; the receiving server turns the tags back into the "
    "path\n"
    "and keeps what it saw of each flow and path in a store, the TIB.\n"
    ".B pathdump\n"
    "asks a TIB, the agent that writes it,\n"
    ".BR pathdumpd (8),\n"
    "or all servers through their controller,\n"
    "makes and checks topology files, and verifies the tagging of a topology.\n"
    ".PP\n"
    "Options may stand before or behind the words of a command. The answer goes to standard "
    "output: a\n"
    "table for people, or one JSON object with\n"
    ".BR \\-\\-json .\n"
    "What went wrong is one line on standard error.\n"
    ".SH COMMANDS\n";

static const char tail[] =
    ".SH EXIT STATUS\n"
    ".TP\n.B 0\nThe command did what was asked.\n"
    ".TP\n.B 1\nIt failed; standard error has the reason.\n"
    ".TP\n.B 2\nThe command line is wrong.\n"
    ".TP\n.B 3\nThe answer is partial: some of the records could not be read, or a server did not "
    "answer.\n"
    ".SH ENVIRONMENT\n"
    ".TP\n.B PATHDUMP_CONTROLLER\nThe controller to ask where no\n.B \\-\\-controller\nis given.\n"
    ".TP\n.B NO_COLOR\nWhen set and not empty, nothing is coloured. Only terminals get colour at "
    "all.\n"
    ".TP\n.BR LC_ALL \", \" LC_CTYPE \", \" LANG\n"
    "In a UTF-8 locale paths are shown with arrows, elsewhere with hyphens.\n"
    ".PP\n"
    "Proxies of the environment are not used.\n"
    ".SH LIMITS\n"
    "A table is made of at most 64 MiB of JSON; with\n"
    ".B \\-\\-json\n"
    "an agent's answer is passed on as it comes, of any size. One query takes at most 256 MiB of "
    "memory\n"
    "beside the store; a larger one fails and says what to narrow.\n"
    ".SH EXAMPLES\n"
    "A topology, and the proof that its tags tell all paths of at most 6 hops apart:\n"
    ".PP\n.nf\n.RS\n"
    "pathdump topology fat\\-tree \\-\\-k 4 > ft4.json\n"
    "pathdump codec verify \\-\\-topology ft4.json\n"
    ".RE\n.fi\n.PP\n"
    "The flows that crossed the link from switch 9 to switch 17 in the last hour:\n"
    ".PP\n.nf\n.RS\n"
    "pathdump query \\-\\-agent http://127.0.0.1:7411 getFlows \\-\\-link 9\\-17 \\e\n"
    "    \\-\\-from $(date \\-d \\(aq1 hour ago\\(aq +%s) \\-\\-live\n"
    ".RE\n.fi\n.PP\n"
    "The ten largest flows of all servers, and a rule that they watch from now on:\n"
    ".PP\n.nf\n.RS\n"
    "export PATHDUMP_CONTROLLER=http://127.0.0.1:7410\n"
    "pathdump query topFlows \\-\\-k 10\n"
    "pathdump install conformance \\-\\-max\\-hops 5 \\-\\-on new_flow\n"
    "pathdump alarms \\-\\-follow\n"
    ".RE\n.fi\n.PP\n"
    "The paths of one flow, from a store on this machine:\n"
    ".PP\n.nf\n.RS\n"
    "pathdump query \\-\\-tib /var/lib/pathdump/tib getPaths \\-\\-src\\-ip 10.1.1.2 "
    "\\-\\-dst\\-port 80\n"
    ".RE\n.fi\n"
    ".SH SEE ALSO\n"
    ".BR pathdumpd (8)\n";

/* Text for roff: hyphens that can be copied, nothing that is read as a request. */
static void print_roff(const char *text, size_t len, FILE *out)
{
    if (len && (*text == '.' || *text == '\'')) {
        fputs("\\&", out);
    }
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '-') {
            fputs("\\-", out);
        } else if (text[i] == '\\') {
            fputs("\\e", out);
        } else {
            fputc(text[i], out);
        }
    }
}

static void print_paragraphs(const char *text, FILE *out)
{
    while (*text) {
        size_t len = strcspn(text, "\n"), word = *text == '\t' ? strcspn(text + 1, "\t") : 0;
        if (word) {
            fputs(".TP\n.B ", out);
            print_roff(text + 1, word, out);
            fputc('\n', out);
            print_roff(text + word + 2, len - word - 2, out);
        } else {
            fputs(".PP\n", out);
            print_roff(text, len, out);
        }
        fputc('\n', out);
        text += len + (text[len] == '\n');
    }
}

static void print_command(const struct pd_cli_command *command, FILE *out)
{
    fputs(".SS pathdump ", out);
    print_roff(command->name, strlen(command->name), out);
    fputs("\n.B pathdump ", out);
    print_roff(command->name, strlen(command->name), out);
    fputc('\n', out);
    print_roff(command->synopsis, strlen(command->synopsis), out);
    fputc('\n', out);
    char *details = pd_cli_details(command);
    print_paragraphs(details ? details : command->details, out);
    free(details);
    pd_options_man(command->options, out);
}

void pd_cli_man(FILE *out)
{
    fputs(head, out);
    for (size_t i = 0; pd_cli_commands[i]; i++) {
        print_command(pd_cli_commands[i], out);
    }
    fputs(tail, out);
}
