#!/bin/sh
# All that the benchmarks need, in environments of their own beside the project. Run it as often as you like.
#
#     sh bench/environment.sh         the library's benchmarks, the guard and the soak
#     sh bench/environment.sh all     and the gateways that ours is set beside
#
# LiteLLM's proxy pins libraries that we use in newer versions: it gets an environment to itself.
set -eu
cd "$(dirname "$0")/.."
home=.venv-bench
litellm=1.106.2
portkey=1.15.2

if [ ! -x $home/bin/python ]; then
    python3 -m venv $home
fi
$home/bin/pip install --quiet --editable ".[gateway,emulators]" "litellm==$litellm" matplotlib py-spy

if [ "${1:-}" = all ]; then
    if [ ! -x $home/litellm/bin/litellm ]; then
        python3 -m venv $home/litellm
        $home/litellm/bin/pip install --quiet "litellm[proxy]==$litellm"
    fi
    if [ ! -d $home/portkey/node_modules ] && command -v npm >/dev/null; then
        npm install --silent --no-fund --no-audit --prefix $home/portkey "@portkey-ai/gateway@$portkey"
    fi
    if ! command -v nginx >/dev/null && command -v apt-get >/dev/null; then
        apt-get install --yes --quiet nginx-light
    fi
fi
if ! command -v valgrind >/dev/null; then
    echo "valgrind is not installed: the guard needs it (apt-get install valgrind)" >&2
fi
