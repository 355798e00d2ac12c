// SPDX-License-Identifier: Apache-2.0
// The views that are lists and forms: link, flow, alarms, verdicts, ask.

import {html, useEffect, useMemo, useRef, useState} from './vendor/preact.js';
import {go, href, metric, metricName, momentUs, reports, store} from './store.js';
import {ask, execute} from './net.js';
import {short, time, words} from './scale.js';
import {FLOW, Link, Status, Table, Text, bytes, csv, download, flowHref, flowText, pathText,
    useAnswer, useSteady, when} from './parts.js';

const seconds = us => (us / 1e6).toFixed(6);

// The window that is looked at: that of the paused moment, or up to now.
function windowArgs(backS) {
    const {at, window} = store.choice;
    return at ? {from: seconds((at - window) * 1e6), to: seconds(at * 1e6)}
        : backS ? {from: seconds(momentUs() - backS * 1e6), live: true} : {live: true};
}

const untilUs = () => store.choice.at ? store.choice.at * 1e6 : Infinity;

// ---- link ----

let plotter = null;

function loadPlot() {
    plotter ??= new Promise((done, fail) => {
        const style = document.createElement('link');
        style.rel = 'stylesheet';
        style.href = '/map/vendor/uplot.css';
        const script = document.createElement('script');
        script.src = '/map/vendor/uplot.js';
        script.onload = () => done(window.uPlot);
        script.onerror = () => { plotter = null; fail(new Error('uplot.js could not be loaded')); };
        document.head.append(style, script);
    });
    return plotter;
}

// [times in s, values] of a history: one value a step.
export function series(answer) {
    const values = answer.values || [];
    return [values.map((_, n) => answer.from_us / 1e6 + n * answer.step_ms / 1e3),
        values.map(value => value ?? null)];
}

function Curve({answer}) {
    const box = useRef();
    const [error, fail] = useState('');
    useEffect(() => {
        let plot = null, gone = false;
        const [times, values] = series(answer);
        loadPlot().then(Plot => {
            if (gone || !times.length) {
                return;
            }
            const ink = getComputedStyle(box.current).color;
            const axis = {stroke: ink,
                grid: {stroke: `${ink.replace('rgb', 'rgba').replace(')', ', .15)')}`},
                ticks: {show: false}};
            plot = new Plot({
                width: Math.max(200, box.current.clientWidth), height: 160, legend: {show: false},
                cursor: {y: false},
                axes: [axis, {...axis, size: 70, values: (_, splits) => splits.map(short)}],
                series: [{}, {stroke: getComputedStyle(document.documentElement)
                    .getPropertyValue('--accent'), width: 2, points: {show: times.length < 20}}],
                scales: {
                    y: {range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.1 : 1]},
                },
            }, [times, values], box.current);
        }).catch(problem => fail(problem.message));
        return () => { gone = true; plot?.destroy(); };
    }, [answer]);
    const [times, values] = series(answer);
    return html`<figure><figcaption>the last hour: ${metricName()}</figcaption>
        <div class="curve" ref=${box} role="img" aria-label="curve of the last hour"></div>
        ${error && html`<p class="error">${error}</p>`}
        ${times.length ? html`<details><summary>as a table</summary>
            <${Table} label="values of the last hour" columns=${{time: 'time', value: 'value'}}
            rows=${times.map((t, n) => ({time: time(t * 1e6), value: words(metric(), values[n])}))
                .reverse().slice(0, 120)} /></details>`
        : html`<p class="soft">no values of the last hour yet</p>`}</figure>`;
}

function TopFlows({link}) {
    const args = {link, k: 10, by: 'bytes', ...windowArgs(60)};
    const minute = Math.floor(momentUs() / 10e6);
    const got = useAnswer(`flows ${link} ${store.choice.at ?? minute} ${store.choice.window}`,
        signal => execute('topFlows', args, signal));
    const rows = (got.answer?.top || []).map(row => ({...row, key: flowText(row.flow_id)}));
    return html`<h3>Top flows over it ${got.answer && !got.answer.complete
        ? html`<${Incomplete} />` : ''}</h3>
        <${Status} ...${got}>${got.answer &&
            (rows.length ? html`<${Table} label="top flows" test="top-flows" rows=${rows}
            columns=${{flow: 'flow', bytes: 'bytes', pkts: 'packets'}}
            attributes=${row => ({'data-flow': row.key})}
            show=${{flow: row => html`<a href=${flowHref(row.flow_id)}><${Text}>${row.key}<//></a>`,
                bytes: row => bytes(row.bytes)}} />`
        : html`<p class="soft">no flow crossed it in this time</p>`)}<//>`;
}

