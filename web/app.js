// SPDX-License-Identifier: Apache-2.0
// The page: bar, picture, table and panels around it, login.

import {html, render, useEffect, useLayoutEffect, useMemo, useRef,
    useState} from './vendor/preact.js';
import {VIEWS, alarmsAMinute, changed, go, href, lastTimings, listen, metric, metricName, nowUs,
    opened, reports, store, timed} from './store.js';
import {begin, start} from './live.js';
import {Surface} from './draw.js';
import {LINES_MAX, colour, fitOpen, layoutOnce} from './model.js';
import {SCALES, css, table, time, top, words} from './scale.js';
import {Alarms, Ask, FlowPanel, LinkPanel, Verdicts, drawnPaths} from './panels.js';
import {Link, Text, useSteady} from './parts.js';
import {ask} from './net.js';

// of the table beside a picture; of so many links that nobody reads on
const ROWS = 256, ROWS_MANY = 96;
const MANY = 4096;
const MISSING_SHOWN = 24;

let surface = null;

// ---- theme ----

const light = matchMedia('(prefers-color-scheme: light)');

function theme() {
    let chosen = null;
    try {
        chosen = localStorage.getItem('theme');
    } catch { /* a browser that keeps nothing follows the system */ }
    return chosen === 'light' || chosen === 'dark' ? chosen : light.matches ? 'light' : 'dark';
}

function turnTheme() {
    try {
        localStorage.setItem('theme', theme() === 'dark' ? 'light' : 'dark');
    } catch { /* as above */ }
    document.documentElement.dataset.theme = theme();
    changed();
}

light.addEventListener('change', () => {
    document.documentElement.dataset.theme = theme();
    changed();
});

// ---- the picture ----

function useDrawn() {
    const {network, places, choice} = store;
    return useMemo(() => {
        if (!network) {
            return null;
        }
        const open = opened(network);
        return {open, drawn: layoutOnce(network, open, places),
            panels: choice.view === 'matrix' ? network.panels() : []};
    }, [network, places, choice.open, choice.view === 'matrix']);
}

function awayNow() {
    const away = [...store.switches.values()].filter(each => each.state === 'away');
    return {switches: new Set(store.openflow ? away.map(each => each.id) : [])};
}

const WELL = {missing: false};

// Those that are missing first: of a wide rack not all are drawn.
function hostsByRack(open) {
    const racks = new Map();
    for (const host of store.hosts.values()) {
        if (!racks.has(host.rack)) {
            racks.set(host.rack, []);
        }
        racks.get(host.rack).push({missing: host.state === 'missing'});
    }
    const groups = store.everyHost ? [] : store.network.groups.filter(each => open.has(each.key));
    for (const group of groups) {
        const nodes = group.nodes.map(i => store.network.nodes[i]);
        for (const node of nodes.filter(each => each.hosts)) {
            const missing = racks.get(node.id) || [];
            const well = Array(Math.max(0, node.hosts - missing.length)).fill(WELL);
            racks.set(node.id, missing.concat(well));
        }
    }
    return racks;
}

function pick(hit) {
    if (hit.link !== undefined) {
        go({link: store.network.link(hit.link)});
    } else {
        const key = hit.group ?? [hit.bundle.a, hit.bundle.b].map(n => surface.view.drawn.items[n])
            .find(item => item.box)?.key;
        const open = new Set((store.choice.open || '').split(',').filter(Boolean));
        open.has(key) ? open.delete(key) : open.add(key);
        go({open: [...fitOpen(store.network, open)].join(',')});
    }
}

function hint(hit) {
    const {network} = store;
    if (!hit) {
        return '';
    }
    if (hit.node !== undefined) {
        const node = network.nodes[hit.node];
        return `${node.name}, switch ${node.id}${node.hosts ? `, ${node.hosts} hosts` : ''}`;
    }
    if (hit.link !== undefined) {
        return `${network.words(hit.link)}: ${words(metric(), store.values[hit.link])}`;
    }
    const thing = hit.item ?? hit.bundle;
    const title = hit.item ? `${hit.item.label}: ${hit.item.nodes.length} switches`
        : `${[thing.a, thing.b].map(n => surface.view.drawn.items[n].label).join(' → ')}, `
            + `${thing.members.length} links`;
    const [worst, mean] = [thing.worst, thing.mean].map(value => words(metric(), value));
    return `${title}: worst ${worst}, mean ${mean}; open it by a click`;
}

