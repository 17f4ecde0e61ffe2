"""Make a PNG from Chrome small: at most 256 colours, compressed well.

Chrome writes pictures fast and large: 32 bits a pixel, lightly compressed. A palette and a thorough
compression make the hatched heatmap a tenth of that, and it reads no differently. A notebook holds
its pictures as text, so their size is the notebook's.
Format: PNG specification (W3C), chunks IHDR, PLTE, IDAT, IEND; filter types 0 None, 1 Sub, 2 Up.

Shape letters: H rows, W columns, C channels.
"""

import struct
import zlib

import numpy as np

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {2: 3, 6: 4}  # PNG colour types: RGB, RGBA


def _chunks(png: bytes) -> dict[bytes, bytes]:
    """The chunks of a PNG by type; the data of chunks of one type is joined."""
    found: dict[bytes, bytes] = {}
    at = len(SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        kind = png[at + 4 : at + 8]
        found[kind] = found.get(kind, b"") + png[at + 8 : at + 8 + length]
        at += length + 12
    return found


def read_rgb(png: bytes) -> np.ndarray | None:
    """The pixels on white, uint8 [H, W, 3]; None for a kind of PNG that Chrome does not write."""
    chunks = _chunks(png)
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    if depth != 8 or colour not in CHANNELS or interlaced:
        return None
    channels = CHANNELS[colour]
    data = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8)
    rows = data.reshape(height, 1 + width * channels)
    if rows[:, 0].max() > 2:
        return None
    pixels = rows[:, 1:].reshape(height, width, channels).copy()
    for row, kind in enumerate(rows[:, 0]):
        if kind == 1:
            np.cumsum(pixels[row], axis=0, dtype=np.uint8, out=pixels[row])
        elif kind == 2 and row:
            pixels[row] += pixels[row - 1]
    if channels == 3:
        return pixels
    alpha = pixels[..., 3:].astype(np.uint16)
    return ((pixels[..., :3] * alpha + 255 * (255 - alpha) + 127) // 255).astype(np.uint8)


def to_palette(pixels: np.ndarray, most: int = 256) -> tuple[np.ndarray, np.ndarray]:
    """At most `most` colours [P, 3] and the index [H, W] of each pixel's among them, both uint8.

    Greedy: each step adds the colour farthest from those chosen so far, by squared distance times
    the root of its pixel count; each pixel takes the nearest. Exact up to `most` colours.
    """
    red, green, blue = np.moveaxis(pixels.astype(np.int32), -1, 0)
    codes = red << 16 | green << 8 | blue
    codes, where, counts = np.unique(codes, return_inverse=True, return_counts=True)
    colours = np.stack([codes >> 16, codes >> 8 & 255, codes & 255], axis=1).astype(np.float32)
    weights = np.sqrt(counts).astype(np.float32)
    nearest = np.zeros(len(colours), np.uint8)
    distances = np.full(len(colours), np.inf, np.float32)
    chosen = [int(np.argmax(counts))]
    while True:
        to_new = ((colours - colours[chosen[-1]]) ** 2).sum(axis=1)
        nearest[to_new < distances] = len(chosen) - 1
        distances = np.minimum(distances, to_new)
        if len(chosen) == most or not distances.any():
            break
        chosen.append(int(np.argmax(distances * weights)))
    return colours[chosen].astype(np.uint8), nearest[where.reshape(pixels.shape[:2])]


def write_palette(colours: np.ndarray, index: np.ndarray) -> bytes:
    """A palette PNG of the colours [P, 3] and the indices [H, W]."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    height, width = index.shape
    rows = np.zeros((height, width + 1), np.uint8)  # filter type 0 before each row
    rows[:, 1:] = index
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = (
        (b"IHDR", header),
        (b"PLTE", colours.tobytes()),
        (b"IDAT", zlib.compress(rows.tobytes(), 9)),
        (b"IEND", b""),
    )
    return SIGNATURE + b"".join(chunk(kind, data) for kind, data in parts)


def shrink(png: bytes) -> bytes:
    """The same picture in at most 256 colours if that is smaller, else the bytes unchanged."""
    pixels = read_rgb(png)
    if pixels is None:
        return png
    small = write_palette(*to_palette(pixels))
    return small if len(small) < len(png) else png
