# SPDX-License-Identifier: Apache-2.0
"""The fabrics that there are: folders here, each with a class `Fabric` (interface.py)."""
import importlib
import os


def names():
    """of all fabrics"""
    here = os.path.dirname(os.path.abspath(__file__))
    return sorted(name for name in os.listdir(here)
                  if os.path.exists(os.path.join(here, name, "__init__.py")))


def find(name):
    """the class of this fabric. RuntimeError when there is none"""
    if name not in names():
        raise RuntimeError(f"no fabric {name}; there are {', '.join(names())}")
    return importlib.import_module(f"fabrics.{name}").Fabric
