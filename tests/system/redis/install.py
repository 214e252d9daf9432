"""install.py SCRIPT: a server starts with the configuration that `make install-redis` installs."""

import os
import subprocess
import sys
import tempfile

from servers import Server

script = sys.argv[1]
with tempfile.TemporaryDirectory(prefix="besom-redis-install-") as prefix:
    line = [script, os.environ["BESOM_MODULE"], prefix, prefix + "/etc"]
    subprocess.run(line, check=True, stdout=subprocess.PIPE)
    conf = prefix + "/etc/redis/besom.conf"
    with open(prefix + "/etc/systemd/system/redis-server.service.d/besom.conf") as file:
        assert "ExecPaths=%s/lib/besom\n" % prefix in file.read()
    with open(conf, "a") as file:
        file.write("besom.default-capacity 777\n")
    assert "kept" in subprocess.run(line, check=True, stdout=subprocess.PIPE).stdout.decode()  # the user's changes stay
    with open(conf) as file:
        text = file.read()
    assert "default-capacity 777" in text
    server = Server(module=prefix + "/lib/besom/besom-redis.so")
    r = server.client()
    # every parameter that the server has is in the file, with its default
    for name, value in zip(*[iter(r("CONFIG", "GET", "besom.*"))] * 2):
        line = next(line for line in text.split("\n") if line.startswith(name.decode() + " "))
        assert line.split()[1].replace("1mb", "1048576").encode() == value, (line, value)
    server.close()
    with open(os.path.join(prefix, "redis.conf"), "w") as file:
        file.write("include %s\n" % conf)
    server = Server(config=os.path.join(prefix, "redis.conf"))
    r = server.client()
    r("AF.ADD", "f", "x")
    assert 777 <= r("AF.INFO", "f", "capacity") < 1024
    server.close()
