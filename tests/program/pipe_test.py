"""--config from pipes."""
import os
import struct
import subprocess
import threading

from model import write_config
from program import COMMAND, LIMIT, run, test


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def gguf():
    """A header of llama's with factors for Llama 3.1, whose data stands behind it."""
    keys = {"llama.embedding_length": 2048, "llama.attention.head_count": 32}
    header = b"GGUF" + struct.pack("<IQQ", 3, 1, len(keys) + 2)
    header += text("general.architecture") + struct.pack("<I", 8) + text("llama")
    for key, value in keys.items():
        header += text(key) + struct.pack("<II", 4, value)
    header += text("llama.rope.freq_base") + struct.pack("<If", 6, 500000.0)
    header += text("rope_freqs.weight") + struct.pack("<IQIQ", 1, 32, 0, 0)
    return header + bytes(-len(header) % 32) + struct.pack("<32f", *[1 + i / 8 for i in range(32)])


def through_pipe(content, *arguments):
    """Runs the program with a named pipe, into which `content` goes in two parts."""
    os.mkfifo("pipe")

    def fill():
        with open("pipe", "wb") as pipe:
            pipe.write(content[:3])
            pipe.flush()
            pipe.write(content[3:])

    writer = threading.Thread(target=fill, daemon=True)
    writer.start()
    done = subprocess.run([*COMMAND, *arguments, "--config", "pipe"], capture_output=True, text=True, timeout=LIMIT)
    writer.join(5)
    os.remove("pipe")
    return done


@test
def a_configuration_comes_from_a_pipe():
    write_config("config.json")
    with open("model.gguf", "wb") as file:
        file.write(gguf())
    for name in ("config.json", "model.gguf"):
        wanted, _ = run("frequencies", "--config", name, "--json")
        with open(name, "rb") as file:
            content = file.read()
        done = through_pipe(content, "frequencies", "--json")
        assert done.returncode == 0 and done.stdout == wanted, done
        done = subprocess.run([*COMMAND, "frequencies", "--json", "--config", "/dev/stdin"], input=content, capture_output=True,
                              timeout=LIMIT)
        assert done.returncode == 0 and done.stdout.decode() == wanted, done
    # The frequencies are read anew for the positions' length, and a pipe is read once.
    done = through_pipe(content, "table", "--positions", "0:4", "--cos", "c.npy", "--sin", "s.npy", "--device", "cpu")
    assert done.returncode == 0 and os.path.getsize("c.npy") == 128 + 4 * 32 * 4, done


@test
def a_pipe_that_gives_no_configuration_is_refused():
    for content, sentence in ((b"", "pipe: the configuration is not whole"), (b"GGUF", "pipe: the file ends"),
                              (gguf()[:-1], "pipe: the tensor 'rope_freqs.weight' lies outside the file"),
                              (b" " * (16 << 20) + b"{}", "pipe is no .gguf, and no file of at most 16 MiB")):
        done = through_pipe(content, "frequencies")
        assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1, done
        assert "--config: " + sentence in done.stderr, done
