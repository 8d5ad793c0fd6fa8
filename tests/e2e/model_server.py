"""llama.cpp's own server with a tiny model of random weights: a provider that nobody here wrote.

    python -m tests.e2e.model_server FOLDER TEMPLATE PORT

TEMPLATE is `strict`, `alternating`, or one of `tests/probe/templates/public_like`.

The weights are noise, so the words are noise; but requests are parsed, templates run and refusals worded by llama.cpp.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from tests.probe.templates.chat_templates import TEMPLATES as PUBLIC_LIKE

ROOT = Path(__file__).parents[2]
LATE = "System message must be at the beginning."
UNEVEN = "Conversation roles must alternate user/assistant/user/assistant/..."
_END = "{% if add_generation_prompt %}Assistant: {% endif %}"
TEMPLATES = {
    "strict": "{% for m in messages %}"
    "{% if m.role == 'system' and not loop.first %}{{ raise_exception('" + LATE + "') }}"
    "{% elif m.role not in ['system', 'user', 'assistant', 'tool'] %}{{ raise_exception('Unexpected role ' + m.role) }}"
    "{% endif %}{{ m.role + ': ' + (m.content or '') + '\\n' }}{% endfor %}" + _END,
    "alternating": "{% set turns = messages[1:] if messages[0].role == 'system' else messages %}"
    "{% for m in turns %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('" + UNEVEN + "') }}"
    "{% endif %}{{ m.role + ': ' + m.content + '\\n' }}{% endfor %}" + _END,
}
WIDTH, LAYERS, HEADS, INNER, CONTEXT = 64, 2, 4, 128, 8192
SPECIAL = ("<unk>", "<s>", "</s>")
BYTES = tuple(f"<0x{code:02X}>" for code in range(256))
LETTERS = ("\u2581", *map(chr, range(33, 127)))


def write_model(path: Path, template: str) -> None:
    """A GGUF file of about half a megabyte, with a vocabulary of single bytes and characters."""
    import gguf

    writer = gguf.GGUFWriter(str(path), "llama")
    _describe(writer, template)
    for name, weights in _weights(len(SPECIAL) + len(BYTES) + len(LETTERS)):
        writer.add_tensor(name, weights)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _describe(writer: Any, template: str) -> None:
    writer.add_name("noise")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(SPECIAL) + len(BYTES) + len(LETTERS))
    writer.add_file_type(0)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([*SPECIAL, *BYTES, *LETTERS])
    writer.add_token_scores([0.0] * (len(SPECIAL) + len(BYTES)) + [-1.0] * len(LETTERS))
    writer.add_token_types([2, 3, 3] + [6] * len(BYTES) + [1] * len(LETTERS))
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_chat_template(template)


def _weights(vocabulary: int) -> Iterator[tuple[str, Any]]:
    import numpy

    chance = numpy.random.default_rng(0)

    def noise(*shape: int) -> Any:
        return (chance.standard_normal(shape) * 0.05).astype(numpy.float32)

    ones = numpy.ones(WIDTH, numpy.float32)
    yield "token_embd.weight", noise(vocabulary, WIDTH)
    yield "output_norm.weight", ones
    yield "output.weight", noise(vocabulary, WIDTH)
    for layer in range(LAYERS):
        yield from ((f"blk.{layer}.{name}.weight", ones) for name in ("attn_norm", "ffn_norm"))
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            yield f"blk.{layer}.{name}.weight", noise(WIDTH, WIDTH)
        for name, shape in {"gate": (INNER, WIDTH), "up": (INNER, WIDTH), "down": (WIDTH, INNER)}.items():
            yield f"blk.{layer}.ffn_{name}.weight", noise(*shape)


@contextmanager
def model_server(folder: Path, template: str) -> Iterator[str]:
    """The server's root URL while it runs, in a process of its own."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log = folder / "server.log"
    command = [sys.executable, "-m", "tests.e2e.model_server", str(folder), template, str(port)]
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output)
    try:
        url = f"http://127.0.0.1:{port}"
        _wait(url, process, log)
        yield url
    finally:
        process.kill()
        process.wait()


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text(errors="replace")[-2000:]
        try:
            if httpx.get(f"{url}/health").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError("the model server did not start")


def serve(folder: Path, template: str, port: int) -> None:
    import xllamacpp

    path = folder / f"{template}.gguf"
    write_model(path, TEMPLATES.get(template) or PUBLIC_LIKE[template])
    settings = xllamacpp.CommonParams()
    settings.model.path = str(path)
    settings.port = port
    settings.n_ctx = CONTEXT
    settings.n_parallel = 1
    settings.n_predict = 12
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    settings.use_jinja = True
    settings.warmup = False
    settings.n_gpu_layers = 0
    server = xllamacpp.Server(settings)
    print(server.listening_address, flush=True)
    while True:
        time.sleep(60)


if __name__ == "__main__":
    serve(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
