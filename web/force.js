// SPDX-License-Identifier: Apache-2.0
// A worker: places for the switches of a graph of no regular shape, from 0 to 1.
importScripts('/map/vendor/d3-force.js');

const TURNS = 300;

function spread(values) {
    const low = Math.min(...values), high = Math.max(...values);
    return values.map(value => high > low ? 0.06 + 0.88 * (value - low) / (high - low) : 0.5);
}

onmessage = event => {
    const nodes = Array.from({length: event.data.nodes}, () => ({}));
    const links = event.data.links.map(([source, target]) => ({source, target}));
    const {forceSimulation, forceLink, forceManyBody, forceX, forceY} = self.d3;
    const simulation = forceSimulation(nodes)
        .force('link', forceLink(links).distance(40).strength(0.5))
        .force('charge', forceManyBody().strength(-90))
        .force('x', forceX().strength(0.05)).force('y', forceY().strength(0.08))
        .stop();
    simulation.tick(nodes.length > 2000 ? 60 : TURNS);
    const xs = spread(nodes.map(node => node.x)), ys = spread(nodes.map(node => node.y));
    postMessage(xs.map((x, i) => [x, ys[i]]));
};
