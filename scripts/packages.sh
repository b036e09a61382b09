# shellcheck shell=sh
# Sourced by the set-up scripts: system packages, installed only where that is allowed.
#
#   WEFT_NO_INSTALL=1   never call a package manager
#   WEFT_DRY_RUN=1      print the package manager's commands instead of running them

say() { printf 'weft: %s\n' "$*" >&2; }

# The package manager of this machine, or nothing.
package_manager() {
    for manager in apt-get dnf apk brew; do
        if command -v "$manager" >/dev/null 2>&1; then
            echo "$manager"
            return
        fi
    done
}

# What to put before a package manager's command: nothing for root and brew, `sudo -n` where no password is asked.
# Fails where installing is not allowed.
privilege() {
    if [ -n "${WEFT_NO_INSTALL:-}" ]; then return 1; fi
    if [ "$1" = brew ] || [ "$(id -u)" = 0 ]; then return 0; fi
    if command -v sudo >/dev/null 2>&1 && sudo -n true >/dev/null 2>&1; then echo "sudo -n"; return 0; fi
    return 1
}

# All output goes to stderr: stdout belongs to the answer of the calling script.
run() {
    if [ -n "${WEFT_DRY_RUN:-}" ]; then say "would run: $*"; else say "running: $*"; "$@" >&2; fi
}

# install MANAGER PACKAGE...
install() {
    manager=$1
    shift
    prefix=$(privilege "$manager") || return 1
    # $prefix is empty or two words, on purpose unquoted.
    case $manager in
        apt-get) run $prefix env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" ;;
        dnf) run $prefix dnf install -y "$@" ;;
        apk) run $prefix apk add --no-cache "$@" ;;
        brew) run brew install "$@" ;;
        *) return 1 ;;
    esac
}

# Fresh containers have no package lists; without them nothing can be found.
refresh() {
    if [ "$1" = apt-get ]; then
        prefix=$(privilege apt-get) || return 1
        run $prefix apt-get update -q || say "apt-get update failed; going on with the lists that are there"
    fi
}

# known MANAGER PACKAGE: whether the package manager offers the package.
known() {
    case $1 in
        apt-get) apt-cache show "$2" >/dev/null 2>&1 ;;
        dnf) dnf -q list --available "$2" >/dev/null 2>&1 || dnf -q list --installed "$2" >/dev/null 2>&1 ;;
        apk) [ -n "$(apk search --exact "$2" 2>/dev/null)" ] ;;
        brew) brew info "$2" >/dev/null 2>&1 ;;
        *) return 1 ;;
    esac
}

# first_known MANAGER PACKAGE...: the first of the packages that the package manager offers.
first_known() {
    manager=$1
    shift
    for package in "$@"; do
        if known "$manager" "$package"; then
            echo "$package"
            return 0
        fi
    done
    return 1
}
