# SPDX-License-Identifier: Apache-2.0
# Completion of pathdump for bash; made by `pathdump help --bash-completion`, do not edit.

_pathdump_files() # file names, of folders only with -d
{
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
}

_pathdump_words()
{
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}

_pathdump()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]} flags='' rest=''
    COMPREPLY=()
    # --flag=value reaches us as three words
    if [[ $cur == = ]]; then
        cur=
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if ((COMP_CWORD == 1)); then
        _pathdump_words 'topology codec meters pint p4 probes telemetry trace query install uninstall installed alarms hosts switches links audit apps app watch watches unwatch tib simulate localise ca help --help --version'
        return
    fi
    if [[ $command == topology ]]; then
        if ((COMP_CWORD == 2)); then
            _pathdump_words 'generate fat-tree vl2 leaf-spine check --help'
            return
        fi
        command+=" ${COMP_WORDS[2]}"
    fi
    if [[ $command == codec ]]; then
        if ((COMP_CWORD == 2)); then
            _pathdump_words 'verify encode decode rules assign --help'
            return
        fi
        command+=" ${COMP_WORDS[2]}"
    fi
    if [[ $command == meters ]]; then
        if ((COMP_CWORD == 2)); then
            _pathdump_words 'count compare --help'
            return
        fi
        command+=" ${COMP_WORDS[2]}"
    fi
    if [[ $command == pint ]]; then
        if ((COMP_CWORD == 2)); then
            _pathdump_words 'plan encode decode tables trials --help'
            return
        fi
        command+=" ${COMP_WORDS[2]}"
    fi
    if [[ $command == p4 ]]; then
        if ((COMP_CWORD == 2)); then
            _pathdump_words 'programs tables --help'
            return
        fi
        command+=" ${COMP_WORDS[2]}"
    fi
    if [[ $command == probes ]]; then
        if ((COMP_CWORD == 2)); then
            _pathdump_words 'plan encode rules --help'
            return
        fi
        command+=" ${COMP_WORDS[2]}"
    fi
    if [[ $command == telemetry ]]; then
        if ((COMP_CWORD == 2)); then
            _pathdump_words 'decode plan status --help'
            return
        fi
        command+=" ${COMP_WORDS[2]}"
    fi
    if [[ $command == trace ]]; then
        if ((COMP_CWORD == 2)); then
            _pathdump_words 'budget --help'
            return
        fi
        command+=" ${COMP_WORDS[2]}"
    fi
    if [[ $command == tib ]]; then
        if ((COMP_CWORD == 2)); then
            _pathdump_words 'stat check export import compact --help'
            return
        fi
        command+=" ${COMP_WORDS[2]}"
    fi
    if [[ $command == ca ]]; then
        if ((COMP_CWORD == 2)); then
            _pathdump_words 'revoke renew --help'
            return
        fi
        command+=" ${COMP_WORDS[2]}"
    fi
    case $command in
    'topology generate')
        flags='--addrs --help'
        [[ $cur == -* ]] || rest='fat-tree vl2 leaf-spine clos'
        ;;
    'topology fat-tree')
        flags='--k --addrs --help'
        case $prev in
        --k) rest=- ;;
        esac
        ;;
    'topology vl2')
        flags='--k --addrs --help'
        case $prev in
        --k) rest=- ;;
        esac
        ;;
    'topology leaf-spine')
        flags='--leaves --spines --hosts --addrs --help'
        case $prev in
        --leaves) rest=- ;;
        --spines) rest=- ;;
        --hosts) rest=- ;;
        esac
        ;;
    'topology check')
        flags='--json --help'
        [[ $cur == -* ]] || rest=FILE
        ;;
    'codec verify')
        flags='--topology --max-hops --codec --carrier --bits --hashes --monitors --order --json --help'
        case $prev in
        --topology) rest=FILE ;;
        --max-hops) rest=- ;;
        --codec) rest=- ;;
        --carrier) rest='vxlan vlan2 vlan' ;;
        --bits) rest=- ;;
        --hashes) rest=- ;;
        --monitors) rest='tor tor+top' ;;
        esac
        ;;
    'codec encode')
        flags='--topology --codec --src --dst --path --tags --dscp --carrier --bits --hashes --monitors --order --json --help'
        case $prev in
        --topology) rest=FILE ;;
        --codec) rest=- ;;
        --src) rest=- ;;
        --dst) rest=- ;;
        --path) rest=- ;;
        --tags) rest=- ;;
        --dscp) rest=- ;;
        --carrier) rest='vxlan vlan2 vlan' ;;
        --bits) rest=- ;;
        --hashes) rest=- ;;
        --monitors) rest='tor tor+top' ;;
        esac
        ;;
    'codec decode')
        flags='--topology --codec --src --dst --tags --dscp --filter --carrier --bits --hashes --monitors --order --json --help'
        case $prev in
        --topology) rest=FILE ;;
        --codec) rest=- ;;
        --src) rest=- ;;
        --dst) rest=- ;;
        --tags) rest=- ;;
        --dscp) rest=- ;;
        --filter) rest=- ;;
        --carrier) rest='vxlan vlan2 vlan' ;;
        --bits) rest=- ;;
        --hashes) rest=- ;;
        --monitors) rest='tor tor+top' ;;
        esac
        ;;
    'codec rules')
        flags='--topology --codec --switch --depth --help'
        case $prev in
        --topology) rest=FILE ;;
        --codec) rest=- ;;
        --switch) rest=- ;;
        --depth) rest='pcp plain' ;;
        esac
        ;;
    'codec assign')
        flags='--topology --max-hops --seed --out --carrier --bits --hashes --monitors --order --json --help'
        case $prev in
        --topology) rest=FILE ;;
        --max-hops) rest=- ;;
        --seed) rest=- ;;
        --out) rest=- ;;
        --carrier) rest='vxlan vlan2 vlan' ;;
        --bits) rest=- ;;
        --hashes) rest=- ;;
        --monitors) rest='tor tor+top' ;;
        esac
        ;;
    'meters count')
        flags='--role --rules --pcap --topology --monitor --rows --width --epoch-ms --out --json --help'
        case $prev in
        --role) rest='usm dsm' ;;
        --rules) rest=- ;;
        --pcap) rest=- ;;
        --topology) rest=- ;;
        --monitor) rest=- ;;
        --rows) rest=- ;;
        --width) rest=- ;;
        --epoch-ms) rest=- ;;
        --out) rest=- ;;
        esac
        ;;
    'meters compare')
        flags='--topology --json --help'
        [[ $cur == -* ]] || rest=FILE
        case $prev in
        --topology) rest=- ;;
        esac
        ;;
    'pint plan')
        flags='--topology --bits --carrier --parameters --seed --json --help'
        [[ $cur == -* ]] || rest=FILE
        case $prev in
        --topology) rest=FILE ;;
        --bits) rest=- ;;
        --carrier) rest='tag dscp' ;;
        --parameters) rest='search text algorithm1 revised' ;;
        --seed) rest=- ;;
        esac
        ;;
    'pint encode')
        flags='--topology --plan --help'
        case $prev in
        --topology) rest=FILE ;;
        --plan) rest=FILE ;;
        esac
        ;;
    'pint decode')
        flags='--topology --plan --known-bits --no-topology --solver --json --help'
        [[ $cur == -* ]] || rest=FILE
        case $prev in
        --topology) rest=FILE ;;
        --plan) rest=FILE ;;
        --known-bits) rest=- ;;
        --solver) rest='joint peel' ;;
        esac
        ;;
    'pint tables')
        flags='--topology --plan --switch --json --help'
        case $prev in
        --topology) rest=FILE ;;
        --plan) rest=FILE ;;
        --switch) rest=- ;;
        esac
        ;;
    'pint trials')
        flags='--topology --plan --trials --seed --src --dst --hops --links-down --known-bits --no-topology --solver --json --help'
        case $prev in
        --topology) rest=FILE ;;
        --plan) rest=FILE ;;
        --trials) rest=- ;;
        --seed) rest=- ;;
        --src) rest=- ;;
        --dst) rest=- ;;
        --hops) rest=- ;;
        --links-down) rest=- ;;
        --known-bits) rest=- ;;
        --solver) rest='joint peel' ;;
        esac
        ;;
    'p4 programs')
        flags='--json --help'
        ;;
    'p4 tables')
        flags='--topology --switch --program --depth --plan --monitors --probe-hosts --routes --format --out --help'
        case $prev in
        --topology) rest=FILE ;;
        --switch) rest=- ;;
        --program) rest=- ;;
        --depth) rest='pcp plain' ;;
        --plan) rest=FILE ;;
        --monitors) rest='tor tor+top' ;;
        --probe-hosts) rest='all none IDS' ;;
        --routes) rest='shortest none' ;;
        --format) rest='swx bmv2 p4runtime bfrt json' ;;
        --out) rest=DIR ;;
        esac
        ;;
    'probes plan')
        flags='--topology --mode --algorithm --max-hops --hosts --without --keep --measure --json --help'
        case $prev in
        --topology) rest=FILE ;;
        --mode) rest='directions links' ;;
        --algorithm) rest='euler euler-unbalanced dfs' ;;
        --max-hops) rest=- ;;
        --hosts) rest=- ;;
        --without) rest=- ;;
        --keep) rest=FILE ;;
        esac
        ;;
    'probes encode')
        flags='--topology --carrier --path --src --dst --plan --number --seq --sent-ns --key --json --help'
        case $prev in
        --topology) rest=FILE ;;
        --carrier) rest='sr-int srv6-ioam' ;;
        --path) rest=- ;;
        --src) rest=- ;;
        --dst) rest=- ;;
        --plan) rest=- ;;
        --number) rest=- ;;
        --seq) rest=- ;;
        --sent-ns) rest=- ;;
        --key) rest=- ;;
        esac
        ;;
    'probes rules')
        flags='--topology --carrier --switch --max-hops --help'
        case $prev in
        --topology) rest=FILE ;;
        --carrier) rest='srv6-ioam openflow' ;;
        --switch) rest=- ;;
        --max-hops) rest=- ;;
        esac
        ;;
    'telemetry decode')
        flags='--topology --int-dscp --json --help'
        [[ $cur == -* ]] || rest=-
        case $prev in
        --topology) rest=FILE ;;
        --int-dscp) rest=- ;;
        esac
        ;;
    'telemetry plan')
        flags='--controller --timeout --tls-ca --tls-crl --tls-cert --tls-key --token-file --json --help'
        [[ $cur == -* ]] || rest=-
        case $prev in
        --controller) rest=- ;;
        --timeout) rest=- ;;
        --tls-ca) rest=FILE ;;
        --tls-crl) rest=FILE ;;
        --tls-cert) rest=FILE ;;
        --tls-key) rest=FILE ;;
        --token-file) rest=FILE ;;
        esac
        ;;
    'telemetry status')
        flags='--controller --timeout --tls-ca --tls-crl --tls-cert --tls-key --token-file --json --csv --utc --local --help'
        case $prev in
        --controller) rest=- ;;
        --timeout) rest=- ;;
        --tls-ca) rest=FILE ;;
        --tls-crl) rest=FILE ;;
        --tls-cert) rest=FILE ;;
        --tls-key) rest=FILE ;;
        --token-file) rest=FILE ;;
        esac
        ;;
    'trace budget')
        flags='--topology --tmax --bad-links --loss --packets --json --help'
        case $prev in
        --topology) rest=FILE ;;
        --tmax) rest=- ;;
        --bad-links) rest=- ;;
        --loss) rest=- ;;
        --packets) rest=- ;;
        esac
        ;;
    'trace')
        flags='--agent --src-ip --src-port --dst-ip --dst-port --timeout --tls-ca --tls-crl --tls-cert --tls-key --token-file --json --help'
        case $prev in
        --agent) rest=- ;;
        --src-ip) rest=- ;;
        --src-port) rest=- ;;
        --dst-ip) rest=- ;;
        --dst-port) rest=- ;;
        --timeout) rest=- ;;
        --tls-ca) rest=FILE ;;
        --tls-crl) rest=FILE ;;
        --tls-cert) rest=FILE ;;
        --tls-key) rest=FILE ;;
        --token-file) rest=FILE ;;
        esac
        ;;
    'query')
        flags='--tib --agent --controller --timeout --tls-ca --tls-crl --tls-cert --tls-key --token-file --hosts --mode --fanout --deadline-ms --partial-after --link --src-ip --dst-ip --src-port --dst-port --protocol --path --origin --from --to --since --k --by --bin-bytes --of --max-hops --avoid --must-pass --allow --live --threshold --name --quantiles --program --arg --args --json --ndjson --csv --utc --local --names --topology --help'
        [[ $cur == -* ]] || rest='getFlows getPaths getCount getDuration topRecords topFlows topHosts topLinks linkLoad flowSizes trafficMatrix pathBytes distinct conformance getPoorTCPFlows sufferingFlows pathSums getTraces getTelemetry'
        case $prev in
        --tib) rest=DIR ;;
        --agent) rest=- ;;
        --controller) rest=- ;;
        --timeout) rest=- ;;
        --tls-ca) rest=FILE ;;
        --tls-crl) rest=FILE ;;
        --tls-cert) rest=FILE ;;
        --tls-key) rest=FILE ;;
        --token-file) rest=FILE ;;
        --hosts) rest=- ;;
        --mode) rest='auto direct tree' ;;
        --fanout) rest=- ;;
        --deadline-ms) rest=- ;;
        --partial-after) rest=- ;;
        --link) rest=- ;;
        --src-ip) rest=- ;;
        --dst-ip) rest=- ;;
        --src-port) rest=- ;;
        --dst-port) rest=- ;;
        --protocol) rest=- ;;
        --path) rest=- ;;
        --origin) rest=- ;;
        --from) rest=- ;;
        --to) rest=- ;;
        --since) rest=- ;;
        --k) rest=- ;;
        --by) rest='bytes pkts' ;;
        --bin-bytes) rest=- ;;
        --of) rest='flows sources' ;;
        --max-hops) rest=- ;;
        --avoid) rest=- ;;
        --must-pass) rest=- ;;
        --allow) rest=- ;;
        --threshold) rest=- ;;
        --name) rest=- ;;
        --quantiles) rest=- ;;
        --program) rest=FILE ;;
        --arg) rest=- ;;
        --args) rest=- ;;
        --topology) rest=FILE ;;
        esac
        ;;
    'install')
        flags='--controller --timeout --tls-ca --tls-crl --tls-cert --tls-key --token-file --hosts --period --on --link --src-ip --dst-ip --src-port --dst-port --protocol --path --origin --from --to --since --k --by --bin-bytes --of --max-hops --avoid --must-pass --allow --live --threshold --name --quantiles --program --arg --args --json --help'
        [[ $cur == -* ]] || rest='getFlows getPaths getCount getDuration topRecords topFlows topHosts topLinks linkLoad flowSizes trafficMatrix pathBytes distinct conformance getPoorTCPFlows sufferingFlows pathSums getTraces getTelemetry'
        case $prev in
        --controller) rest=- ;;
        --timeout) rest=- ;;
        --tls-ca) rest=FILE ;;
        --tls-crl) rest=FILE ;;
        --tls-cert) rest=FILE ;;
        --tls-key) rest=FILE ;;
        --token-file) rest=FILE ;;
        --hosts) rest=- ;;
        --period) rest=- ;;
        --on) rest='new_flow evicted alarm' ;;
        --link) rest=- ;;
        --src-ip) rest=- ;;
        --dst-ip) rest=- ;;
        --src-port) rest=- ;;
        --dst-port) rest=- ;;
        --protocol) rest=- ;;
        --path) rest=- ;;
        --origin) rest=- ;;
        --from) rest=- ;;
        --to) rest=- ;;
        --since) rest=- ;;
        --k) rest=- ;;
        --by) rest='bytes pkts' ;;
        --bin-bytes) rest=- ;;
        --of) rest='flows sources' ;;
        --max-hops) rest=- ;;
        --avoid) rest=- ;;
        --must-pass) rest=- ;;
        --allow) rest=- ;;
        --threshold) rest=- ;;
        --name) rest=- ;;
        --quantiles) rest=- ;;
        --program) rest=FILE ;;
        --arg) rest=- ;;
        --args) rest=- ;;
        esac
        ;;
    'uninstall')
        flags='--controller --timeout --tls-ca --tls-crl --tls-cert --tls-key --token-file --json --help'
        [[ $cur == -* ]] || rest=-
        case $prev in
        --controller) rest=- ;;
        --timeout) rest=- ;;
        --tls-ca) rest=FILE ;;
        --tls-crl) rest=FILE ;;
        --tls-cert) rest=FILE ;;
        --tls-key) rest=FILE ;;
        --token-file) rest=FILE ;;
        esac
        ;;
    'installed')
        flags='--controller --timeout --tls-ca --tls-crl --tls-cert --tls-key --token-file --json --csv --utc --local --help'
        case $prev in
        --controller) rest=- ;;
        --timeout) rest=- ;;
        --tls-ca) rest=FILE ;;
        --tls-crl) rest=FILE ;;
        --tls-cert) rest=FILE ;;
        --tls-key) rest=FILE ;;
        --token-file) rest=FILE ;;
        esac
        ;;
    'alarms')
        flags='--controller --timeout --tls-ca --tls-crl --tls-cert --tls-key --token-file --since --reason --limit --by --follow --json --csv --utc --local --help'
        case $prev in
        --controller) rest=- ;;
        --timeout) rest=- ;;
        --tls-ca) rest=FILE ;;
        --tls-crl) rest=FILE ;;
        --tls-cert) rest=FILE ;;
        --tls-key) rest=FILE ;;
        --token-file) rest=FILE ;;
        --since) rest=- ;;
        --reason) rest=- ;;
        --limit) rest=- ;;
        --by) rest='reason host link' ;;
        esac
        ;;
    'status')
        flags='--controller --timeout --tls-ca --tls-crl --tls-cert --tls-key --token-file --agent --json --help'
        case $prev in
        --controller) rest=- ;;
        --timeout) rest=- ;;
        --tls-ca) rest=FILE ;;
        --tls-crl) rest=FILE ;;
        --tls-cert) rest=FILE ;;
        --tls-key) rest=FILE ;;
        --token-file) rest=FILE ;;
        --agent) rest=- ;;
        esac
        ;;
    'top')
        flags='--controller --timeout --tls-ca --tls-crl --tls-cert --tls-key --token-file --agent --once --every --sort --filter --json --csv --utc --local --names --help'
        [[ $cur == -* ]] || rest='links flows hosts alarms verdicts'
        case $prev in
        --controller) rest=- ;;
        --timeout) rest=- ;;
        --tls-ca) rest=FILE ;;
        --tls-crl) rest=FILE ;;
        --tls-cert) rest=FILE ;;
        --tls-key) rest=FILE ;;
        --token-file) rest=FILE ;;
        --agent) rest=- ;;
        --every) rest=- ;;
        --sort) rest=- ;;
        --filter) rest=- ;;
        esac
        ;;
    'hosts')
        flags='--controller --timeout --tls-ca --tls-crl --tls-cert --tls-key --token-file --json --csv --utc --local --help'
        case $prev in
        --controller) rest=- ;;
        --timeout) rest=- ;;
        --tls-ca) rest=FILE ;;
        --tls-crl) rest=FILE ;;
        --tls-cert) rest=FILE ;;
        --tls-key) rest=FILE ;;
        --token-file) rest=FILE ;;
        esac
        ;;
    'switches')
        flags='--controller --timeout --tls-ca --tls-crl --tls-cert --tls-key --token-file --json --csv --utc --local --help'
        case $prev in
        --controller) rest=- ;;
        --timeout) rest=- ;;
        --tls-ca) rest=FILE ;;
        --tls-crl) rest=FILE ;;
        --tls-cert) rest=FILE ;;
        --tls-key) rest=FILE ;;
        --token-file) rest=FILE ;;
        esac
        ;;
    'links')
        flags='--sort --metrics --from --to --k --controller --timeout --tls-ca --tls-crl --tls-cert --tls-key --token-file --json --csv --utc --local --help'
        case $prev in
        --sort) rest=- ;;
        --metrics) rest=- ;;
        --from) rest=- ;;
        --to) rest=- ;;
        --k) rest=- ;;
        --controller) rest=- ;;
        --timeout) rest=- ;;
        --tls-ca) rest=FILE ;;
        --tls-crl) rest=FILE ;;
        --tls-cert) rest=FILE ;;
        --tls-key) rest=FILE ;;
        --token-file) rest=FILE ;;
        esac
        ;;
    'audit')
        flags='--controller --timeout --tls-ca --tls-crl --tls-cert --tls-key --token-file --from --to --limit --follow --json --csv --utc --local --help'
        case $prev in
        --controller) rest=- ;;
        --timeout) rest=- ;;
        --tls-ca) rest=FILE ;;
        --tls-crl) rest=FILE ;;
        --tls-cert) rest=FILE ;;
        --tls-key) rest=FILE ;;
        --token-file) rest=FILE ;;
        --from) rest=- ;;
        --to) rest=- ;;
        --limit) rest=- ;;
        esac
        ;;
    'apps')
        flags='--controller --timeout --tls-ca --tls-crl --tls-cert --tls-key --token-file --json --csv --utc --local --help'
        case $prev in
        --controller) rest=- ;;
        --timeout) rest=- ;;
        --tls-ca) rest=FILE ;;
        --tls-crl) rest=FILE ;;
        --tls-cert) rest=FILE ;;
        --tls-key) rest=FILE ;;
        --token-file) rest=FILE ;;
        esac
        ;;
    'app')
        flags='--controller --timeout --tls-ca --tls-crl --tls-cert --tls-key --token-file --evidence --json --csv --utc --local --help'
        [[ $cur == -* ]] || rest=-
        case $prev in
        --controller) rest=- ;;
        --timeout) rest=- ;;
        --tls-ca) rest=FILE ;;
        --tls-crl) rest=FILE ;;
        --tls-cert) rest=FILE ;;
        --tls-key) rest=FILE ;;
        --token-file) rest=FILE ;;
        --evidence) rest=FILE ;;
        esac
        ;;
    'watch')
        flags='--controller --timeout --tls-ca --tls-crl --tls-cert --tls-key --token-file --every --on-alarm --json --help'
        [[ $cur == -* ]] || rest=-
        case $prev in
        --controller) rest=- ;;
        --timeout) rest=- ;;
        --tls-ca) rest=FILE ;;
        --tls-crl) rest=FILE ;;
        --tls-cert) rest=FILE ;;
        --tls-key) rest=FILE ;;
        --token-file) rest=FILE ;;
        --every) rest=- ;;
        esac
        ;;
    'watches')
        flags='--controller --timeout --tls-ca --tls-crl --tls-cert --tls-key --token-file --json --csv --utc --local --help'
        case $prev in
        --controller) rest=- ;;
        --timeout) rest=- ;;
        --tls-ca) rest=FILE ;;
        --tls-crl) rest=FILE ;;
        --tls-cert) rest=FILE ;;
        --tls-key) rest=FILE ;;
        --token-file) rest=FILE ;;
        esac
        ;;
    'unwatch')
        flags='--controller --timeout --tls-ca --tls-crl --tls-cert --tls-key --token-file --json --help'
        [[ $cur == -* ]] || rest=-
        case $prev in
        --controller) rest=- ;;
        --timeout) rest=- ;;
        --tls-ca) rest=FILE ;;
        --tls-crl) rest=FILE ;;
        --tls-cert) rest=FILE ;;
        --tls-key) rest=FILE ;;
        --token-file) rest=FILE ;;
        esac
        ;;
    'tib stat')
        flags='--tib --json --help'
        case $prev in
        --tib) rest=DIR ;;
        esac
        ;;
    'tib check')
        flags='--tib --json --help'
        case $prev in
        --tib) rest=DIR ;;
        esac
        ;;
    'tib export')
        flags='--tib --csv --help'
        case $prev in
        --tib) rest=DIR ;;
        esac
        ;;
    'tib import')
        flags='--tib --json --help'
        case $prev in
        --tib) rest=DIR ;;
        esac
        ;;
    'tib compact')
        flags='--tib --json --help'
        case $prev in
        --tib) rest=DIR ;;
        esac
        ;;
    'simulate')
        flags='--seed --app --evidence --every-run --serve --speed --json --help'
        [[ $cur == -* ]] || rest=FILE
        case $prev in
        --seed) rest=- ;;
        --app) rest=- ;;
        --evidence) rest=FILE ;;
        --serve) rest=- ;;
        --speed) rest=- ;;
        esac
        ;;
    'localise')
        flags='--topology --evidence --localiser --causes --json --help'
        case $prev in
        --topology) rest=FILE ;;
        --evidence) rest=FILE ;;
        --localiser) rest=- ;;
        esac
        ;;
    'ca revoke')
        flags='--ca --help'
        [[ $cur == -* ]] || rest=FILE
        case $prev in
        --ca) rest=DIR ;;
        esac
        ;;
    'ca renew')
        flags='--days --help'
        [[ $cur == -* ]] || rest=DIR
        case $prev in
        --days) rest=- ;;
        esac
        ;;
    'ca')
        flags='--controller --hosts --topology --days --renew --help'
        [[ $cur == -* ]] || rest=DIR
        case $prev in
        --controller) rest=- ;;
        --hosts) rest=FILE ;;
        --topology) rest=FILE ;;
        --days) rest=- ;;
        esac
        ;;
    'help')
        flags='--man --bash-completion --help'
        [[ $cur == -* ]] || rest='topology codec meters pint p4 probes telemetry trace query install uninstall installed alarms hosts switches links audit apps app watch watches unwatch tib simulate localise ca help'
        ;;
    esac
    case $rest in
    FILE) _pathdump_files -f ;;
    DIR) _pathdump_files -d ;;
    -) ;;
    '') _pathdump_words "$flags" ;;
    *) _pathdump_words "$rest" ;;
    esac
}

complete -F _pathdump pathdump