export const Incomplete = () =>
    html`<span class="badge bad"
        title="hosts are missing: what they know is not in these numbers">incomplete</span>`;

export function LinkPanel() {
    const name = store.choice.link;
    const i = name && store.network ? store.network.find(name) : -1;
    const minute = Math.floor(momentUs() / 15e6);
    const known = i >= 0;
    const history = useAnswer(
        known ? `history ${name} ${metricName()} ${store.choice.at ?? minute}` : null,
        signal => ask(historyUrl(name), {signal}));
    if (!name) {
        return html`<section class="panel"><h2>Link</h2>
            <p class="soft">Choose a link in the fabric, the matrix or the table.</p></section>`;
    }
    if (!known) {
        return html`<section class="panel"><h2>Link <${Text}>${name}<//></h2>
            <p class="soft">The topology has no such link now.</p>
            <p><a href=${href({link: ''})}>close</a></p></section>`;
    }
    const back = name.split('-').reverse().join('-');
    return html`<section class="panel" data-testid="link-panel" data-link=${name}>
        <h2><${Text}>${store.network.words(i)}<//> <small>${name}</small></h2>
        <p class="row"><b class="figure">${words(metric(), store.values[i])}</b>
            <a href=${href({link: back})}>the other way: ${words(metric(), store.values[i ^ 1])}</a>
            <a href=${href({link: '', view: store.choice.view === 'link' ? 'fabric'
                : store.choice.view})}>close</a></p>
        <${Named} link=${name} i=${i} />
        <${TopFlows} link=${name} />
        <${Status} ...${history}>${history.answer && html`<${Curve} answer=${history.answer} />`}
            <//>
    </section>`;
}

function historyUrl(name) {
    const {at} = store.choice, times = at ? `&from=${at - 3600}&to=${at}` : '';
    const metric = `metric=${encodeURIComponent(metricName())}`;
    return `/v1/links/${encodeURIComponent(name)}/history?${metric}${times}`;
}

// Alarms and verdicts that name this link.
function Named({link, i}) {
    const groups = [...store.groups.values()].filter(group => group.links?.includes(i) &&
        group.firstUs <= untilUs()).slice(0, 20);
    const named = reports().filter(each => each.report.links.includes(link));
    if (!groups.length && !named.length) {
        return html`<p class="soft">No alarm and no verdict names it.</p>`;
    }
    return html`${named.map(each =>
        html`<${Verdict} key=${each.app} each=${each} brief=${true} />`)}
        ${groups.map(group => html`<p key=${group.key} class="alarm">
            <b><${Text}>${group.reason}<//></b> ${group.count}×, last ${when(group.lastUs)},
            <${Text}>${group.subject.text}<//></p>`)}`;
}

// ---- flow ----

const chosenFlow = () => Object.fromEntries((store.choice.flow || '').split(',')
    .map((value, n) => [FLOW[n], value]).filter(([name, value]) => name && value));

// Rows of the query, flow by flow: each path with its sums, in the order of time.
export function byFlow(rows) {
    const flows = new Map();
    for (const row of rows) {
        const key = flowText(row.flow_id);
        if (!flows.has(key)) {
            flows.set(key, {key, flow: row.flow_id, paths: [], bytes: 0});
        }
        flows.get(key).paths.push({...row, key: row.path.join(',')});
        flows.get(key).bytes += row.bytes;
    }
    flows.forEach(flow => flow.paths.sort((a, b) => a.stime_us - b.stime_us));
    return [...flows.values()].sort((a, b) => b.bytes - a.bytes);
}

const twice = path => [...new Set(path.filter((id, n) => id && path.indexOf(id) !== n))];

function TimeLine({flow}) {
    const first = Math.min(...flow.paths.map(path => path.stime_us)),
        last = Math.max(...flow.paths.map(path => path.etime_us));
    const at = us => 100 * (us - first) / Math.max(1, last - first);
    return html`<svg class="timeline" viewBox="0 0 100 ${7 * flow.paths.length}"
        preserveAspectRatio="none" role="img"
        aria-label="when each path was taken, from ${time(first)} to ${time(last)}">
        ${flow.paths.map((path, n) =>
            html`<rect key=${n} class="lane${n % 6}" x=${at(path.stime_us)} y=${7 * n + 1}
            width=${Math.max(0.6, at(path.etime_us) - at(path.stime_us))} height="5" />`)}</svg>
        <p class="row soft"><span>${time(first)}</span><span>${time(last)}</span></p>`;
}

