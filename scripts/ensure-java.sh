#!/bin/sh
# Prints the home of a Java 17 or 21, the versions Spark 4 runs on. Looks at JAVA_HOME, PATH and the usual
# directories; where there is none, installs one by the package manager if that is allowed (root, or sudo
# without a password), and otherwise says exactly what to install and fails.
#
#   WEFT_NO_INSTALL=1   look only
#   WEFT_DRY_RUN=1      print what would be installed
#   WEFT_JAVA_DIRS      directories whose children may be Java homes, instead of the usual ones
set -eu
. "$(dirname "$0")/packages.sh"

JAVA_DIRS=${WEFT_JAVA_DIRS:-"/usr/lib/jvm /usr/java /opt /opt/java /usr/local /usr/local/openjdk
    $HOME/.sdkman/candidates/java $HOME/.jdks $HOME/.jenv/versions
    /Library/Java/JavaVirtualMachines $HOME/Library/Java/JavaVirtualMachines
    /opt/homebrew/opt /usr/local/opt /home/linuxbrew/.linuxbrew/opt"}

# The major version of a Java home: from its `release` file, which is instant, or by asking it.
major() {
    version=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$1/release" 2>/dev/null || true)
    if [ -z "$version" ]; then
        version=$("$1/bin/java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1)
    fi
    echo "$version"
}

# Print the home and succeed if it is a usable Java 17 or 21.
usable() {
    if [ ! -x "$1/bin/java" ]; then return 1; fi
    case $(major "$1") in
        17 | 21) echo "$1" ;;
        *) return 1 ;;
    esac
}

# Where the `java` of PATH lives, through all links.
home_on_path() {
    java=$(command -v java) || return 1
    while [ -L "$java" ]; do
        target=$(readlink "$java")
        case $target in /*) java=$target ;; *) java=$(dirname "$java")/$target ;; esac
    done
    cd "$(dirname "$java")/.." && pwd -P
}

home_in_directories() {
    for directory in $JAVA_DIRS; do
        for home in "$directory"/*; do
            usable "$home" && return 0
            usable "$home/Contents/Home" && return 0
            usable "$home/libexec/openjdk.jdk/Contents/Home" && return 0
        done
    done
    return 1
}

find_java() {
    if [ -n "${JAVA_HOME:-}" ] && usable "$JAVA_HOME"; then return 0; fi
    if home=$(home_on_path) && usable "$home"; then return 0; fi
    home_in_directories
}

java_package() {
    case $1 in
        apt-get) first_known apt-get openjdk-17-jre-headless openjdk-21-jre-headless ;;
        dnf) first_known dnf java-21-openjdk-headless java-17-openjdk-headless ;;
        apk) first_known apk openjdk17-jre-headless openjdk21-jre-headless ;;
        brew) first_known brew openjdk@21 openjdk@17 ;;
        *) return 1 ;;
    esac
}

install_java() {
    manager=$(package_manager)
    if [ -z "$manager" ] || ! privilege "$manager" >/dev/null; then return 1; fi
    say "no Java 17 or 21 found; installing one with $manager"
    refresh "$manager"
    package=$(java_package "$manager") || return 1
    # Spark's start scripts are written for bash, which Alpine does not bring along.
    if [ "$manager" = apk ]; then install apk "$package" bash; else install "$manager" "$package"; fi
}

advice() {
    say "Spark needs Java 17 or 21, and this machine has none that can be found."
    found=""
    if [ -n "${JAVA_HOME:-}" ]; then
        found=" (JAVA_HOME=$JAVA_HOME is $([ -x "$JAVA_HOME/bin/java" ] && echo "Java $(major "$JAVA_HOME")" || echo "no Java home"))"
    elif home=$(home_on_path); then
        found=" (the java on PATH is version $(major "$home"))"
    fi
    say "Install one of these and run the command again$found:"
    say "  Debian, Ubuntu   sudo apt-get install openjdk-17-jre-headless   (or openjdk-21-jre-headless)"
    say "  Fedora, RHEL     sudo dnf install java-21-openjdk-headless"
    say "  Alpine           sudo apk add openjdk17-jre-headless bash"
    say "  macOS            brew install openjdk@21"
    say "  anywhere         unpack a JDK 17 or 21 from https://adoptium.net and set JAVA_HOME to it"
}

if find_java; then exit 0; fi
if install_java; then
    if [ -n "${WEFT_DRY_RUN:-}" ]; then exit 0; fi
    if find_java; then exit 0; fi
fi
advice
exit 1
