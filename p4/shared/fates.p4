// SPDX-License-Identifier: Apache-2.0
// What becomes of frames that no port gets: numbers above those of ports, each with a counter.
#ifndef SHARED_FATES_P4
#define SHARED_FATES_P4

/* Where a program runs as `pathdump-switch`, these are its ports of the slow path and its drops;
 * an operator's own table `ports` may send them elsewhere. */

const bit<32> FATES = 256; // all ports are less

// To the slow path, as the frame came in.
const bit<32> FATE_LONG_PATH = 256; // a third link tag is wanted
const bit<32> FATE_TTL = 257;       // time exceeded, to be told to its source
const bit<32> FATE_LOOP = 258;      // `pint` saw it twice here
const bit<32> FATE_TAGS = 260; // three link tags are there

// Dropped.
const bit<32> FATE_EDGE = 264;       // a host's own tags
const bit<32> FATE_NO_ROUTE = 265;
const bit<32> FATE_NO_PORT = 266;    // no such port here
const bit<32> FATE_PROBE_PORT = 267; // a probe by a port that has none
const bit<32> FATE_LABELS = 268;     // of a probe: no room, or none left
const bit<32> FATE_MALFORMED = 269;
const bit<32> FATE_ROW = 270;        // a row says so
const bit<32> FATE_NOT_IP = 271;

// Sessions of mirrored frames: to the collector, and to the slow path.
const bit<16> MIRROR_REPORT = 1;
const bit<16> MIRROR_DIGEST = 2;

#endif