function FlowPaths({flow}) {
    return html`<article><h3><a href=${flowHref(flow.flow)}><${Text}>${flow.key}<//></a></h3>
        ${flow.paths.map((path, n) =>
            html`<div key=${path.key} class="path" data-testid="flow-path" data-path=${path.key}
                data-pkts=${path.pkts}>
            <i class="lane${n % 6}"></i> <${Text}>${pathText(path.path)}<//>
            <span class="soft"> ${short(path.pkts)} packets, ${bytes(path.bytes)},
                ${' '}${when(path.stime_us)} to ${when(path.etime_us)}</span>
            ${twice(path.path).map(id =>
                html` <span class="badge bad">twice at <${Text}>${pathText([id])}<//></span>`)}
            ${path.state && path.state !== 'exact' ? html` <span class="badge">${path.state}</span>`
                : ''}</div>`)}
        ${flow.paths.length > 1 && html`<${TimeLine} flow=${flow} />`}</article>`;
}

// The paths that the fabric draws, as lists of directed links.
export function drawnPaths() {
    return store.choice.view === 'flow' && store.network ? store.flowPaths || [] : [];
}

export function FlowPanel() {
    const flow = chosenFlow();
    const [form, setForm] = useState(flow);
    useEffect(() => setForm(chosenFlow()), [store.choice.flow]);
    const wanted = Object.keys(flow).length ? store.choice.flow : null;
    const got = useAnswer(wanted === null ? null
        : `paths ${wanted} ${store.choice.at} ${store.choice.window}`,
        signal => execute('getFlows', {...flow, ...windowArgs(0)}, signal));
    const flows = useMemo(() => byFlow(got.answer?.flows || []), [got.answer]);
    useEffect(() => {
        store.flowPaths = (flows[0]?.paths || []).slice(0, 6)
            .map(path => store.network?.along(path.path) || []);
        store.touch?.();
        return () => { store.flowPaths = []; };
    }, [flows, store.network]);
    const submit = event => {
        event.preventDefault();
        go({flow: FLOW.map(name => String(form[name] ?? '').trim()).join(',')});
    };
    return html`<section class="panel"><h2>Flow</h2>
        <form class="fields" onSubmit=${submit}>
            ${FLOW.map(name => html`<label key=${name}>${name.replace('_', ' ')}
            <input value=${form[name] ?? ''} placeholder="any"
                onInput=${event => setForm({...form, [name]: event.target.value})} /></label>`)}
            <button>Show paths</button></form>
        <${Status} ...${got}>${got.answer &&
            html`<p class="soft">${flows.length} ${flows.length === 1 ? 'flow' : 'flows'}
            ${flows.length > 50 ? ', the 50 largest' : ''}
            ${flows.length > 1 ? '; the picture has the paths of the first' : ''}
            ${got.answer.complete ? '' : html` <${Incomplete} />`}</p>
            ${flows.slice(0, 50).map(each => html`<${FlowPaths} key=${each.key} flow=${each} />`)}`}
            <//></section>`;
}

// ---- alarms ----

const GROUPS_SHOWN = 300;

export function Alarms() {
    const groups = [...store.groups.values()].filter(group => group.firstUs <= untilUs())
        .sort((a, b) => b.firstUs - a.firstUs || (a.key < b.key ? -1 : 1));
    const {shown, more, bind} = useSteady(groups);
    return html`<section class="panel wide"><h2>Alarms</h2>
        ${more > 0 && html`<p role="status"><b>${more} new</b>: shown when the pointer leaves
            the list</p>`}
        ${!groups.length && html`<p class="soft">No alarms.</p>`}
        <div ...${bind}>${shown.slice(0, GROUPS_SHOWN)
            .map(group => html`<${AlarmGroup} key=${group.key} group=${group} />`)}</div>
        ${shown.length > GROUPS_SHOWN &&
            html`<p>${shown.length - GROUPS_SHOWN} older groups are not listed</p>`}
        ${store.groupsLost > 0 &&
            html`<p>${store.groupsLost} alarms of further groups are not
                shown; <code>pathdump alarms</code> has them</p>`}</section>`;
}

