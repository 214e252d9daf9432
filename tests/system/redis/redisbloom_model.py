"""Filters as RedisBloom makes them, written from the description of its formats: for tests of the import. Slow, and
independent of the module."""

import math
import struct

MASK = (1 << 64) - 1
M = 0xc6a4a7935bd1e995


def murmur64(data, seed):
    h = seed ^ (len(data) * M & MASK)
    whole = len(data) & ~7
    for i in range(0, whole, 8):
        k = int.from_bytes(data[i:i + 8], "little") * M & MASK
        k = (k ^ k >> 47) * M & MASK
        h = (h ^ k) * M & MASK
    if len(data) > whole:
        h = (h ^ int.from_bytes(data[whole:], "little")) * M & MASK
    h = (h ^ h >> 47) * M & MASK
    return h ^ h >> 47


class Bloom:
    """BF.RESERVE error capacity EXPANSION growth [NONSCALING]."""

    def __init__(self, error, capacity, growth=2, fixed=False, rounded=False):
        self.growth, self.fixed, self.rounded = growth, fixed, rounded
        self.layers, self.items = [], 0
        self.add_layer(error if fixed else error / 2, capacity)

    def add_layer(self, error, capacity):
        bpe = -math.log(error) / 0.480453013918201
        n2 = 0
        if self.rounded:  # early versions
            n2 = int(math.floor(math.log2(capacity * bpe))) + 1
            bits = 1 << n2
            capacity += int((bits - capacity * bpe) / bpe)
        else:
            bits = max(1, int(capacity * bpe))
        size = (bits + 63) // 64 * 8
        self.layers.append({"error": error, "capacity": capacity, "bpe": bpe, "n2": n2, "items": 0,
                            "hashes": math.ceil(0.693147180559945 * bpe), "data": bytearray(size)})

    @staticmethod
    def positions(layer, item):
        a = murmur64(item, M)
        b = murmur64(item, a)
        bits = 1 << layer["n2"] if layer["n2"] else len(layer["data"]) * 8
        return [(a + i * b & MASK) % bits for i in range(layer["hashes"])]

    def has(self, item):
        return any(all(layer["data"][p // 8] >> p % 8 & 1 for p in self.positions(layer, item))
                   for layer in self.layers)

    def add(self, item):
        """False if the filter is full."""
        if self.has(item):
            return True
        last = self.layers[-1]
        if last["items"] >= last["capacity"]:
            if self.fixed:
                return False
            self.add_layer(last["error"] / 2, last["capacity"] * self.growth)
            last = self.layers[-1]
        for p in self.positions(last, item):
            last["data"][p // 8] |= 1 << p % 8
        last["items"] += 1
        self.items += 1
        return True

    def header(self):
        options = 4 | (0 if self.rounded else 1) | (8 if self.fixed else 0)
        text = struct.pack("<QIII", self.items, len(self.layers), options, self.growth)
        for layer in self.layers:
            size = len(layer["data"])
            text += struct.pack("<QQQddIQB", size, size * 8, layer["items"], layer["error"], layer["bpe"],
                                layer["hashes"], layer["capacity"], layer["n2"])
        return text

    def chunks(self, most=1 << 24):
        yield 1, self.header()
        at = 1
        for layer in self.layers:
            for i in range(0, len(layer["data"]), most):
                part = bytes(layer["data"][i:i + most])
                at += len(part)
                yield at, part


class Cuckoo:
    """CF.RESERVE capacity BUCKETSIZE size MAXITERATIONS n EXPANSION n. Grows instead of moving fingerprints."""

    def __init__(self, capacity, size=2, expansion=1):
        self.size, self.expansion = size, expansion
        self.buckets = 1 << max(0, (capacity // size - 1).bit_length())
        self.layers, self.items, self.deletes = [bytearray(self.buckets * size)], 0, 0

    @staticmethod
    def places(item):
        h = murmur64(item, 0)
        fingerprint = h % 255 + 1
        return fingerprint, h, h ^ fingerprint * 0x5bd1e995

    def slots(self, layer, place):
        first = place % (len(layer) // self.size) * self.size
        return range(first, first + self.size)

    def count(self, item):
        fingerprint, *places = self.places(item)
        return sum(layer[s] == fingerprint for layer in self.layers for p in places for s in self.slots(layer, p))

    def has(self, item):
        return self.count(item) > 0

    def add(self, item):
        fingerprint, *places = self.places(item)
        for layer in reversed(self.layers):
            for p in places:
                for s in self.slots(layer, p):
                    if not layer[s]:
                        layer[s] = fingerprint
                        self.items += 1
                        return True
        self.layers.append(bytearray(self.buckets * self.size * self.expansion ** len(self.layers)))
        return self.add(item)

    def remove(self, item):
        fingerprint, *places = self.places(item)
        for layer in reversed(self.layers):
            for p in places:
                for s in self.slots(layer, p):
                    if layer[s] == fingerprint:
                        layer[s] = 0
                        self.items -= 1
                        self.deletes += 1
                        if len(self.layers) > 1 and self.deletes > self.items * 0.1:
                            self.compact(False)
                        return True
        return False

    def compact(self, go_on):
        for n in range(len(self.layers) - 1, 0, -1):
            layer, left = self.layers[n], False
            for slot, fingerprint in enumerate(layer):
                if not fingerprint:
                    continue
                bucket = slot // self.size
                free = [(older, s) for older in self.layers[:n] for p in (bucket, bucket ^ fingerprint * 0x5bd1e995)
                        for s in self.slots(older, p) if not older[s]]
                if free:
                    free[0][0][free[0][1]] = fingerprint
                    layer[slot] = 0
                else:
                    left = True
            if not left and n == len(self.layers) - 1:
                self.layers.pop()
            if left and not go_on:
                break
        self.deletes = 0

    def header(self):
        return struct.pack("<QQQQHHH", self.items, self.buckets, self.deletes, len(self.layers), self.size, 20,
                           self.expansion)

    def chunks(self, most=1 << 24):
        yield 1, self.header()
        at = 1
        for layer in self.layers:
            for i in range(0, len(layer), most):
                part = bytes(layer[i:i + most])
                at += len(part)
                yield at, part
