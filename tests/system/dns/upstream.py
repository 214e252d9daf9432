"""A name server that answers every question with the same address, and a client: no network is needed."""
import socket
import struct
import threading

NOERROR, SERVFAIL, NXDOMAIN = 0, 2, 3
ADDRESS = bytes([192, 0, 2, 1])


def encode(name):
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".") if label) + b"\0"


def question_end(packet):
    at = 12
    while packet[at]:
        at += 1 + packet[at]
    return at + 5


def answer(packet):
    """A with a time to live of 1 s; nothing for other types."""
    end = question_end(packet)
    is_a = packet[end - 4:end - 2] == b"\0\1"
    head = packet[:2] + struct.pack(">HHHHH", 0x8580, 1, is_a, 0, 0)
    record = b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4" + ADDRESS if is_a else b""
    return head + packet[12:end] + record


class Upstream:
    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            packet, client = self.socket.recvfrom(4096)
            self.socket.sendto(answer(packet), client)


def ask(port, name, timeout=2.0):
    """The response code; None if there is no answer."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(timeout)
        client.connect(("127.0.0.1", port))
        try:
            client.send(b"\x12\x34\1\0\0\1\0\0\0\0\0\0" + encode(name) + b"\0\1\0\1")
            return client.recv(4096)[3] & 15
        except (socket.timeout, ConnectionError):
            return None
