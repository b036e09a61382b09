#!/bin/sh
# Makes .venv with weft and everything it is developed with, at the versions of constraints.txt.
#
#   PYTHON=python3.12   which Python to make it from (3.11 or newer); without it the first that serves
#   WEFT_NO_INSTALL=1   never call the system's package manager
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

find_python() {
    for python in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.14 python}; do
        if new_enough "$python"; then
            command -v "$python"
            return 0
        fi
    done
    say "weft needs Python 3.11 or newer${PYTHON:+; PYTHON=$PYTHON is not}."
    say "Install it, or say where it is: make ${GOAL:-test} PYTHON=/path/to/python3.12"
    return 1
}

has_module() { "$1" -c "import $2" >/dev/null 2>&1; }

# Debian and Ubuntu keep venv's pip in a package of its own.
install_venv() {
    version=$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    [ "$(package_manager)" = apt-get ] || return 1
    privilege apt-get >/dev/null || return 1
    refresh apt-get
    package=$(first_known apt-get "python$version-venv" python3-venv) || return 1
    install apt-get "$package"
}

# A virtual environment with a pip in it, by whichever way this Python offers.
make_venv() {
    if has_module "$1" ensurepip && "$1" -m venv --clear .venv; then return 0; fi
    if has_module "$1" virtualenv && "$1" -m virtualenv --clear -q .venv; then return 0; fi
    if install_venv "$1" && "$1" -m venv --clear .venv; then return 0; fi
    rm -rf .venv
    say "$1 cannot make virtual environments: its module ensurepip is missing."
    say "Install it and run the command again:"
    say "  Debian, Ubuntu   sudo apt-get install python3-venv"
    say "  anywhere         $1 -m pip install --user virtualenv"
    return 1
}

pip() { .venv/bin/python -m pip --disable-pip-version-check -q "$@"; }

python=$(find_python)
if ! pip --version >/dev/null 2>&1; then
    say "making .venv with $python"
    make_venv "$python"
fi
say "installing packages into .venv (Spark is large: some minutes on a slow line)"
# What builds weft (hatchling) and Spark, which comes as source (setuptools, with a bdist_wheel of its own
# from 70.1 on), is installed first and by the same constraints, so that it is locked as well.
pip install -c constraints.txt hatchling editables 'setuptools>=70.1'
pip install -c constraints.txt --no-build-isolation -e '.[dev]'
