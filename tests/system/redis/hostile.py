"""Malformed bytes in every place that reads bytes cause an error, never a crash."""

import os
import random
import unittest

from servers import ReplyError, Server


def crc64(data, table=[]):
    """The checksum of DUMP payloads and RDB files (CRC-64/Jones)."""
    if not table:
        for i in range(256):
            crc = i
            for _ in range(8):
                crc = crc >> 1 ^ (0x95AC9329AC4BC9B5 if crc & 1 else 0)
            table.append(crc)
    crc = 0
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    return crc


def with_checksum(body):
    return body + crc64(body).to_bytes(8, "little")


class Hostile(unittest.TestCase):
    def setUp(self):
        self.server = Server("--rdbcompression", "no", "--rdbchecksum", "no")
        self.r = self.server.client()
        self.r("AF.RESERVE", "f", 0.01, 300, "SEED", "00112233445566778899aabbccddeeff")
        self.r("AF.MADD", "f", *range(200))
        self.r("AF.REPORT", "f", 1, 2, 3)

    def tearDown(self):
        self.server.close()

    def restore(self, payload):
        """Returns True if the payload was accepted. An accepted filter must be usable."""
        try:
            self.r("RESTORE", "g", 0, payload, "REPLACE")
        except ReplyError as error:
            self.assertIn("Bad data format", str(error))
            return False
        for words in (["AF.EXISTS", "g", 1], ["AF.ADD", "g", "x"], ["AF.REPORT", "g", "y"], ["AF.INFO", "g"],
                      ["AF.SCANDUMP", "g", 0], ["AF.MADD", "g", *range(400)], ["DEL", "g"]):
            try:
                self.r(*words)
            except ReplyError:
                pass
        return True

    def test_restore_of_damaged_bytes(self):
        body = self.r("DUMP", "f")[:-8]
        self.assertTrue(self.restore(with_checksum(body)))
        dice = random.Random(1)
        refused = 0
        for _ in range(1500):
            damaged = bytearray(body)
            for _ in range(dice.choice((1, 1, 2, 8))):
                damaged[dice.randrange(len(damaged) - 2)] = dice.choice((0, 255, 128, dice.randrange(256)))
            refused += not self.restore(with_checksum(bytes(damaged)))
        self.assertGreater(refused, 1000)

    def test_restore_of_truncated_bytes(self):
        dump = self.r("DUMP", "f")
        body, version = dump[:-10], dump[-10:-8]
        for end in range(1, len(body), 5):
            self.assertFalse(self.restore(with_checksum(body[:end] + version)))

    def payload_with(self, saved):
        """The payload of the filter f with other saved bytes in place of its own."""
        body = self.r("DUMP", "f")[:-8]
        begin = body.index(b"\x89BESOM")
        length = int.from_bytes(body[begin - 2:begin], "big") & 0x3fff  # an RDB length of 14 bits
        self.assertEqual(1, body[begin - 2] >> 6)
        return with_checksum(body[:begin - 2] + b"\x80" + len(saved).to_bytes(4, "big") + saved + body[begin + length:])

    def test_filters_of_every_kind_are_restored_or_refused(self):
        """Those that cannot insert single items are no values of the module."""
        golden = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "golden")
        accepted = set()
        for name in sorted(os.listdir(golden)):
            with open(os.path.join(golden, name), "rb") as file:
                if self.restore(self.payload_with(file.read())):
                    accepted.add(name.split("-v1")[0])
        self.assertTrue({"aqf", "aqf-learned", "qf", "cf", "bloom", "scaling", "cached"} <= accepted, accepted)
        self.assertFalse({"fuse", "stacked", "cascade", "learned", "yesno"} & accepted, accepted)

    def test_a_later_module_version_is_refused(self):
        """The lowest 10 bits of the type ID are the version."""
        body = bytearray(self.r("DUMP", "f")[:-8])
        place = body.index(b"\x81") + 8  # a 64-bit length: the type ID
        body[place] += 1
        self.assertFalse(self.restore(with_checksum(bytes(body))))

    def test_damaged_rdb_files(self):
        self.r("SAVE")
        path = os.path.join(self.server.dir, "dump.rdb")
        with open(path, "rb") as file:
            saved = file.read()
        begin = saved.index(b"BESOM")
        dice = random.Random(2)
        for _ in range(6):
            damaged = bytearray(saved)
            damaged[dice.randrange(begin, begin + 300)] ^= 1 << dice.randrange(8)
            self.server.kill()
            with open(path, "wb") as file:
                file.write(damaged)
            self.assertFalse(self.server.start())  # Redis refuses to start with a bad file
            self.assertGreaterEqual(self.server.process.returncode, 0, "killed by a signal")
        with open(path, "wb") as file:
            file.write(saved)
        self.assertTrue(self.server.start())
        self.assertEqual(200, self.server.client()("AF.CARD", "f"))


if __name__ == "__main__":
    unittest.main()
