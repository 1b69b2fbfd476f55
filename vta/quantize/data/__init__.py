"""Calibration data from files: folders of pictures with the usual preprocessing, numpy's arrays, Python's iterators.

What comes out is an array for each input of a model; ``vta.quantize.calibrate.samples`` checks it.
"""

from vta.quantize.data.arrays import from_arrays, from_iterator
from vta.quantize.data.pictures import Preprocessing, from_pictures
from vta.quantize.data.source import load

__all__ = ["Preprocessing", "from_arrays", "from_iterator", "from_pictures", "load"]
