#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How the page looks to those who see it otherwise: axe-core in both themes, colour scales in order
of lightness, also for colour-blind eyes."""
import unittest

import axe
from browser import Page
from world import AT, World

# Machado, Oliveira, Fernandes 2009, severity 1: what is left of red, green and blue.
EYES = {"all": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
        "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216),
                   (-0.003882, -0.048116, 1.051998)),
        "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413),
                     (-0.011820, 0.042940, 0.968881)),
        "no blue": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602),
                    (0.004733, 0.691367, 0.303900))}


def lightness(colour, eyes):
    """L* of a colour as these eyes have it"""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
              for c in (v / 255 for v in colour)]
    seen = [min(1, max(0, sum(f * c for f, c in zip(row, linear)))) for row in eyes]
    y = 0.2126 * seen[0] + 0.7152 * seen[1] + 0.0722 * seen[2]
    return 116 * (y ** (1 / 3) if y > 0.008856 else 7.787 * y + 16 / 116) - 16


class LooksTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = World()
        cls.addClassCleanup(cls.world.close)
        cls.page = Page(cls.world.url)
        cls.addClassCleanup(cls.page.__exit__)

    def test_axe(self):
        if not axe.script():
            self.skipTest("the registry does not answer: axe-core is not here")
        self.world.alarm(detail="some words")
        self.world.ask("POST", "/v1/watches", {"app": "silent-drops", "period_s": 1})
        self.world.agents[22].__exit__()
        for theme in ("dark", "light"):
            self.page.open(wait=False)
            self.page.js("localStorage.setItem('theme', arguments[0])", theme)
            for fragment in (f"#view=fabric&metric=load_bps&at={AT}&link=4-11",
                             f"#view=matrix&metric=load_bps&at={AT}",
                             f"#view=link&link=4-11&at={AT}",
                             f"#view=flow&flow=10.2.2.2,,1002,,&at={AT}", "#view=alarms",
                             "#view=verdicts", "#view=ask"):
                with self.subTest(theme=theme, fragment=fragment):
                    self.page.open(fragment)
                    self.page.until(lambda: "asking" not in self.page.text(), "answers")
                    self.assertEqual(axe.violations(self.page), [])

    def test_scales(self):
        """each step is lighter than the one before (darker on a light page), whatever the eyes"""
        self.page.open("#view=fabric")
        for name in ("viridis", "cividis"):
            for light in (False, True):
                colours = self.page.js("return (await import('/map/scale.js')).table(arguments[0], "
                                       "arguments[1])", name, light)
                self.assertEqual(len(colours), 256)
                for eyes in EYES.values():
                    steps = [lightness(colour, eyes) for colour in colours[::16]]
                    self.assertEqual(steps, sorted(steps, reverse=light))
                    self.assertGreater(abs(steps[-1] - steps[0]), 50)


if __name__ == "__main__":
    unittest.main(verbosity=2)
