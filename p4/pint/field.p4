// SPDX-License-Identifier: Apache-2.0
// One field of a digest, included where FIELD is its table: docs/formats/pint.md, "Formulas".
        FIELD.apply();
        if (m.kind != KIND_NONE) {
            BITS = m.digest >> m.at;
            BITS = BITS & m.field_mask;

            VALUE = 0;
            if (m.value_kind == VALUE_SWITCH) {
                VALUE = (bit<64>)m.switch_id;
            } else if (m.value_kind == VALUE_PORT) {
                VALUE = (bit<64>)m.in_port;
            } else if (m.value_kind == VALUE_QUEUE) {
                REGISTER_READ(queue, VALUE, m.out_port)
            } else if (m.value_kind == VALUE_UTILISATION) {
                REGISTER_READ(utilisation, VALUE, m.out_port)
            } else {
                REGISTER_READ(clock, VALUE, 0)
                REGISTER_READ(clock, STEP, 1)
                VALUE = VALUE - STEP;
                if (m.value_kind == VALUE_HIGH_LATENCY) {
                    REGISTER_READ(pint, STEP, 3)
                    if (VALUE > STEP) {
                        VALUE = 1;
                    } else {
                        VALUE = 0;
                    }
                }
            }

            // g, and whether the last writer is this one
            J_BEGIN(0xdeadbefe)
            m.a = m.a + m.packet_id;
            m.b = m.b + m.tag;
            m.c = m.c + m.hop;
            J_END
            G = m.c >> 16;
            REGISTER_READ(pint_reservoir, STEP, m.hop)
            m.writes = 0;
            if ((bit<64>)G < STEP) {
                m.writes = 1;
            }

            if (m.kind == KIND_HASH) {
                J_BEGIN(0xdeadbf03)
                J_MIX(m.packet_id, m.tag, m.switch_id)
                m.a = m.a + m.hop;
                J_END
                OWN = m.c & m.field_mask;
            } else if (m.kind == KIND_LOOP) {
                J_BEGIN(0xdeadbeff)
                m.a = m.a + m.packet_id;
                m.b = m.b + m.tag;
                m.c = m.c + m.switch_id;
                J_END
                OWN = m.c & m.own_mask;
            } else if (m.kind == KIND_FRAGMENT) {
                J_BEGIN(0xdeadbefd)
                m.a = m.a + m.packet_id;
                m.b = m.b + m.tag;
                J_END
                m.c = m.c >> 16;
                MODULO_FRAGMENTS
                MOVE_TO_FRAGMENT
                OWN = (bit<32>)VALUE;
                OWN = OWN & m.field_mask;
            } else {
                // dynamic or packet: the code of a value
                OLD = BITS;
                if (OLD >= m.limit) {
                    OLD = m.limit - 1;
                }
                BASE = m.tag & 0xff00;
                if (m.kind == KIND_SUM) {
                    if (m.first == 0) {
                        PLACE = BASE + OLD;
                        REGISTER_READ(pint_values, STEP, PLACE)
                        VALUE = VALUE + STEP;
                    }
                }
                OWN = 0;
                CODE_STEP(128)
                CODE_STEP(64)
                CODE_STEP(32)
                CODE_STEP(16)
                CODE_STEP(8)
                CODE_STEP(4)
                CODE_STEP(2)
                CODE_STEP(1)
                if (m.rounding == ROUNDING_RANDOM) {
                    TRY = OWN + 1;
                    if (TRY < m.limit) {
                        PLACE = BASE + OWN;
                        REGISTER_READ(pint_values, STEP, PLACE)
                        if (VALUE >= STEP) {
                            PLACE = BASE + TRY;
                            REGISTER_READ(pint_values, GAP, PLACE)
                            GAP = GAP - STEP;
                            VALUE = VALUE - STEP;
                            J_BEGIN(0xdeadbf00)
                            m.a = m.a + m.packet_id;
                            m.b = m.b + BASE;
                            m.c = m.c + m.hop;
                            J_END
                            m.c = m.c >> 16;
                            SHARE_OF_GAP
                            if (PRODUCT < VALUE) {
                                OWN = OWN + 1;
                            }
                        }
                    }
                }
            }

            if (m.kind <= KIND_FRAGMENT) {
                J_BEGIN(0xdeadbef9)
                m.a = m.a + m.packet_id;
                m.b = m.b + m.tag;
                J_END
                m.c = m.c >> 16;
                if (m.c < m.limit) {
                    if (m.writes == 1) {
                        BITS = OWN;
                    }
                } else {
                    BASE = m.tag & 0xff00;
                    BASE = BASE >> 4;
                    LAYER = 0;
                    LAYER_STEP(8)
                    LAYER_STEP(4)
                    LAYER_STEP(2)
                    LAYER_STEP(1)
                    PLACE = BASE + LAYER;
                    REGISTER_READ(pint_below, STEP, PLACE)
                    if ((bit<64>)G < STEP) {
                        BITS = BITS ^ OWN;
                    }
                }
            } else if (m.kind == KIND_DYNAMIC) {
                if (m.writes == 1) {
                    BITS = OWN;
                }
            } else if (m.kind == KIND_LOOP) {
                OLD = BITS & m.own_mask;
                TRY = BITS >> m.own_bits; // the counter
                if (m.first == 0) {
                    if (OLD == OWN) {
                        if (TRY >= m.limit) {
                            m.out_port = FATE_LOOP;
                        }
                        TRY = TRY + 1;
                    }
                }
                if (TRY == 0) {
                    if (m.writes == 1) {
                        OLD = OWN;
                    }
                }
                BITS = TRY << m.own_bits;
                BITS = BITS | OLD;
            } else if (m.first == 1) {
                BITS = OWN;
            } else if (m.kind == KIND_SUM) {
                BITS = OWN;
            } else if (m.kind == KIND_MAX) {
                BITS = OLD;
                if (OWN > OLD) {
                    BITS = OWN;
                }
            } else {
                BITS = OLD;
                if (OWN < OLD) {
                    BITS = OWN;
                }
            }

            // back into the digest
            BITS = BITS & m.field_mask;
            BITS = BITS << m.at;
            TRY = m.field_mask << m.at;
            TRY = TRY ^ 0xffffffff;
            m.digest = m.digest & TRY;
            m.digest = m.digest | BITS;
        }
