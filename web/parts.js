// SPDX-License-Identifier: Apache-2.0
// Small parts of the page that several views use. What strangers have written is text, in a <bdi>:
// it neither becomes markup nor turns the words around it.

import {html, useEffect, useRef, useState} from './vendor/preact.js';
import {href, store, timed} from './store.js';
import {short, time} from './scale.js';

export const Text = ({children}) => html`<bdi>${String(children ?? '')}</bdi>`;

export function Link({name}) {
    const i = store.network ? store.network.find(name) : -1;
    return html`<a title=${i >= 0 ? store.network.words(i) : null}
        href=${href({link: name, view: ['fabric', 'matrix'].includes(store.choice.view)
            ? store.choice.view : 'link'})}>
        ${i >= 0 ? html`<${Text}>${store.network.brief(i)}<//>` : name}</a>`;
}

export const flowText = flow =>
    `${flow.src_ip}:${flow.src_port} → ${flow.dst_ip}:${flow.dst_port}/${flow.protocol}`;
export const FLOW = ['src_ip', 'dst_ip', 'src_port', 'dst_port', 'protocol'];
export const flowHref = flow =>
    href({view: 'flow', flow: FLOW.map(name => flow[name] ?? '').join(','), link: ''});

export const pathText = path => path.map(id => store.network?.node(id)?.brief ?? (id || '?'))
    .join(' → ');

// Asks once for each `key`: {answer, error, busy}. What nobody waits for any more is broken off: it
// would keep others from one of the browser's few connections.
export function useAnswer(key, load) {
    const [got, set] = useState({});
    useEffect(() => {
        const leaving = new AbortController();
        if (key === null) {
            set({});
            return undefined;
        }
        set(before => ({...before, busy: true, error: ''}));
        const begun = performance.now();
        load(leaving.signal).then(
            answer => {
                if (!leaving.signal.aborted) {
                    set({answer, busy: false, error: ''});
                    timed(String(key).split(' ')[0], performance.now() - begun);
                }
            },
            error => leaving.signal.aborted || set({busy: false, error: error.message}));
        return () => leaving.abort();
    }, [key]);
    return got;
}

export function Status({busy, error, children}) {
    if (error) {
        return html`<p class="error" role="alert">${error}</p>`;
    }
    return busy && !children ? html`<p class="soft">asking …</p>` : children ?? null;
}

// {name: title} of columns, rows of objects; cells as `show` says.
export function Table({label, columns, rows, show = {}, attributes = () => ({}), test}) {
    return html`<div class="scroll" tabindex="0" role="region" aria-label=${label}>
        <table data-testid=${test}>
        <caption class="hidden">${label}</caption>
        <thead><tr>${Object.entries(columns)
            .map(([name, title]) => html`<th key=${name} scope="col">${title}</th>`)}</tr></thead>
        <tbody>${rows.map((row, n) => html`<tr key=${row.key ?? n} ...${attributes(row)}>
            ${Object.keys(columns).map(name =>
                html`<td key=${name} class=${typeof row[name] === 'number' ? 'short' : null}>
                    ${show[name] ? show[name](row) : html`<${Text}>${cell(row[name])}<//>`}</td>`)}
        </tr>`)}</tbody></table></div>`;
}

export function cell(value) {
    if (value === null || value === undefined) {
        return '';
    }
    return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

export const bytes = value => `${short(value)}B`;
export const when = us =>
    html`<time dateTime=${us ? new Date(us / 1000).toISOString() : ''}>${time(us)}</time>`;

// A list that does not move while a hand or the keyboard is on it: what is new waits, and is
// counted.
export function useSteady(rows) {
    const [held, hold] = useState(null);
    const latest = useRef(rows);
    latest.current = rows;
    const shown = held ? held.map(key => rows.find(row => row.key === key)).filter(Boolean) : rows;
    const bind = {
        onPointerEnter: () => hold(keys => keys ?? latest.current.map(row => row.key)),
        onPointerLeave: () => hold(null),
        onFocusIn: () => hold(keys => keys ?? latest.current.map(row => row.key)),
        onFocusOut: () => hold(null),
    };
    return {shown, more: rows.length - shown.length, bind, release: () => hold(null)};
}

export function download(name, type, text) {
    const url = URL.createObjectURL(new Blob([text], {type}));
    const anchor = document.createElement('a');
    anchor.href = url;
    anchor.download = name;
    anchor.click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// RFC 4180; what a spreadsheet would take for a formula gets an apostrophe.
export function csv(columns, rows) {
    const field = value => {
        const text = cell(value);
        const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
        return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
    };
    return [columns, ...rows.map(row => columns.map(name => row[name]))]
        .map(row => row.map(field).join(',')).join('\r\n') + '\r\n';
}
