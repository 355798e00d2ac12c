# SPDX-License-Identifier: Apache-2.0
# Completion of pathdump, pathdumpd and pathdump-controller for fish; made by
# `pathdump help --completion fish`, do not edit.

function __pathdump_daemon
    set -l value (string match -rg -- "^  $argv[2] ([A-Z|a-z:]*)" ($argv[1] --help 2>/dev/null))
    switch "$argv[2] $value"
        case '--* FILE'
            echo :files
        case '--* DIR'
            echo :folders
        case '--* *[a-z]|*' '--* *|*'
            string split '|' -- $value
        case '--* ?*'
        case '*'
            string match -rg -- '^  (--[a-z0-9-]+)' ($argv[1] --help 2>/dev/null)
    end
end

function __pathdump
    set -l words (commandline -opc) (commandline -ct)
    set -l reply
    if string match -qr '(^|/)pathdump$' -- $words[1]
        set reply ($words[1] complete -- $words[2..-1] 2>/dev/null)
    else
        set reply (__pathdump_daemon $words[1] $words[-2])
    end
    switch "$reply[1]"
        case :files
            __fish_complete_path (commandline -ct)
        case :folders
            __fish_complete_directories (commandline -ct)
        case '*'
            printf '%s\n' $reply
    end
end

complete -c pathdump -f -a '(__pathdump)'
complete -c pathdumpd -f -a '(__pathdump)'
complete -c pathdump-controller -f -a '(__pathdump)'
