// SPDX-License-Identifier: Apache-2.0
// Colours for values, and values in words.

// Stops of the maps viridis and cividis, which people see in order whatever their eyes: their
// lightness grows evenly. tests/browser checks that.
const STOPS = {
    viridis: ['440154', '482475', '414487', '355f8d', '2a788e', '21918c', '22a884', '44bf70',
        '7ad151', 'bddf26', 'fde725'],
    cividis: ['00224e', '1a386f', '434e6c', '61656f', '7d7c78', '9b9476', 'bcaf6f',
        'dfca5f', 'fee838'],
};

export const FONT = '11px system-ui, sans-serif';

export const SCALES = Object.keys(STOPS);
export const STEPS = 256;
const DARKEST = 0.14;           // below it nothing can be told from a dark page

// What is drawn beside values.
export const THEMES = {
    dark: {ink: '#e6edf3', soft: '#8b9aa8', node: '#2d3b49', rim: '#9fb0bf', page: '#10171e',
        unknown: '#3a4652', bad: '#ff6b4a', box: '#1a242e',
        paths: ['#56b4e9', '#e69f00', '#009e73', '#f0e442', '#cc79a7', '#d55e00']},
    light: {ink: '#17212b', soft: '#5b6b79', node: '#ffffff', rim: '#4c5b69', page: '#f7f9fa',
        unknown: '#c9d2d9', bad: '#c0280b', box: '#ffffff',
        paths: ['#0072b2', '#b85c00', '#007a5a', '#8a6d00', '#a3457a', '#b23a00']},
};

const parts = hex => [0, 2, 4].map(at => parseInt(hex.slice(at, at + 2), 16));

// 256 colours as [r, g, b]; on a light page the other way round, so that much stands out.
export function table(name, light) {
    const stops = (STOPS[name] || STOPS.viridis).map(parts);
    const colours = [];
    for (let n = 0; n < STEPS; n++) {
        const share = light ? 1 - n / (STEPS - 1) : DARKEST + (1 - DARKEST) * n / (STEPS - 1);
        const at = share * (stops.length - 1);
        const low = Math.min(Math.floor(at), stops.length - 2);
        const high = stops[low + 1];
        colours.push(stops[low].map((c, i) => Math.round(c + (high[i] - c) * (at - low))));
    }
    return colours;
}

// For the matrix: the same as pixels; one more for what is not known, and one for gaps.
export function pixels(colours, unknown, gap) {
    const table = new Uint32Array(STEPS + 2);
    colours.forEach(([r, g, b], n) => { table[n] = (255 << 24 | b << 16 | g << 8 | r) >>> 0; });
    [unknown, gap].forEach(([r, g, b], n) => {
        table[STEPS + n] = (255 << 24 | b << 16 | g << 8 | r) >>> 0;
    });
    return table;
}

export const rgb = hex => [1, 3, 5].map(at => parseInt(hex.slice(at, at + 2), 16));
export const css = ([r, g, b]) => `rgb(${r},${g},${b})`;

// The end of the scale: what the metric says, or a round number that all values are below.
export function top(metric, values) {
    if (metric?.max) {
        return metric.max;
    }
    let most = 0;
    for (let i = 0; i < values.length; i++) {
        most = values[i] > most ? values[i] : most;
    }
    if (!(most > 0)) {
        return 1;
    }
    const power = 10 ** Math.floor(Math.log10(most));
    return [1, 2, 5, 10].map(n => n * power).find(n => n >= most * 0.999);
}

export function step(value, most) {
    return Math.max(0, Math.min(STEPS - 1, Math.round(value / most * (STEPS - 1))));
}

// ---- words ----

const BIG = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']];

export function short(value) {
    if (value === null || value === undefined || Number.isNaN(value)) {
        return '–';
    }
    for (const [size, letter] of BIG) {
        if (Math.abs(value) >= size) {
            return `${+(value / size).toPrecision(3)} ${letter}`;
        }
    }
    return String(+Number(value).toPrecision(3));
}

const UNITS = {'bit/s': 'bit/s', bps: 'bit/s', bytes: 'B', byte: 'B', ns: 's'};

export function words(metric, value) {
    if (value === null || value === undefined || Number.isNaN(value)) {
        return 'not known';
    }
    const unit = String(metric?.unit ?? '');
    if (metric && (metric.name === 'use' || metric.name === 'suspicion') &&
        (metric.max === 1 || !metric.max)) {
        return `${+(100 * value).toPrecision(3)} %`;
    }
    if (unit === 'ns') {
        return value >= 1e6 ? `${+(value / 1e6).toPrecision(3)} ms`
            : `${+(value / 1e3).toPrecision(3)} µs`;
    }
    const gap = / [TGMk]$/.test(short(value)) ? '' : ' ';
    return `${short(value)}${gap}${UNITS[unit] ?? unit}`.trim();
}

export function time(us, whole) {
    if (!us) {
        return '–';
    }
    const date = new Date(us / 1000);
    const two = n => String(n).padStart(2, '0');
    const clock = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
    const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-');
    return whole ? `${day} ${clock}` : clock;
}

// A name that is too long loses its middle: switches differ at the end.
export function fit(context, text, wide) {
    const letters = [...text];
    let len = letters.length;
    if (context.measureText(text).width <= wide) {
        return text;
    }
    const cut = n => {
        const head = Math.floor(n / 3), tail = letters.length - (n - head);
        return `${letters.slice(0, head).join('')}…${letters.slice(tail).join('')}`;
    };
    len = Math.min(len - 1, 24);
    while (len > 2 && context.measureText(cut(len)).width > wide) {
        len--;
    }
    return cut(len);
}