function Picture({kind}) {
    const canvas = useRef();
    const [tip, setTip] = useState(null);
    const made = useDrawn();
    useLayoutEffect(() => {
        surface = new Surface(canvas.current, {
            pick,
            hover: (hit, at) => setTip(hit ? {text: hint(hit), at} : null),
            painted: (what, ms, since) => {
                timed(`draw ${what}`, ms);
                if (since) {
                    timed(`painted ${what}`, since);
                }
            },
        });
        surface.resize();
        return () => { surface.close(); surface = null; };
    }, []);
    useLayoutEffect(() => {
        if (!made || !surface) {
            return;
        }
        const {network, values, marks} = store;
        const most = top(metric(), values);
        if (kind === 'fabric') {
            colour(made.drawn, values, marks);
        }
        const away = awayNow();
        const hostsOf = hostsByRack(made.open);
        const missingIn = new Set([...hostsOf]
            .filter(([, hosts]) => hosts.some(host => host.missing)).map(([rack]) => rack));
        const arrived = store.arrived !== surface.seen ? store.arrived : 0;
        surface.seen = store.arrived;
        surface.show({kind, network, drawn: made.drawn, panels: made.panels, values, marks, most,
            away, hostsOf, missingIn,
            colours: table(store.choice.scale, theme() === 'light'), theme: theme(),
            chosen: store.choice.link ? network.find(store.choice.link) : -1,
            paths: drawnPaths()}, arrived);
    }, [made, kind, store.version, store.choice]);
    const size = store.network?.nodes.length ?? 0;
    return html`<div class="picture">
        <canvas ref=${canvas} tabindex="0" role="img"
            aria-label=${`${kind} of ${size} switches; the table beside it says the same`}
            onPointerLeave=${() => setTip(null)}></canvas>
        ${tip && html`<p class="tip"
            style=${{left: `${tip.at[0] + 14}px`, top: `${tip.at[1] + 14}px`}}>
            <${Text}>${tip.text}<//></p>`}
        ${kind === 'fabric' && made && html`<${Folded} made=${made} />`}
    </div>`;
}

function Folded({made}) {
    const {network} = store;
    const left = made.drawn.edges.length - made.drawn.shown.length;
    if (!network.folds && made.drawn.edges.length <= LINES_MAX) {
        return null;
    }
    return html`<p class="folded" data-testid="folded">${network.len} directed links
        in ${made.drawn.edges.length} lines${left ? `, ${left} of the least not drawn` : ''}: a line
        has the colour of the worst in it; in a box the lower band is the worst, the upper
        one the mean.
        ${network.folds && html` <label>open <select value=""
            onChange=${event => pick({group: event.target.value})}>
            <option value="">pod or group …</option>
            ${network.groups.map(group =>
                html`<option key=${group.key} value=${group.key}>
                    ${made.open.has(group.key) ? '▾ ' : ''}${group.label}</option>`)}
                    </select></label>`}
        ${made.open.size > 0 && html` <a href=${href({open: ''})}>close all</a>`}</p>`;
}

// ---- the same as a table ----

function worst(values, marks, filter) {
    const wanted = filter.trim().toLowerCase(), rows = values.length > MANY ? ROWS_MANY : ROWS;
    const found = [];
    let least = -Infinity;
    for (let i = 0; i < values.length; i++) {
        const rank = (marks[i] ? 1e18 : 0) + (values[i] === values[i] ? values[i] : -1);
        if (rank <= least && found.length >= 2 * rows) {
            continue;
        }
        if (wanted && !`${store.network.link(i)} ${store.network.words(i)}`.toLowerCase()
            .includes(wanted)) {
            continue;
        }
        found.push([rank, i]);
        if (found.length >= 4 * rows) {
            found.sort((a, b) => b[0] - a[0]);
            found.length = rows;
            least = found[rows - 1][0];
        }
    }
    return found.sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, rows).map(([, i]) => i);
}

// A long table gets a turn of its own after the picture, so that neither keeps the page from a
// hand's next move.
function useLater(version) {
    const [shown, show] = useState(version);
    const turn = useRef(null);
    useEffect(() => {
        turn.current ??= setTimeout(() => {
            turn.current = null;
            show(store.version);
        }, 0);
    }, [version]);
    return shown;
}

function LinkTable() {
    const [filter, setFilter] = useState('');
    const {choice, network, state} = store;
    const later = useLater(store.version);
    return useMemo(() => html`<${Links} filter=${filter} setFilter=${setFilter} />`,
        [later, filter, network, state, choice, metricName()]);
}

function Links({filter, setFilter}) {
    const {values, marks, network} = store;
    const rows = network ? worst(values, marks, filter) : [];
    const {shown, bind} = useSteady(rows.map(key => ({key})));
    const name = metricName();
    return html`<section class="links"><div class="row"><h2>Links</h2>
        <input type="search" aria-label="filter links by name" placeholder="filter" value=${filter}
            onInput=${event => setFilter(event.target.value)} /></div>
        <div class="scroll" tabindex="0" role="region" aria-label="links" ...${bind}>
            <table data-testid="link-table">
        <caption class="hidden">${name} of each directed link, the greatest first</caption>
        <thead><tr><th scope="col">link</th><th scope="col" class="number">${name}</th></tr></thead>
        <tbody>${shown.map(({key}) => html`<${LinkRow} key=${key} i=${key} name=${name} />`)}
            </tbody></table></div>
        ${network && network.len > rows.length &&
            html`<p class="soft">${network.len - rows.length} more links are not listed here</p>`}
            </section>`;
}

function LinkRow({i, name}) {
    const {network, values, marks} = store;
    const link = network.link(i);
    const value = values[i];
    const badge = word => html` <span class="badge bad">${word}</span>`;
    return html`<tr data-link=${link} data-metric=${name}
        data-value=${value === value ? String(exact(value)) : ''}
        class=${link === store.choice.link ? 'chosen' : ''}>
        <td><${Link} name=${link} />
            ${marks[i] & 2 ? badge('suspect') : ''}${marks[i] & 1 ? badge('alarm') : ''}</td>
        <td class="number">${words(metric(), value)}</td></tr>`;
}

// Floats of 32 bits, without the digits that they do not have.
const exact = value => Number(value.toPrecision(7));

// ---- what needs a look ----

function Attention() {
    const certain = reports().filter(each => each.report.links.length &&
        (each.report.certain || each.report.confidence >= 0.5));
    const missing = [...store.hosts.values()].filter(host => host.state === 'missing');
    return html`<section class="attention" aria-live="polite">
        ${certain.slice(0, 5).map(each =>
            html`<p key=${each.app} class="bad row">
                <b>${each.app}</b> <span><${Text}>${each.report.verdict}<//></span>
            ${each.report.links.slice(0, 3).map(name => html`<${Link} key=${name} name=${name} />`)}
            </p>`)}
        ${missing.length > 0 && html`<p class="bad row">
            <b>${missing.length} of ${store.hostsLen} hosts are missing</b> <span>what they know is
                not in the numbers:</span>
            ${missing.slice(0, MISSING_SHOWN)
                .map(host => html`<span key=${host.id} class="badge" data-testid="host-missing"
                    data-id=${host.id} title=${host.error}>
                <${Text}>${host.name}<//></span>`)}
            ${missing.length > MISSING_SHOWN
                ? html`<span>and ${missing.length - MISSING_SHOWN} more</span>` : ''}</p>`}
        ${store.choice.metric && store.metrics.length > 0 && store.choice.metric !== metricName() &&
            html`<p class="bad row" role="alert">
                <span>there is no metric <${Text}>${store.choice.metric}<//> here</span></p>`}
        ${store.error && html`<p class="bad row" role="alert">${store.error}</p>`}
    </section>`;
}

// ---- the bar ----

const STATES = {connecting: 'connecting …', live: 'live', paused: 'paused', lost: 'connection lost',
    login: 'login'};

function localTime(s) {
    const date = new Date((s - new Date(s * 1000).getTimezoneOffset() * 60) * 1000);
    return date.toISOString().slice(0, 19);
}

function Times() {
    const {at, window} = store.choice;
    const now = Math.floor(nowUs() / 1e6);
    return html`<div class="row times" role="group" aria-label="time">
        ${at ? html`<a class="button" href=${href({at: ''})}>Live</a>`
            : html`<button disabled=${!now} onClick=${() => go({at: now})}>Pause</button>`}
        <label>at <input type="datetime-local" step="1" value=${at ? localTime(at) : ''}
            onChange=${event => {
            const s = Date.parse(event.target.value) / 1000;
            Number.isFinite(s) && go({at: s});
        }} /></label>
        <label>window <select value=${String(window)}
            onChange=${event => go({window: event.target.value})}>
            ${[...new Set([10, 60, 300, 3600, window])]
                .map(s => html`<option key=${s} value=${String(s)}>${s} s</option>`)}
                </select></label>
        ${at ? html`<a class="button" href=${href({at: at - window})} aria-label="earlier">◂</a>
            <a class="button" href=${href({at: at + window})} aria-label="later">▸</a>` : ''}
    </div>`;
}

function Legend() {
    const colours = table(store.choice.scale, theme() === 'light');
    const most = top(metric(), store.values);
    const canvas = useRef();
    useEffect(() => {
        const context = canvas.current.getContext('2d');
        colours.forEach((colour, n) => {
            context.fillStyle = css(colour);
            context.fillRect(n, 0, 1, 8);
        });
    }, [store.choice.scale, theme()]);
    return html`<div class="row legend"><span>0</span>
        <canvas ref=${canvas} width="256" height="8" role="img" aria-label="colour scale"></canvas>
        <span>${words(metric(), most)}</span>
        <label class="hidden" for="scale">colours</label>
        <select id="scale" value=${store.choice.scale || 'viridis'}
            onChange=${({target}) => go({scale: target.value === 'viridis' ? '' : target.value})}>
            ${SCALES.map(name => html`<option key=${name} value=${name}>${name}</option>`)}
            </select></div>`;
}

function Metrics() {
    const names = store.metrics.length ? store.metrics.map(each => each.name) : [metricName()];
    return html`<label>show <select data-testid="metric" value=${metricName()}
        title=${metric()?.help ?? ''} onChange=${event => go({metric: event.target.value})}>
        ${names.map(name => html`<option key=${name} value=${name}>${name}</option>`)}
        </select></label>`;
}

function Bar() {
    const named = reports().filter(each => each.report.links.length).length,
        alarms = alarmsAMinute();
    const up = store.hostsLen - [...store.hosts.values()]
        .filter(host => host.state === 'missing').length;
    return html`<header><div class="row">
        <h1>PathDump <small><${Text}>${store.network?.title ?? ''}<//></small></h1>
        <span class="pill ${store.state}" role="status">
            ${STATES[store.state]}${store.choice.at ? `: ${time(store.choice.at * 1e6, true)}` : ''}
        </span>
        <span class="facts"><b>${store.hostsLen ? up : '…'}</b>/${store.hostsLen || '…'} hosts
            · <b>${alarms}</b> ${alarms === 1 ? 'alarm' : 'alarms'} a minute
            · <b>${named}</b> ${named === 1 ? 'verdict names' : 'verdicts name'} links</span>
        <${Times} /></div>
        <div class="row"><nav aria-label="views">
            ${VIEWS.map(view => html`<a key=${view} href=${href({view})}
                aria-current=${store.choice.view === view ? 'page' : null}>${view}</a>`)}</nav>
        ${['fabric', 'matrix', 'link', 'flow'].includes(store.choice.view) &&
            html`<${Metrics} /><${Legend} />`}
        <button class="theme" onClick=${turnTheme}>${theme() === 'dark' ? 'light' : 'dark'}</button>
        </div></header>`;
}

// ---- login ----

function Login() {
    const [refused, refuse] = useState(store.refused);
    const submit = async event => {
        event.preventDefault();
        const field = event.target.elements.token;
        try {
            await ask('/v1/session', {method: 'POST', body: {token: field.value.trim()}});
            field.value = '';
            store.state = 'connecting';
            begin();
            changed();
        } catch (error) {
            refuse(error.message);
        }
    };
    return html`<main class="login">
        <form onSubmit=${submit}><h1>PathDump</h1><p>A token is needed here.</p>
        <label>token <input name="token" type="password" autocomplete="current-password" required
            minlength="16" autofocus /></label>
        <button>Log in</button>${refused && html`<p class="error" role="alert">${refused}</p>`}
        </form></main>`;
}

// ---- all of it ----

const LISTS = {alarms: Alarms, verdicts: Verdicts, ask: Ask};

function Views() {
    const {view, link} = store.choice;
    if (LISTS[view]) {
        return html`<main class="lists"><${LISTS[view]} /></main>`;
    }
    const kind = view === 'matrix' ? 'matrix' : 'fabric';
    const side = view === 'flow' ? html`<${FlowPanel} />`
        : view === 'link' || link ? html`<${LinkPanel} key=${link} />` : null;
    return html`<main class="split ${view}"><${Picture} key="picture" kind=${kind} />
        <aside>${side}<${LinkTable} /></aside></main>`;
}

function App() {
    const [, redraw] = useState(0);
    useEffect(() => listen(() => redraw(n => n + 1)), []);
    return html`<div id="app" data-testid="app" data-state=${store.state}
        data-generation=${store.generation} data-view=${store.choice.view}>
        ${store.state === 'login' ? html`<${Login} />`
            : html`<${Bar} /><${Attention} /><${Views} />`}</div>`;
}

store.touch = changed;
document.documentElement.dataset.theme = theme();
window.pathdump = {
    locate: name => surface && store.network ? surface.locate(store.network.find(name)) : null,
    timings: lastTimings,
};
start();
document.getElementById('root').replaceChildren();
render(html`<${App} />`, document.getElementById('root'));
