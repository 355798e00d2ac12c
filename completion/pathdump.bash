# SPDX-License-Identifier: Apache-2.0
# Completion of pathdump, pathdumpd and pathdump-controller for bash; made by
# `pathdump help --completion bash`, do not edit.

_pathdump_daemon_flags()
{
    "$1" --help 2>/dev/null | sed -n 's/^  \(--[a-z0-9-]*\).*/\1/p'
}

_pathdump_daemon_value()
{
    "$1" --help 2>/dev/null | sed -n "s/^  $2 \([A-Z|a-z:]*\).*/\1/p"
}

# what may stand in the place of the last word, as `pathdump complete` says it
_pathdump_daemon()
{
    local last=${words[-1]} before=${words[-2]}
    case $before in
    --*) case $(_pathdump_daemon_value "$1" "$before") in
        FILE) echo :files; return ;;
        DIR) echo :folders; return ;;
        *[a-z]\|*) compgen -W "$(_pathdump_daemon_value "$1" "$before" | tr '|' ' ')" -- "$last"; return ;;
        ?*) return ;;
        esac ;;
    esac
    compgen -W "$(_pathdump_daemon_flags "$1")" -- "$last"
}

_pathdump()
{
    local line=${COMP_LINE:0:COMP_POINT} words reply cut word
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=('')
    if [[ ${words[0]##*/} == pathdump ]]; then
        mapfile -t reply < <("${words[0]}" complete -- "${words[@]:1}" 2>/dev/null)
    else
        mapfile -t reply < <(_pathdump_daemon "${words[0]}")
    fi
    COMPREPLY=()
    word=${words[-1]}
    case ${reply[0]} in
    :files | :folders)
        compopt -o filenames 2>/dev/null
        [[ ${reply[0]} == :files ]] && cut=-f || cut=-d
        mapfile -t COMPREPLY < <(compgen "$cut" -- "${word##*=}")
        ;;
    *)
        # bash replaces what stands behind the last of these alone
        cut=${word%"${word##*[:=]}"}
        for word in "${reply[@]%%$'\t'*}"; do
            COMPREPLY+=("${word#"$cut"}")
        done
        ;;
    esac
}

complete -F _pathdump pathdump pathdumpd pathdump-controller