function AlarmGroup({group}) {
    const {last} = group;
    return html`<article class="alarm ${group.lastUs > momentUs() - 60e6 ? 'recent' : ''}"
        data-testid="alarm-group" data-reason=${group.reason} data-count=${group.count}>
        <p class="row"><b class="reason"><${Text}>${group.reason}<//></b>
            <span>${group.links?.length === 1 ? html`<${Link} name=${group.subject.text} />`
                : html`<${Text}>${group.subject.path ? pathText(group.subject.path)
                    : store.hosts.get(group.host)?.name ?? group.subject.text}<//>`}</span>
            <span class="figure">${group.count}×</span>
            <span class="soft">first ${when(group.firstUs)}, last ${when(group.lastUs)}</span>
            ${last.flow_id && html`<a href=${flowHref(last.flow_id)}>its paths</a>`}</p>
        <details><summary>details of the last one</summary>
            <p><${Text}>${last.detail}<//></p>
            ${last.flow_id && html`<p class="soft"><${Text}>${flowText(last.flow_id)}<//></p>`}
            ${(last.paths || []).map((path, n) =>
                html`<p key=${n}><${Text}>${pathText(path)}<//></p>`)}
            <p class="soft">host ${last.host}, ${last.origin}${last.by
                ? html`, by <${Text}>${last.by}<//>` : ''}</p></details></article>`;
}

// ---- verdicts ----

const percent = value => value === null || value === undefined ? 'not known'
    : `${+(100 * value).toPrecision(3)} %`;

const LINES = 6, BRIEF = 3;

const List = ({lines}) =>
    html`<ul>${lines.map((line, n) => html`<li key=${n}><${Text}>${line}<//></li>`)}</ul>`;

function Lines({title, lines, most = LINES}) {
    return lines?.length ? html`<h4>${title}</h4><${List} lines=${lines.slice(0, most)} />
        ${lines.length > most && html`<details><summary>${lines.length - most} more</summary>
            <${List} lines=${lines.slice(most)} /></details>`}` : null;
}

const faultText = ({kind, what, loss}) =>
    `${kind ?? ''} ${what ?? ''}${loss === undefined ? '' : `, drops ${percent(loss)}`}`;

// brief: beside a link, where flows and the curve shall be seen without scrolling.
export function Verdict({each, brief}) {
    const {report} = each;
    if (!report) {
        return html`<article class="verdict"><h3>${each.app}</h3>
            <p class="soft">${each.error || 'has not run yet'}</p></article>`;
    }
    return html`<article class="verdict ${report.certain && report.links.length ? 'certain' : ''}"
        data-testid="verdict" data-app=${each.app}
        data-links=${report.links.join(',')} data-certain=${String(report.certain)}>
        <h3>${each.app} <span class=${report.certain ? 'badge bad' : 'badge'}>
            ${report.certain ? 'certain' : `not certain, ${percent(report.confidence)}`}</span></h3>
        <p><${Text}>${report.verdict}<//></p>
        ${report.links.length > 0 &&
            html`<p class="row">${report.links.slice(0, 12)
                .map(name => html`<${Link} key=${name} name=${name} />`)}</p>`}
        <${Lines} title="Evidence" lines=${report.evidence} most=${brief ? BRIEF : LINES} />
        ${brief ? html`<p><a href=${href({view: 'verdicts'})}>all of this verdict</a></p>`
            : html`<${Beyond} report=${report} />`}
        ${each.last_us && html`<p class="soft">ran ${when(each.last_us)}${each.error
            ? html`, the last run failed: <${Text}>${each.error}<//>` : ''}</p>`}</article>`;
}

function Beyond({report}) {
    return html`<${Lines} title="What it could not see" lines=${report.lacks} />
        <${Lines} title="May be as well" lines=${report.alternatives?.map(faultText)} />
        ${report.detects && html`<${Lines} title="Would have named losses from"
            lines=${Object.entries(report.detects)
                .map(([tier, loss]) => `${tier}: ${percent(loss)}`)} />`}`;
}

function value(text, kind) {
    if (/number/.test(kind) && text.trim() !== '' && Number.isFinite(Number(text))) {
        return Number(text);
    }
    return /^(true|false)$/.test(text) ? text === 'true' : text;
}

function filled(form, kinds) {
    return Object.fromEntries(Object.entries(form).filter(([, text]) => text !== '')
        .map(([name, text]) => [name, value(text, kinds[name] || '')]));
}

// A form made from a table of parameters: {name, kind, value, fallback, required, help}.
function Fields({params, form, set}) {
    return params.map(param =>
        html`<label key=${param.name} title=${param.help}>
            ${param.name.replaceAll('_', ' ')}${param.required ? ' *' : ''}
        <input value=${form[param.name] ?? ''} required=${Boolean(param.required)}
            placeholder=${param.fallback ?? param.value ?? ''}
            onInput=${event => set({...form, [param.name]: event.target.value})} /></label>`);
}

export function Verdicts() {
    const apps = useAnswer('apps', () => ask('/v1/apps'));
    const [name, setName] = useState('');
    const [form, setForm] = useState({});
    const [run, setRun] = useState(null);
    const app = apps.answer?.apps.find(each => each.name === name) ?? apps.answer?.apps[0];
    const got = useAnswer(run && `app ${run.number}`,
        signal => ask(`/v1/apps/${encodeURIComponent(run.name)}`,
            {method: 'POST', body: run.args, timeoutMs: 120000, signal}));
    const begin = event => {
        event.preventDefault();
        setRun({name: app.name, number: (run?.number ?? 0) + 1,
            args: filled(form, Object.fromEntries(app.params.map(param =>
                [param.name, param.kind])))});
    };
    return html`<section class="panel wide"><h2>Verdicts</h2>
        ${!store.verdicts.size &&
            html`<p class="soft">Nothing is watched. <code>pathdump watch</code> has an application
                run again and again.</p>`}
        ${[...store.verdicts].map(([key, each]) => html`<${Verdict} key=${key} each=${each} />`)}
        <h2>Run an application</h2>
        <${Status} ...${apps}>${app && html`<form class="fields" onSubmit=${begin}>
            <label>application <select value=${app.name}
                onChange=${event => { setName(event.target.value); setForm({}); }}>
                ${apps.answer.apps.map(each =>
                    html`<option key=${each.name} value=${each.name}>${each.name}</option>`)}
                    </select></label>
            <p class="help">${app.help}</p>
            <${Fields} params=${app.params} form=${form} set=${setForm} /><button>Run</button>
            </form>`}<//>
        <${Status} ...${got}>${got.answer &&
            html`<div role="status"><${Verdict} each=${{app: run.name, report: got.answer}} />
                </div>`}<//></section>`;
}

// ---- ask ----

// The rows of an answer: its first list of objects; else the answer itself is one.
export function rowsOf(answer) {
    const list = Object.values(answer).find(each => Array.isArray(each) && each.length &&
        typeof each[0] === 'object');
    const rows = list ? list.map(row => Array.isArray(row) ? {path: row} : row)
        : [Object.fromEntries(Object.entries(answer)
        .filter(([, each]) => typeof each !== 'object'))];
    return rows.map(({flow_id, ...rest}) => ({...(flow_id || {}), ...rest}));
}

export function Ask() {
    const api = useAnswer('openapi', () => ask('/openapi.json'));
    const queries = api.answer?.components?.schemas?.Execute?.['x-queries'] ?? [];
    const [name, setName] = useState('topFlows');
    const [form, setForm] = useState({});
    const [run, setRun] = useState(null);
    const query = queries.find(each => each.name === name) ?? queries[0];
    const got = useAnswer(run && `ask ${run.number}`,
        signal => execute(run.name, run.args, signal));
    const begin = event => {
        event.preventDefault();
        setRun({name: query.name, number: (run?.number ?? 0) + 1,
            args: filled(form, Object.fromEntries(query.params.map(param =>
                [param.name, param.value === 'N' ? 'number' : ''])))});
    };
    const rows = useMemo(() => got.answer ? rowsOf(got.answer) : [], [got.answer]);
    const columns = [...new Set(rows.slice(0, 1000).flatMap(row => Object.keys(row)))];
    return html`<section class="panel wide"><h2>Ask</h2>
        <${Status} ...${api}>${query && html`<form class="fields" onSubmit=${begin}>
            <label>query <select value=${query.name}
                onChange=${event => { setName(event.target.value); setForm({}); }}>
                ${queries.map(each =>
                    html`<option key=${each.name} value=${each.name}>${each.name}</option>`)}
                </select></label>
            <p class="help">${query.help}</p>
            <${Fields} params=${query.params} form=${form} set=${setForm} />
            <button>Ask all hosts</button></form>`}<//>
        <${Status} ...${got}>${got.answer &&
            html`<p class="row"><span role="status">
                ${rows.length} rows${rows.length > 1000 ? ', the first 1000 are shown' : ''}</span>
            ${got.answer.complete === false && html`<${Incomplete} />`}
            <button onClick=${() => download(`${run.name}.csv`, 'text/csv',
                csv(columns, rows))}>CSV</button>
            <button onClick=${() => download(`${run.name}.json`, 'application/json',
                JSON.stringify(got.answer, null, 1))}>JSON</button></p>
            <${Table} label="answer" test="answer"
                columns=${Object.fromEntries(columns.map(column => [column, column]))}
                rows=${rows.slice(0, 1000)} />`}<//></section>`;
}
